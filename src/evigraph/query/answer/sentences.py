"""Sentences of the evidence as candidates for answers and quotes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evigraph.text.quoting import QUOTE_CHARS, Sentence, quote_span, readable
from evigraph.text.telling import is_telling
from evigraph.types import Chunk, Citation

__all__ = ["QUOTE_CHARS", "Sentence", "cite", "quote_span", "readable", "sentences_of"]


def sentences_of(chunks: Sequence[Chunk]) -> Iterator[Sentence]:
    """Sentences worth quoting: not headings, rules or single words; of a chunk that was cut, those that were kept. A
    chunk without any gives itself."""
    for number, chunk in enumerate(chunks):
        spans = chunk.kept or chunk.sentences or ((chunk.start, chunk.end),)
        sentences = [
            Sentence(chunk=number, start=start, end=end, text=chunk.text[start - chunk.start : end - chunk.start])
            for start, end in spans
        ]
        telling = [sentence for sentence in sentences if is_telling(sentence.text)]
        yield from telling or sentences[:1]


def cite(number: int, sentence: Sentence, chunk: Chunk) -> Citation:
    """Citation `[number]`: the sentence, quoted verbatim from the chunk."""
    start, end = quote_span(sentence)
    return Citation(
        n=number,
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        revision=chunk.revision,
        source=chunk.source,
        title=chunk.title,
        start=start,
        end=end,
        quote=chunk.text[start - chunk.start : end - chunk.start],
        page=chunk.page_at(start),
        web=chunk.web,
    )
