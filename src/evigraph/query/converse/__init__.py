"""Questions in a conversation: what a follow-up means, and what is kept of its answer."""
