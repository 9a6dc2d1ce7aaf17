"""One module per exercise: data, cases and a judge. No answer is called here."""
