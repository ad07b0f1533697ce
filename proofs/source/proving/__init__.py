"""From the runs to verdicts, and from a violation to an execution on integers."""
