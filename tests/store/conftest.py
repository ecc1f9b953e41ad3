from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evigraph.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(str(tmp_path / "store"))
    yield store
    store.close()
