"""The shipping source as input: load a scheduler from its text, run it, judge it."""
