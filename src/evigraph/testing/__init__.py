"""Shipped with the package for tests against evigraph: scripted models, fault injection, store checks."""
