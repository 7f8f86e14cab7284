"""What a use case decides: which documents, what they weigh, how answers are ordered, compared and written out."""
