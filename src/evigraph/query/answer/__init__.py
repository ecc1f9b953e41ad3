"""Answers: extracted or generated, then checked; or an abstention with its reason."""
