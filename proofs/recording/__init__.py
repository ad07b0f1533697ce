"""Recordings of a real engine: reading them, and holding them against catalogue and model."""
