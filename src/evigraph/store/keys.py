"""Row identities shared by all tables.

A document revision is one 128-bit number: 96 bits of the document id's SHA-256, then 32 bits of the revision. Sorting
by it sorts by document whatever the revision, so a ranking that ends in `revision_key, passage_index` breaks ties the
same way before and after a replacement.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple


class PassageKey(NamedTuple):
    """Row identity of a passage: `(revision_key, passage_index)`."""

    revision_key: int
    passage_index: int


def revision_key(document_id: str, revision: int) -> int:
    prefix = hashlib.sha256(document_id.encode()).digest()[:12]
    return int.from_bytes(prefix, "big") << 32 | revision


def passage_key(document_id: str, revision: int, chunk_id: str) -> PassageKey:
    """The key of the passage that a chunk id (`<document>#<index>`) names, of one revision of its document."""
    return PassageKey(revision_key(document_id, revision), int(chunk_id.rpartition("#")[2]))


def assertion_id(passage_id: str, subject_id: str, predicate: str, object_id: str, start: int) -> str:
    """Stable name of an assertion: the same claim at the same place has the same id in every revision and store."""
    claim = "\x1f".join((passage_id, subject_id, predicate, object_id, str(start)))
    return hashlib.sha256(claim.encode()).hexdigest()[:16]
