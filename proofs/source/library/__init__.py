"""Python's own library and the imports of a text, as far as a text may use them."""
