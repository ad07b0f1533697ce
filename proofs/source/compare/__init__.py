"""Two texts in the same runs: what differs, in words and with an example."""
