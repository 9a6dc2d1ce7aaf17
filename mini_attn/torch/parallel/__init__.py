"""One model on several devices, by torch.distributed; loaded by its own name only."""
