"""Enhancers: what is done to evidence between retrieval and answer. Passages are re-ranked, then widened to their
neighbours, then cut to the sentences that bear on the question."""

from evigraph.query.enhance.step import enhance

__all__ = ["enhance"]
