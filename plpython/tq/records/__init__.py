"""Rows of the database as a document: a query is vetted, run with its caller's rights, and kept as JSON Lines."""
