"""From logits to tokens: sampling, generation, serving."""
