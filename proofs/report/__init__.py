"""Turning verdicts and traces into text for people and data for programs."""
