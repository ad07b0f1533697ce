"""What becomes of a text's syntax tree before it is compiled; which syntax carries what."""
