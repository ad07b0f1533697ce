"""What a text is handed: stand-ins for the engine's objects and for what a text makes of them."""
