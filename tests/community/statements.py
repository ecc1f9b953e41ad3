"""Small statements, written as lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evigraph.store.clustering import ScopeDocument, Statements

Said = tuple[str, str, str, float]
"""Document, subject, object, confidence; a confidence below 0 is a co-occurrence, a document with `#` a heading."""


def statements(
    said: Sequence[Sequence[Said]], metadata: Mapping[str, Mapping[str, str]] | None = None, revision: int = 1
) -> Statements:
    """One inner sequence per sentence; all its assertions are of one document."""
    ordered = sorted(enumerate(said), key=lambda pair: (pair[1][0][0].strip("#"), pair[0]))
    sentences = [group for _, group in ordered]
    names = sorted({group[0][0].strip("#") for group in sentences})
    entities = sorted({end for group in sentences for row in group for end in row[1:3]})
    rows = [(at, row) for at, group in enumerate(sentences) for row in group]
    return Statements(
        entities=entities,
        subject=np.array([entities.index(row[1]) for _, row in rows], dtype=np.int32),
        object=np.array([entities.index(row[2]) for _, row in rows], dtype=np.int32),
        stated=np.array([row[3] >= 0 for _, row in rows], dtype=np.bool_),
        weight=np.array([round(1000 * (row[3] if row[3] >= 0 else -0.2 * row[3])) for _, row in rows], dtype=np.int32),
        sentence=np.array([at for at, _ in rows], dtype=np.int32),
        assertion=np.array([hash_of(at, row) for at, row in rows], dtype=np.uint64),
        document=np.array([names.index(group[0][0].strip("#")) for group in sentences], dtype=np.int32),
        passage=np.zeros(len(sentences), dtype=np.int32),
        start=np.array([100 * at for at in range(len(sentences))], dtype=np.int64),
        end=np.array([100 * at + 50 for at in range(len(sentences))], dtype=np.int64),
        telling=np.array(["#" not in group[0][0] for group in sentences], dtype=np.bool_),
        documents=[
            ScopeDocument(
                document_id=name,
                source=f"{name}.md",
                title=name,
                revision=revision,
                metadata=(metadata or {}).get(name, {}),
            )
            for name in names
        ],
    )


def hash_of(at: int, row: Said) -> int:
    return sum(ord(letter) * 257**place for place, letter in enumerate(f"{row[1]}{row[2]}"[:6])) + at
