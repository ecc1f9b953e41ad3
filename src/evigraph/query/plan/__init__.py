"""Typed plans: parse, check against the schema, execute over a snapshot, or have a model propose one (SPEC 8)."""
