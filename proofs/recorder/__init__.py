"""What runs inside the engine: a scheduler class that records its steps and can watch over them."""
