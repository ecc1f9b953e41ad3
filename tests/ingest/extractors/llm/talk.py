"""A chat model that reads: it answers each passage with the records whose names stand in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from evigraph.models.ports import ChatReply, Message
from evigraph.types import Passage

_PASSAGE = re.compile(r"<passage>\n(.*)\n</passage>", re.DOTALL)
_CLAIM = re.compile(r"([A-Z]\w+ [A-Z]\w+) (\w+ed) ([A-Z]\w+)")


def passage_of(messages: Sequence[Message]) -> str:
    found = _PASSAGE.search(messages[1].content)
    assert found is not None
    return found.group(1)


def is_extraction(messages: Sequence[Message]) -> bool:
    return "<passage>" in messages[-1].content or len(messages) > 2


def read_aloud(messages: Sequence[Message]) -> str:
    """`First Last verbed Place` becomes two entities and one claim, as JSON."""
    entities, claims = [], []
    for found in _CLAIM.finditer(passage_of(messages)):
        subject, verb, place = found.groups()
        entities += [
            {"name": subject, "type": "PERSON", "description": f"{subject} is somebody."},
            {"name": place, "type": "LOCATION", "description": ""},
        ]
        claims.append({"subject": subject, "predicate": verb, "object": place, "quote": found.group()})
    return json.dumps({"entities": entities, "assertions": claims})


def reply(entities: Sequence[Any] = (), assertions: Sequence[Any] = ()) -> str:
    return json.dumps({"entities": list(entities), "assertions": list(assertions)})


def entity(name: str, type: str = "PERSON", description: str = "") -> dict[str, str]:
    return {"name": name, "type": type, "description": description}


def claim(subject: str, predicate: str, object: str, quote: str = "", **fields: Any) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "object": object, "quote": quote, **fields}


def passage(text: str, index: int = 0, start: int = 0, document_id: str = "d", **fields: Any) -> Passage:
    fields.setdefault("sentences", ((start, start + len(text)),))
    return Passage(
        document_id=document_id, revision=1, index=index, start=start, end=start + len(text), text=text, **fields
    )


class Replies:
    """A `ReplyCache` in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, ChatReply] = {}

    def find(self, keys: Sequence[str]) -> Mapping[str, ChatReply]:
        return {key: self.kept[key] for key in keys if key in self.kept}

    def keep(self, replies: Mapping[str, ChatReply]) -> None:
        self.kept.update(replies)
