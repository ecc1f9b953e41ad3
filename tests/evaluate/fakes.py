"""A small engine that ranks by shared words, for tests of the evaluation alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evigraph.errors import InvalidQuery
from evigraph.reports import FileError, IndexedDocument, IndexReport
from evigraph.types import Answer, Chunk, Citation, Evidence, Mode, QueryRequest


def words(text: str) -> set[str]:
    return {word.strip(".?,").lower() for word in text.split()} - {"the", "is", "who", "what"}


def chunk(document_id: str, index: int = 0, **fields: Any) -> Chunk:
    text = fields.pop("text", "text")
    return Chunk(
        id=f"{document_id}#{index}",
        document_id=document_id,
        revision=1,
        source=fields.pop("source", document_id),
        title=document_id,
        text=text,
        start=0,
        end=len(text),
        **fields,
    )


class WordEngine:
    """Cuts documents into sentences; a passage scores the words it shares with the question. A question that
    holds `boom` fails."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []
        self.calls: list[dict[str, Any]] = []

    def index(self, items: Any, /) -> IndexReport:
        documents, errors = [], []
        for item in self._records(items):
            if not item["text"]:
                errors.append(FileError(source=item["source"], code="empty_document", message="no text"))
                continue
            for at, sentence in enumerate(item["text"].split(". ")):
                self.chunks.append(chunk(item["document_id"], at, text=sentence, source=item["source"]))
            documents.append(
                IndexedDocument(
                    document_id=item["document_id"],
                    source=item["source"],
                    status="added",
                    revision=1,
                    passages=1,
                )
            )
        return IndexReport(documents=tuple(documents), errors=tuple(errors), generation=1, seconds=0.5)

    def retrieve(self, question: str, **options: Any) -> Evidence:
        self.calls.append({"question": question, **options})
        if "boom" in question:
            raise InvalidQuery("the question explodes")
        asked = words(question)
        scored = [(len(asked & words(c.text)), c) for c in self.chunks]
        best = sorted((pair for pair in scored if pair[0]), key=lambda pair: (-pair[0], pair[1].id))
        return Evidence(
            question=question,
            mode=Mode(options["mode"]),
            generation=1,
            chunks=tuple(c for _, c in best[: options.get("max_chunks", 10)]),
        )

    def ask(self, question: str, **options: Any) -> Answer:
        evidence = self.retrieve(question, **options)
        found = evidence.chunks[:1]
        return Answer(
            text=f"{found[0].text} [1]" if found else None,
            citations=tuple(
                Citation(
                    n=1,
                    chunk_id=c.id,
                    document_id=c.document_id,
                    revision=1,
                    source=c.source,
                    title=c.title,
                    start=0,
                    end=len(c.text),
                    quote=c.text,
                )
                for c in found
            ),
            evidence=evidence,
            request=QueryRequest(query=question),
            abstained=not found,
            abstain_reason=None if found else "retrieve: no passage",
        )

    @staticmethod
    def _records(items: Any) -> list[dict[str, str]]:
        if isinstance(items[0], Path):
            files = sorted(p for p in items[0].rglob("*") if p.is_file())
            return [
                {
                    "document_id": f"hash{n}",
                    "source": f"corpus/{p.relative_to(items[0]).as_posix()}",
                    "text": p.read_text(),
                }
                for n, p in enumerate(files)
            ]
        return [{"source": item["document_id"], **item} for item in items]
