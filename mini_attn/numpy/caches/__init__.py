"""What stays of past tokens: whole, as a ring, in blocks, as codes, as latents."""
