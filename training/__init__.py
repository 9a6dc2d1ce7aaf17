"""What trained the family of small models that the pages run, and its raw logs."""
