"""Plain text analysis: words, sentences, quantities, facts, headings. Pure functions: no database, no model."""
