"""Holding the model against the released engine, executed: same inputs, same observations."""
