"""Fixtures shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def shared_data() -> Path:
    """The labelled corpora beside the checkout; tests that need them skip where they are absent."""
    if not SHARED.is_dir():
        pytest.skip("labelled corpora are not beside this checkout")
    return SHARED
