"""What all parts of the contract share."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import pytest

from evigraph.store import Store
from evigraph.testing.store_contract.material import Shelf, view
from evigraph.types import DocumentFilter

ShelfMaker = Callable[[], Shelf]


class Contract:
    """Fixtures of a part. `store`, of class scope or wider, is the subclass's to give."""

    @pytest.fixture
    def workspace(self) -> str:
        """A name nothing was ever written under."""
        return unused_workspace()

    @pytest.fixture
    def shelf(self, store: Store, workspace: str) -> Shelf:
        return Shelf(store, workspace)

    @pytest.fixture
    def new_shelf(self, store: Store) -> ShelfMaker:
        """Makes shelves in further workspaces of the same store."""
        return lambda: Shelf(store, unused_workspace())


def unused_workspace() -> str:
    return f"contract-{uuid.uuid4().hex[:16]}"


def seen(shelf: Shelf, *others: Shelf, **pinned: Any) -> dict[str, Any]:
    """What every read shows of a shelf's workspace, asked with the words of the other shelves too."""
    vocabulary = shelf.vocabulary
    for other in others:
        vocabulary = vocabulary | other.vocabulary
    with shelf.store.snapshot(shelf.workspace, **pinned) as snapshot:
        return view(snapshot, vocabulary)


def shown(
    shelf: Shelf,
    *,
    document_filter: DocumentFilter | None = None,
    metadata_filter: Mapping[str, str] | None = None,
    as_of: int | datetime | None = None,
) -> list[str]:
    """Ids of the documents in a scope, sorted."""
    with shelf.store.snapshot(
        shelf.workspace, as_of=as_of, document_filter=document_filter, metadata_filter=metadata_filter
    ) as snapshot:
        return sorted(info.document_id for info in snapshot.documents())
