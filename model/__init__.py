"""What the scheduler does: a minimal, executable model of vLLM's V1 scheduler."""
