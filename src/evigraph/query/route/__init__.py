"""`auto`: what kind of question is asked, and the mode that fits it."""
