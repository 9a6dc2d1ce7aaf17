"""Training of the small models that the pages run, with its raw logs."""
