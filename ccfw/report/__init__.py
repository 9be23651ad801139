"""Tables, figures and readable transcripts from stored scores."""
