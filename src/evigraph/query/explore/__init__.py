"""Reads behind `engine.entities`: an entity's page, what lies around it, and what is said against what."""
