"""Communities of the entity graph: clustering, summaries, and the tree that a query reads."""
