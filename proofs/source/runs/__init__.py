"""The runs under proof: an arbitrary state, one thing that happens to it, what must hold then."""
