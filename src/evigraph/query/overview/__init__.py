"""Corpus-wide answers: passages ranked against the question, gathered by community, then mapped and reduced."""
