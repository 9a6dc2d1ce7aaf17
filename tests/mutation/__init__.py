"""Single faults that the tests must notice."""
