"""What the `bases` and `pipelines` commands need, here and over HTTP: JSON values, as the server answers with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol
from urllib.parse import quote

from evigraph.cli.conversations import user_header
from evigraph.engine import Evigraph
from evigraph.query.bases.pipelines import check_fields
from evigraph.wire import answer_to_wire, plain

Json = dict[str, Any]
Fields = Mapping[str, Any]

BASES, PIPELINES = "/knowledge-bases", "/pipeline"


class BaseBackend(Protocol):
    """`engine.knowledge_bases` as JSON. Raises the errors of `evigraph.errors`, also where a server raised them."""

    def create(self, fields: Fields) -> Json:
        """A new knowledge base."""
        ...

    def list(self) -> Json:
        """All of them."""
        ...

    def show(self, base_id: str) -> Json:
        """One of them."""
        ...

    def update(self, base_id: str, fields: Fields) -> Json:
        """Other values for the given fields."""
        ...

    def delete(self, base_id: str) -> Json:
        """Delete one with its documents."""
        ...

    def documents(self, base_id: str) -> Json:
        """Its visible documents."""
        ...

    def remove(self, base_id: str, document_id: str) -> Json:
        """Delete one of its documents."""
        ...


class PipelineBackend(Protocol):
    """`engine.pipelines` as JSON."""

    def create(self, fields: Fields) -> Json:
        """A new pipeline."""
        ...

    def list(self) -> Json:
        """All of them."""
        ...

    def show(self, pipeline_id: str) -> Json:
        """One of them."""
        ...

    def update(self, pipeline_id: str, fields: Fields) -> Json:
        """Other values for the given fields."""
        ...

    def delete(self, pipeline_id: str) -> Json:
        """Delete one, and nothing else."""
        ...

    def query(self, pipeline_id: str, question: str, user: str, fields: Fields) -> Json:
        """Answer a question."""
        ...


class LocalBases:
    """A `BaseBackend` over an open engine."""

    def __init__(self, engine: Evigraph) -> None:
        self._bases = engine.knowledge_bases

    def create(self, fields: Fields) -> Json:
        return _json(self._bases.create(**fields))

    def list(self) -> Json:
        return {"knowledge_bases": plain(self._bases.list())}

    def show(self, base_id: str) -> Json:
        return _json(self._bases.show(base_id))

    def update(self, base_id: str, fields: Fields) -> Json:
        return _json(self._bases.update(base_id, **fields))

    def delete(self, base_id: str) -> Json:
        return _json(self._bases.delete(base_id))

    def documents(self, base_id: str) -> Json:
        return {"documents": plain(self._bases.documents(base_id))}

    def remove(self, base_id: str, document_id: str) -> Json:
        return {"document_id": document_id, "generation": self._bases.remove(base_id, document_id)}


class LocalPipelines:
    """A `PipelineBackend` over an open engine."""

    def __init__(self, engine: Evigraph) -> None:
        self._pipelines = engine.pipelines

    def create(self, fields: Fields) -> Json:
        return _json(self._pipelines.create(**fields))

    def list(self) -> Json:
        return {"pipelines": plain(self._pipelines.list())}

    def show(self, pipeline_id: str) -> Json:
        return _json(self._pipelines.show(pipeline_id))

    def update(self, pipeline_id: str, fields: Fields) -> Json:
        return _json(self._pipelines.update(pipeline_id, **fields))

    def delete(self, pipeline_id: str) -> Json:
        self._pipelines.delete(pipeline_id)
        return {"id": pipeline_id, "deleted": True}

    def query(self, pipeline_id: str, question: str, user: str, fields: Fields) -> Json:
        check_fields(fields)
        answer = self._pipelines.query(pipeline_id, question, user=user, **fields)
        return {**answer_to_wire(answer), "pipeline_id": pipeline_id}


class RemoteBases:
    """A `BaseBackend` over HTTP; `request(method, path, …)` is that of `RemoteEngine`."""

    def __init__(self, request: Callable[..., Json]) -> None:
        self._request = request

    def create(self, fields: Fields) -> Json:
        return self._request("POST", BASES, json=dict(fields))

    def list(self) -> Json:
        return self._request("GET", BASES)

    def show(self, base_id: str) -> Json:
        return self._request("GET", path_of(BASES, base_id))

    def update(self, base_id: str, fields: Fields) -> Json:
        return self._request("PATCH", path_of(BASES, base_id), json=dict(fields))

    def delete(self, base_id: str) -> Json:
        return self._request("DELETE", path_of(BASES, base_id))

    def documents(self, base_id: str) -> Json:
        return self._request("GET", f"{path_of(BASES, base_id)}/documents")

    def remove(self, base_id: str, document_id: str) -> Json:
        return self._request("DELETE", f"{path_of(BASES, base_id)}/documents/{quote(document_id, safe='')}")


class RemotePipelines:
    """A `PipelineBackend` over HTTP."""

    def __init__(self, request: Callable[..., Json]) -> None:
        self._request = request

    def create(self, fields: Fields) -> Json:
        return self._request("POST", PIPELINES, json=dict(fields))

    def list(self) -> Json:
        return self._request("GET", PIPELINES)

    def show(self, pipeline_id: str) -> Json:
        return self._request("GET", path_of(PIPELINES, pipeline_id))

    def update(self, pipeline_id: str, fields: Fields) -> Json:
        return self._request("PATCH", path_of(PIPELINES, pipeline_id), json=dict(fields))

    def delete(self, pipeline_id: str) -> Json:
        return self._request("DELETE", path_of(PIPELINES, pipeline_id))

    def query(self, pipeline_id: str, question: str, user: str, fields: Fields) -> Json:
        asked = {**fields, "question": question}
        return self._request("POST", f"{path_of(PIPELINES, pipeline_id)}/query", json=asked, headers=user_header(user))


def path_of(prefix: str, name: str) -> str:
    """The path of a base or a pipeline. An empty name would be the path of all of them."""
    return f"{prefix}/{quote(name, safe='') or '-'}"


def _json(value: Any) -> Json:
    found: Json = plain(value)
    return found
