"""The domain schema of a workspace: validated when given, else inferred from the visible assertions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from evigraph.domain import DomainSchema, EntityType, PredicateType, predicate_key
from evigraph.errors import InvalidQuery, InvalidSchema
from evigraph.query.checks import check_text, shown
from evigraph.store import Snapshot, Store
from evigraph.types import ENTITY_TYPES

MAX_TYPES = 200
MAX_PREDICATES = 2_000
MAX_SYNONYMS = 50
MAX_NAME = 100
MAX_DESCRIPTION = 2_000
"""Bounds of a given schema; an inferred one lists at most as many predicates."""

_TYPE = re.compile(r"[^\W_][\w .:&/-]*")
_TYPE_FIELDS = ("name", "description")
_PREDICATE_FIELDS = ("name", "description", "domain", "range", "functional", "synonyms")


def read_schema(store: Store, workspace: str, as_of: int | datetime | None) -> DomainSchema:
    """The schema in force: the given one, else one inferred from all that is visible."""
    with store.snapshot(workspace, as_of=as_of) as snapshot:
        return snapshot.state.schema or infer(snapshot)


def write_schema(store: Store, workspace: str, schema: Any) -> int:
    """Record a schema, or with None that there is none any more; return the generation, which stays as it is where
    nothing changes. Raises `InvalidSchema`."""
    given = None if schema is None else parse_schema(schema)
    with store.writing:
        generation = store.generation(workspace)
        if store.state_at(workspace, generation).schema == given:
            return generation
        return store.record_change(workspace, "schema", {} if given is None else schema_as_data(given))


def infer(snapshot: Snapshot, limit: int = MAX_PREDICATES) -> DomainSchema:
    """Types and the commonest predicates of the scope, with the types seen at their ends and how often."""
    profiles = snapshot.predicate_profiles(limit)
    total = len(snapshot.predicate_counts()) if len(profiles) == limit else len(profiles)
    return DomainSchema(
        types=tuple(EntityType(name=name, count=count) for name, count in snapshot.type_counts()),
        predicates=tuple(
            PredicateType(
                name=found.predicate, domain=found.subject_types, range=found.object_types, count=found.assertions
            )
            for found in profiles
        ),
        inferred=True,
        omitted=total - len(profiles),
    )


def schema_as_data(schema: DomainSchema) -> dict[str, Any]:
    """A given schema as JSON values: what is stored, and what `parse_schema` reads."""
    return {
        "types": [{"name": item.name, "description": item.description} for item in schema.types],
        "predicates": [
            {
                "name": item.name,
                "description": item.description,
                "domain": list(item.domain),
                "range": list(item.range),
                "functional": item.functional,
                "synonyms": list(item.synonyms),
            }
            for item in schema.predicates
        ],
    }


def parse_schema(value: Any) -> DomainSchema:
    """A schema from JSON values or a `DomainSchema`. Types come out in upper case, predicates in upper snake case.

    Without `types`, domains and ranges name the seven default ones. Raises `InvalidSchema`.
    """
    if isinstance(value, DomainSchema):
        value = schema_as_data(value)
    if not isinstance(value, Mapping):
        raise InvalidSchema(f"the schema must be an object, not {shown(value)}", hint='{"types": [], "predicates": []}')
    _known("the schema", value, ("types", "predicates"))
    types = [_type(f"types[{n}]", item) for n, item in enumerate(_list("types", value.get("types"), MAX_TYPES))]
    names = [item.name for item in types]
    _distinct("types", names)
    allowed = names or ENTITY_TYPES
    listed = enumerate(_list("predicates", value.get("predicates"), MAX_PREDICATES))
    predicates = [_predicate(f"predicates[{n}]", item, allowed) for n, item in listed]
    if not types and not predicates:
        raise InvalidSchema("the schema is empty", hint="name types or predicates, or remove the schema")
    _distinct("predicates", [name for item in predicates for name in (item.name, *item.synonyms)])
    return DomainSchema(types=tuple(types), predicates=tuple(predicates))


def _type(where: str, value: Any) -> EntityType:
    item = _object(where, value, _TYPE_FIELDS)
    return EntityType(name=_type_name(f"{where}.name", item.get("name")), description=_description(where, item))


def _predicate(where: str, value: Any, types: Sequence[str]) -> PredicateType:
    item = _object(where, value, _PREDICATE_FIELDS)
    functional = item.get("functional", False)
    if not isinstance(functional, bool):
        raise InvalidSchema(f"{where}.functional must be true or false", hint=f"got {shown(functional)}")
    name = _predicate_name(f"{where}.name", item.get("name"))
    synonyms = [
        _predicate_name(f"{where}.synonyms", text)
        for text in _list(f"{where}.synonyms", item.get("synonyms"), MAX_SYNONYMS)
    ]
    return PredicateType(
        name=name,
        description=_description(where, item),
        domain=_ends(f"{where}.domain", item.get("domain"), types),
        range=_ends(f"{where}.range", item.get("range"), types),
        functional=functional,
        synonyms=tuple(synonym for synonym in dict.fromkeys(synonyms) if synonym != name),
    )


def _ends(where: str, value: Any, types: Sequence[str]) -> tuple[str, ...]:
    names = [_type_name(where, item) for item in _list(where, value, MAX_TYPES)]
    for name in names:
        if name not in types:
            raise InvalidSchema(f"{where} names the unknown type {shown(name)}", hint=f"types: {', '.join(types)}")
    return tuple(dict.fromkeys(names))


def _type_name(where: str, value: Any) -> str:
    name = _text(where, value, MAX_NAME).upper()
    if not _TYPE.fullmatch(name):
        raise InvalidSchema(f"{where} is no type name: {shown(value)}", hint="write it as in PERSON or RESEARCH_GROUP")
    return name


def _predicate_name(where: str, value: Any) -> str:
    name = predicate_key(_text(where, value, MAX_NAME))
    if not name:
        raise InvalidSchema(f"{where} has no letters or digits: {shown(value)}", hint="write it as in WORKS_FOR")
    return name


def _description(where: str, item: Mapping[str, Any]) -> str:
    text = item.get("description", "")
    return _text(f"{where}.description", text, MAX_DESCRIPTION) if text != "" else ""


def _text(where: str, value: Any, limit: int) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > limit:
        raise InvalidSchema(f"{where} must be text of 1 to {limit} characters", hint=f"got {shown(value)}")
    try:
        return check_text(where, value.strip())
    except InvalidQuery as error:
        raise InvalidSchema(str(error), hint=error.hint) from None


def _list(where: str, value: Any, limit: int) -> Sequence[Any]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or len(value) > limit:
        raise InvalidSchema(f"{where} must be a list of at most {limit}", hint=f"got {shown(value)}")
    return value


def _object(where: str, value: Any, fields: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidSchema(f"{where} must be an object", hint=f"with: {', '.join(fields)}")
    _known(where, value, fields)
    return {name: item for name, item in value.items() if item is not None}


def _known(where: str, value: Mapping[str, Any], fields: tuple[str, ...]) -> None:
    for name in value:
        if name not in fields:
            raise InvalidSchema(f"{where} has the unknown field {shown(name)}", hint=f"valid: {', '.join(fields)}")


def _distinct(what: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InvalidSchema(f"{what}: {shown(name)} is named twice", hint="give each name once, synonyms included")
        seen.add(name)
