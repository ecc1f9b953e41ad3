"""The graph: entities, what lies around and between them, contradictions, history, merges."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from evigraph.engine import Evigraph
from evigraph.errors import InvalidValue, UnknownField
from evigraph.query.entities import BOUNDS
from evigraph.server.answers import MergesAnswer, ProposalsAnswer, UnmergedAnswer
from evigraph.server.bodies import check_texts, json_object
from evigraph.server.openapi import body, returns
from evigraph.server.parameters import PredicatesOf, ScopeOf, decoded
from evigraph.server.problems import Json
from evigraph.server.routes.documents import AsOf
from evigraph.server.schemas import MergeBody
from evigraph.server.work import WorkOf, WorkspaceOf
from evigraph.views import ContradictionList, EntityList, EntityPage, History, Merge, Neighbourhood, PathList
from evigraph.wire import plain

PREFIX = "/api/v1/graph"

router = APIRouter(tags=["graph"])


def _bounded(name: str, description: str) -> Any:
    low, high = BOUNDS[name]
    return Query(ge=low, le=high, description=description)


async def _entity_id(
    entity_id: Annotated[
        str, Path(description="An entity's id, such as `person:hana sefu`, or a name it alone has; percent-encoded.")
    ],
) -> str:
    return decoded("the entity id", entity_id)


IdOf = Annotated[str, Depends(_entity_id)]
Limit = Annotated[int, _bounded("limit", "How many are returned at most.")]
Offset = Annotated[int, _bounded("offset", "How many are skipped.")]
PerNode = Annotated[int, _bounded("per_node_limit", "Neighbours followed from one entity at most.")]
Way = Annotated[
    Literal["out", "in", "both"],
    Query(description="Follow assertions from subject to object (`out`), back (`in`), or both ways."),
]


@router.get(f"{PREFIX}/entities", **returns(EntityList, 410))
async def entities(
    *,
    work: WorkOf,
    workspace: WorkspaceOf,
    scope: ScopeOf,
    q: Annotated[str, Query(description="Words of a name, or how they begin; all entities where empty.")] = "",
    type: Annotated[str | None, Query(description="Only this entity type.")] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> Response:
    """Entities by name, best match first; without `q` all of them, the most connected first."""
    found = await work.read(
        lambda engine: engine.entities.search(q, type=type, limit=limit, offset=offset, **scope.fields()), workspace
    )
    return Json(plain(found))


@router.get(f"{PREFIX}/entities/{{entity_id:path}}/neighbourhood", **returns(Neighbourhood, 404, 409, 410))
async def neighbourhood(
    *,
    entity_id: IdOf,
    work: WorkOf,
    workspace: WorkspaceOf,
    scope: ScopeOf,
    predicates: PredicatesOf,
    depth: Annotated[int, _bounded("depth", "Hops.")] = 1,
    per_node_limit: PerNode = 20,
    limit: Annotated[int, _bounded("limit", "Entities returned at most.")] = 100,
    direction: Way = "both",
) -> Response:
    """Entities around one, nearest first, and the relationships that lead to them."""
    found = await work.read(
        lambda engine: engine.entities.neighbourhood(
            entity_id,
            depth=depth,
            per_node_limit=per_node_limit,
            limit=limit,
            predicates=predicates,
            direction=direction,
            **scope.fields(),
        ),
        workspace,
    )
    return Json(plain(found))


@router.get(f"{PREFIX}/entities/{{entity_id:path}}/history", **returns(History, 404, 409, 410))
async def history(
    *,
    entity_id: IdOf,
    work: WorkOf,
    workspace: WorkspaceOf,
    scope: ScopeOf,
    limit: Limit = 100,
    offset: Offset = 0,
) -> Response:
    """What was said about an entity, by which revision, from when until when. Shows what was replaced or deleted
    (`visible` is then false) until it is pruned; filters are judged on each revision as it was published."""
    found = await work.read(
        lambda engine: engine.entities.history(entity_id, limit=limit, offset=offset, **scope.fields()), workspace
    )
    return Json(plain(found))


@router.get(f"{PREFIX}/entities/{{entity_id:path}}", **returns(EntityPage, 404, 409, 410))
async def page(
    *,
    entity_id: IdOf,
    work: WorkOf,
    workspace: WorkspaceOf,
    scope: ScopeOf,
    limit: Annotated[int, _bounded("limit", "Mentions, assertions and relationships returned at most, of each.")] = 50,
    offset: Offset = 0,
) -> Response:
    """All that visible passages say of one entity: names, mentions, assertions, relationships, contradictions."""
    found = await work.read(
        lambda engine: engine.entities.page(entity_id, limit=limit, offset=offset, **scope.fields()), workspace
    )
    return Json(plain(found))


@router.get(f"{PREFIX}/paths", **returns(PathList, 404, 409, 410))
async def paths(
    *,
    work: WorkOf,
    workspace: WorkspaceOf,
    scope: ScopeOf,
    predicates: PredicatesOf,
    source: Annotated[str, Query(alias="from", description="Where the paths begin: an entity's id or name.")],
    target: Annotated[str, Query(alias="to", description="Where they end.")],
    max_length: Annotated[int, _bounded("max_length", "Hops of a path at most.")] = 4,
    limit: Annotated[int, _bounded("limit", "Paths returned at most.")] = 5,
    per_node_limit: PerNode = 200,
    direction: Way = "both",
) -> Response:
    """The shortest paths between two entities, each hop with the assertions that support it."""
    found = await work.read(
        lambda engine: engine.entities.paths(
            source,
            target,
            max_length=max_length,
            limit=limit,
            per_node_limit=per_node_limit,
            predicates=predicates,
            direction=direction,
            **scope.fields(),
        ),
        workspace,
    )
    return Json(plain(found))


@router.get(f"{PREFIX}/contradictions", **returns(ContradictionList, 404, 409, 410))
async def contradictions(
    *,
    work: WorkOf,
    workspace: WorkspaceOf,
    scope: ScopeOf,
    entity: Annotated[str | None, Query(description="Only those about this entity.")] = None,
    kind: Annotated[Literal["negation", "functional", "possible"] | None, Query(description="Only this kind.")] = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """Claims that do not go together, side by side with their sources."""
    found = await work.read(
        lambda engine: engine.entities.contradictions(entity, kind=kind, limit=limit, offset=offset, **scope.fields()),
        workspace,
    )
    return Json(plain(found))


@router.get(f"{PREFIX}/merges", **returns(MergesAnswer, 410))
async def merges(work: WorkOf, workspace: WorkspaceOf, as_of: AsOf) -> Response:
    """Merges that stand, oldest first, as far as visible passages mention what they join."""
    found = await work.read(lambda engine: engine.entities.merges(as_of=as_of), workspace)
    return Json({"merges": plain(found)})


@router.post(f"{PREFIX}/merges", openapi_extra=body(MergeBody), **returns(Merge, 404, 409, 413, 415))
async def merge(request: Request, work: WorkOf, workspace: WorkspaceOf) -> Response:
    """Record that several entities are one. Rewrites no assertion; `DELETE` takes it back."""
    fields = await json_object(request)
    check_texts("merge", fields)
    # On a reader's thread: a merge does not wait for an index run.
    return Json(plain(await work.read(lambda engine: _merge(engine, fields), workspace)))


@router.delete(f"{PREFIX}/merges/{{merge_id}}", **returns(UnmergedAnswer, 404))
async def unmerge(
    work: WorkOf,
    workspace: WorkspaceOf,
    merge_id: Annotated[int, Path(ge=0, lt=2**63, description="As the merge was answered with.")],
) -> Response:
    """Take a merge back."""
    generation = await work.read(lambda engine: engine.entities.unmerge(merge_id), workspace)
    return Json({"merge_id": merge_id, "generation": generation})


@router.get(f"{PREFIX}/proposals", **returns(ProposalsAnswer, 410))
async def proposals(work: WorkOf, workspace: WorkspaceOf, scope: ScopeOf, limit: Limit = 50) -> Response:
    """Entities that may be one, with the evidence, best first; `POST /api/v1/graph/merges` decides."""
    found = await work.read(lambda engine: engine.entities.proposals(limit=limit, **scope.fields()), workspace)
    return Json({"proposals": plain(found)})


def _merge(engine: Evigraph, fields: dict[str, Any]) -> Merge:
    given = {name: value for name, value in fields.items() if value is not None}
    for name in sorted(given):
        if name not in MergeBody.model_fields:
            raise UnknownField(name, tuple(MergeBody.model_fields))
    entities = given.get("entities")
    if not isinstance(entities, list) or not all(isinstance(entity, str) for entity in entities):
        raise InvalidValue("entities must be a list of texts", hint="give at least two ids")
    texts = {name: given[name] for name in ("canonical", "reason") if name in given}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise InvalidValue(f"{name} must be text", hint="send a JSON string")
    return engine.entities.merge(entities, **texts)
