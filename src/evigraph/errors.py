"""Every error evigraph raises on purpose, with a stable code, a cause and a remedy.

    EvigraphError
    ├── InputError               the request cannot be understood           HTTP 422
    │   ├── UnknownMode / UnknownMethod / UnknownField / UnknownFilter / UnknownEmbedder
    │   ├── InvalidQuery         empty, too long, or not valid text
    │   ├── InvalidValue         a field's value is outside its range
    │   ├── InvalidCombination   mode, method and enhancers that make no sense together
    │   ├── InvalidPlan          a typed plan is malformed or out of bounds
    │   ├── InvalidSchema        a domain schema is malformed or contradicts itself
    │   └── InvalidItem          an item handed to `index` is malformed
    ├── NotFound                 no such document, job, …                   HTTP 404
    ├── ConflictError            cannot be done in this state               HTTP 409
    │   ├── ModelNotConfigured   the request needs a model; none is set
    │   ├── NotSupported         this combination cannot run here
    │   ├── AmbiguousEntity      several entities have this name
    │   ├── MissingExtra         an optional package is not installed
    │   ├── TokenBudgetReached   extraction would cost more than it may
    │   ├── NameTaken            another knowledge base or pipeline has this name
    │   ├── OtherBase            the document belongs to another knowledge base, or to none
    │   ├── EmbedderNotConfigured  the embedding model of a knowledge base is not configured any more
    │   └── EmbedderMismatch     the store was embedded with another model
    ├── ReadError                one input file could not be read           HTTP 422
    │   ├── MissingFile, UnsupportedFormat, FileTooLarge, EmptyDocument, NoTextLayer, UnknownGraphFormat,
    │   └── EncryptedDocument, CorruptDocument, UndecodableText, OutsideRoot, InvalidSidecar
    ├── StoreError               the store cannot be used                   HTTP 503
    │   ├── StoreLocked          another process holds the folder
    │   ├── StorePathInUse       this process already opened another folder
    │   ├── StoreTooNew          written by a newer evigraph
    │   ├── StoreUnavailable     no connection, or the server refused
    │   ├── ConcurrentWrite      another process published in between
    │   └── BeforePruneHorizon   `as_of` lies before the last prune         HTTP 410
    ├── StageFailed              a stage of a query went wrong              HTTP 500
    └── ModelError               a model call failed                        HTTP 502
        ├── ModelTimeout, ModelUnavailable
        └── ModelBadResponse

What a user writes:

    try:
        report = graph.index("reports/")
    except evigraph.StoreLocked as error:
        print(error, "-", error.hint)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar


class EvigraphError(Exception):
    """Base of all errors. `str(error)` is the cause; `hint` the remedy; `code` never changes between releases."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class InputError(EvigraphError):
    """The request cannot be understood or is out of range."""

    code = "invalid_input"
    status = 422


class _OneOf(InputError):
    """A value that is not in a fixed list; the message lists the list."""

    what: ClassVar[str] = "value"

    def __init__(self, value: object, valid: Iterable[str], *, hint: str = "") -> None:
        self.value = str(value)
        self.valid = tuple(valid)
        shown = self.value if len(self.value) <= 80 else self.value[:77] + "..."
        super().__init__(
            f"unknown {self.what} {shown!r}",
            hint=hint or f"valid: {', '.join(self.valid)}",
        )


class UnknownMode(_OneOf):
    code = "unknown_mode"
    what = "mode"


class UnknownMethod(_OneOf):
    code = "unknown_method"
    what = "method"


class UnknownField(_OneOf):
    code = "unknown_field"
    what = "field"


class UnknownFilter(_OneOf):
    code = "unknown_filter"
    what = "filter field"


class UnknownEmbedder(_OneOf):
    """A knowledge base may have the workspace's embedding model or one that is configured, and no other."""

    code = "unknown_embedder"
    what = "embedding model"

    def __init__(self, value: object, valid: Iterable[str]) -> None:
        names = ", ".join(valid)
        super().__init__(value, valid, hint=f"valid: {names}; others are configured in EVIGRAPH_EMBEDDERS")


class InvalidQuery(InputError):
    """The question is empty, too long, or holds characters that are not text (NUL, lone surrogates)."""

    code = "invalid_query"


class InvalidValue(InputError):
    """A field's value is of the wrong type or outside its range."""

    code = "invalid_value"


class InvalidCombination(InputError):
    """Mode, method and enhancers that make no sense together; the message says why."""

    code = "invalid_combination"


class InvalidPlan(InputError):
    """A typed plan is malformed or exceeds its bounds; `step` (its id, else its number) and `field` say where."""

    code = "invalid_plan"

    def __init__(self, message: str, *, hint: str = "", step: str | None = None, field: str | None = None) -> None:
        self.step, self.field = step, field
        where = "".join(f"{name} {value}: " for name, value in (("step", step), ("field", field)) if value is not None)
        super().__init__(f"plan: {where}{message}", hint=hint)


class InvalidSchema(InputError):
    """A domain schema is malformed, too large, or contradicts itself; the message names the entry."""

    code = "invalid_schema"


class InvalidItem(InputError):
    """An item handed to `index` lacks text, or a field of it is malformed."""

    code = "invalid_item"


class NotFound(EvigraphError):
    """No such document, revision, job or workspace object."""

    code = "not_found"
    status = 404


class ConflictError(EvigraphError):
    """The request is well formed but cannot be carried out in this state."""

    code = "conflict"
    status = 409


class ModelNotConfigured(ConflictError):
    """The request by nature needs a model and none is configured; the hint names the setting."""

    code = "model_not_configured"


class NotSupported(ConflictError):
    """The combination of options cannot run here; the message says why."""

    code = "not_supported"


class MissingExtra(ConflictError):
    """What was asked for needs an optional package; the hint names the extra to install."""

    code = "missing_extra"


class TokenBudgetReached(ConflictError):
    """The next model call might exceed the token budget of the run, so it was not made."""

    code = "token_budget_reached"


class AmbiguousEntity(ConflictError):
    """A name that several entities have; the hint lists their ids."""

    code = "ambiguous_entity"


class NameTaken(ConflictError):
    """Another knowledge base or pipeline of the workspace has this name."""

    code = "name_taken"


class OtherBase(ConflictError):
    """A document belongs to one knowledge base, or to none, and cannot be indexed into another as well."""

    code = "other_base"


class EmbedderNotConfigured(ConflictError):
    """Documents of a knowledge base are embedded with a model of its own that is not configured any more."""

    code = "embedder_not_configured"


class EmbedderMismatch(ConflictError):
    """The workspace was embedded with another model; the remedy is `evigraph reembed`."""

    code = "embedder_mismatch"

    def __init__(self, stored: str, configured: str) -> None:
        super().__init__(
            f"the workspace was embedded with {stored!r}, but {configured!r} is configured",
            hint="run `evigraph reembed` to switch, or set EVIGRAPH_EMBEDDER back",
        )


class ReadError(EvigraphError):
    """One input could not be read. `index` collects these per file and goes on."""

    code = "unreadable"
    status = 422


class MissingFile(ReadError):
    code = "missing_file"


class UnsupportedFormat(ReadError):
    code = "unsupported_format"


class UnknownGraphFormat(ReadError):
    """A folder or file holds no graph in a format that can be imported."""

    code = "unknown_graph_format"


class FileTooLarge(ReadError):
    code = "file_too_large"


class EmptyDocument(ReadError):
    code = "empty_document"


class NoTextLayer(ReadError):
    """A scan: pages hold images but no text."""

    code = "no_text_layer"


class EncryptedDocument(ReadError):
    code = "encrypted_document"


class CorruptDocument(ReadError):
    code = "corrupt_document"


class UndecodableText(ReadError):
    """Binary bytes, or no encoding fits."""

    code = "undecodable_text"


class OutsideRoot(ReadError):
    """The path resolves (through `..` or a symbolic link) outside the folder that may be read."""

    code = "outside_root"


class InvalidSidecar(ReadError):
    """Front matter or `NAME.meta.json` is malformed."""

    code = "invalid_sidecar"


class StoreError(EvigraphError):
    """The store cannot be used."""

    code = "store_error"
    status = 503


class StoreLocked(StoreError):
    code = "store_locked"


class StorePathInUse(StoreError):
    code = "store_path_in_use"


class StoreTooNew(StoreError):
    code = "store_too_new"


class StoreUnavailable(StoreError):
    code = "store_unavailable"


class ConcurrentWrite(StoreError):
    code = "concurrent_write"


class BeforePruneHorizon(StoreError):
    code = "before_prune_horizon"
    status = 410


class StageFailed(EvigraphError):
    """A stage of a query raised, took too long, or handed on what cannot be; `stage` names it."""

    code = "stage_failed"

    def __init__(self, stage: str, problem: str) -> None:
        self.stage = stage
        super().__init__(f"{stage}: {problem}", hint="ask again; if it stays, report it with the question and the log")


class ModelError(EvigraphError):
    """A call to a chat, embedding or rerank model failed after its retries."""

    code = "model_error"
    status = 502


class ModelTimeout(ModelError):
    code = "model_timeout"
    status = 504


class ModelUnavailable(ModelError):
    code = "model_unavailable"


class ModelBadResponse(ModelError):
    code = "model_bad_response"
