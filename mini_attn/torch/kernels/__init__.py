"""What runs on a GPU: own kernels, the choice among kernels, the compiled step."""
