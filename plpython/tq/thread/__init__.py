"""Conversations: follow-up questions that begin at what a reader picked, and questions asked in the background."""
