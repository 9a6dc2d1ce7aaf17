"""One module per exercise: everything about it but its solution. No answer is called here."""
