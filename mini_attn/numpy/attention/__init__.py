"""Who sees whom, softmax, and attention itself: whole, in blocks, over pages."""
