"""Where a token stands: tables, biases and rotations."""
