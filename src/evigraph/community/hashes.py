"""What a summary is a function of, as one hash: a summary whose hash is unchanged need not be made again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from evigraph.community.cluster import Numbers, Tree
from evigraph.community.compose import children
from evigraph.community.within import own_rows, runs
from evigraph.store.communities import Statements

_BYTES = 8


def input_hashes(tree: Tree, statements: Statements, settings: Sequence[str]) -> dict[int, str]:
    """Hash of the inputs of each community's summary, by number, whoever writes it.

    They are its members, every assertion among them with its ends and the revision that makes it (where there is none,
    those that touch a member), the hashes of its parts, and `settings`. A revision's metadata is its own and never
    changes, so that it needs no place here.
    """
    claims = _claims(statements)
    names = _digests(tree.entities)
    parts = children(tree)
    found: dict[int, str] = {}
    head = "\x1e".join(settings).encode()
    for level in reversed(range(tree.levels)):
        numbers = tree.paths[:, level]
        here = [node.number for node in tree.nodes if node.last_level == level]
        order = np.argsort(numbers, kind="stable")
        members = {number: order[start:end] for number, start, end in runs(numbers[order])}
        own = _own_claims(numbers, statements, claims)
        for number in here:
            inputs = [names[members[number]].tobytes(), own.get(number, b"")]
            below = "".join(found[part] for part in parts.get(number, ())).encode()
            found[number] = _hash([head, *inputs, below])
    return found


def by_writer(inputs: str, writer: Sequence[str]) -> str:
    """Hash of a summary's inputs and of all that decides what a writer makes of them."""
    return _hash([inputs.encode(), *(part.encode() for part in writer)])


def _hash(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(_BYTES, "big"))
        digest.update(part)
    return digest.hexdigest()


def _digests(texts: Sequence[str]) -> NDArray[np.uint64]:
    raw = b"".join(hashlib.blake2b(text.encode(), digest_size=_BYTES).digest() for text in texts)
    return np.frombuffer(raw, dtype=np.uint64)


def _claims(statements: Statements) -> NDArray[np.uint64]:
    """Assertion, document revision, subject and object of each row."""
    documents = _digests([f"{entry.document_id}\x1f{entry.revision}" for entry in statements.documents])
    entities = _digests(statements.entities)
    columns = (
        statements.assertion.astype(np.uint64),
        documents[statements.document[statements.sentence]],
        entities[statements.subject],
        entities[statements.object],
    )
    return np.stack(columns, axis=1) if len(statements.assertion) else np.zeros((0, len(columns)), dtype=np.uint64)


def _own_claims(numbers: Numbers, statements: Statements, claims: NDArray[np.uint64]) -> dict[int, bytes]:
    """The claims that are each community's own, sorted."""
    community, rows = own_rows(numbers, statements.subject, statements.object)
    order = np.lexsort((*claims[rows].T[::-1], community))
    community, ordered = community[order], claims[rows[order]]
    return {number: ordered[start:end].tobytes() for number, start, end in runs(community)}
