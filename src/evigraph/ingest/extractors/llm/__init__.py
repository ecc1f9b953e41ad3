"""Extraction by a chat model: ask (`prompt`, `calls`), read the reply (`parse`), check it against the passage (`spans`,
`build`). `extractor` joins them."""

from evigraph.ingest.extractors.llm.extractor import LLMExtractor

__all__ = ["LLMExtractor"]
