"""Pipelines: a state a row, the highest version in force."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from evigraph.bases import Pipeline
from evigraph.errors import NotFound
from evigraph.store.knowledge_bases import made_id, refuse_taken
from evigraph.store.rows import utc

if TYPE_CHECKING:
    from evigraph.store.store import Store

_COLUMNS = (
    "workspace",
    "pipeline_id",
    "version",
    "name",
    "knowledge_bases",
    "llm_model",
    "defaults",
    "deleted",
    "created_at",
    "at",
)


def standing_pipelines(store: Store, workspace: str) -> list[Pipeline]:
    """Every pipeline, by name."""
    return [pipeline for pipeline, _ in _versions(store, workspace)]


def get_pipeline(store: Store, workspace: str, pipeline_id: str) -> Pipeline:
    """One that stands. Raises `NotFound`."""
    return _get(_versions(store, workspace), pipeline_id)[0]


def add_pipeline(
    store: Store,
    workspace: str,
    name: str,
    *,
    knowledge_bases: tuple[str, ...],
    llm_model: str | None,
    defaults: Mapping[str, Any],
) -> Pipeline:
    """Make a pipeline. Raises `NameTaken`."""
    with store.writing:
        refuse_taken(name, {pipeline.name for pipeline in standing_pipelines(store, workspace)})
        sql = "SELECT DISTINCT pipeline_id FROM pipelines WHERE workspace = {workspace:String}"
        taken = {row[0] for row in store.rows(sql, {"workspace": workspace})}
        now = datetime.now(UTC)
        pipeline = Pipeline(
            id=made_id("pipe", workspace, name, taken),
            name=name,
            knowledge_bases=knowledge_bases,
            llm_model=llm_model,
            defaults=defaults,
            created_at=now,
            updated_at=now,
        )
        _write(store, workspace, pipeline, version=1)
        return pipeline


def change_pipeline(store: Store, workspace: str, pipeline_id: str, fields: Mapping[str, Any]) -> Pipeline:
    """Give a pipeline other values. Raises `NotFound` and `NameTaken`."""
    with store.writing:
        standing = _versions(store, workspace)
        found, version = _get(standing, pipeline_id)
        changed = replace(found, **fields)
        refuse_taken(changed.name, {one.name for one, _ in standing if one.id != pipeline_id})
        if changed != found:
            changed = replace(changed, updated_at=datetime.now(UTC))
            _write(store, workspace, changed, version=version + 1)
        return changed


def delete_pipeline(store: Store, workspace: str, pipeline_id: str) -> None:
    """Delete a pipeline and nothing else. Raises `NotFound`."""
    with store.writing:
        found, version = _get(_versions(store, workspace), pipeline_id)
        _write(store, workspace, replace(found, updated_at=datetime.now(UTC)), version=version + 1, deleted=True)


def _get(standing: Sequence[tuple[Pipeline, int]], pipeline_id: str) -> tuple[Pipeline, int]:
    for found in standing:
        if found[0].id == pipeline_id:
            return found
    raise NotFound(f"no pipeline {pipeline_id[:80]!r}", hint="list pipelines first")


def _versions(store: Store, workspace: str) -> list[tuple[Pipeline, int]]:
    sql = """
        SELECT pipeline_id, version, name, knowledge_bases, llm_model, defaults, created_at, at FROM (
            SELECT * FROM pipelines WHERE workspace = {workspace:String}
            ORDER BY pipeline_id, version DESC LIMIT 1 BY pipeline_id)
        WHERE NOT deleted ORDER BY name, pipeline_id"""
    return [
        (
            Pipeline(
                id=row[0],
                name=row[2],
                knowledge_bases=tuple(row[3]),
                llm_model=row[4] or None,
                defaults=json.loads(row[5]),
                created_at=utc(row[6]),
                updated_at=utc(row[7]),
            ),
            row[1],
        )
        for row in store.rows(sql, {"workspace": workspace})
    ]


def _write(store: Store, workspace: str, pipeline: Pipeline, *, version: int, deleted: bool = False) -> None:
    row = [
        workspace,
        pipeline.id,
        version,
        pipeline.name,
        list(pipeline.knowledge_bases),
        pipeline.llm_model or "",
        json.dumps(dict(pipeline.defaults), sort_keys=True),
        deleted,
        pipeline.created_at,
        pipeline.updated_at,
    ]
    store.insert("pipelines", _COLUMNS, [row])
