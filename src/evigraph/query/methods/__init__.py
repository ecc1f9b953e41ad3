"""Methods: how a question is asked. Modes say where evidence comes from, and know nothing of methods."""
