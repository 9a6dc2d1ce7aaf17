"""Side by side with peers, in one run; ``results`` keeps what was measured."""
