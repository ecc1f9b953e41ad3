"""From a question to evidence, and from evidence to a cited answer."""
