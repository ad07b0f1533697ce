"""What must hold of an LLM serving engine's scheduler: vocabulary, invariants, assumptions."""
