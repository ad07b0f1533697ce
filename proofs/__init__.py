"""Why it holds: everything that turns the model and its invariants into verdicts."""
