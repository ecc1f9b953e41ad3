"""Existing graphs as documents: one module per format, each giving documents with their passages and claims."""
