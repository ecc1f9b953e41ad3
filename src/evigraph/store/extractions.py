"""Replies of a chat model, by the hash of all that decides them, so that no reply is paid for twice.

Rows belong to a document revision like all others: a reply quotes its document, and goes when that revision is pruned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from evigraph.store.database import Database

_COLUMNS = (
    "workspace",
    "key",
    "revision_key",
    "at",
    "model",
    "reply",
    "prompt_tokens",
    "completion_tokens",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredReply:
    """A reply with the token account of the call that it cost; None where the server told none."""

    text: str
    model: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class StoredReplies:
    """Replies that one revision asked for. One that another revision of the workspace asked for is found too, and
    recorded for this one, so that pruning the other does not lose it."""

    def __init__(self, database: Database, workspace: str, revision_key: int, *, reading: bool = False) -> None:
        self._database = database
        self._workspace = workspace
        self._revision_key = revision_key
        self._reading = reading

    def find(self, keys: Sequence[str]) -> Mapping[str, StoredReply]:
        """Those of `keys` that were answered before; of two answers, the older."""
        if not keys:
            return {}
        sql = """
            SELECT key, argMin(tuple(reply, model, prompt_tokens, completion_tokens), (at, revision_key)),
                countIf(revision_key = {mine:UInt128})
            FROM extraction_cache
            WHERE workspace = {workspace:String} AND key IN {keys:Array(String)}
            GROUP BY key ORDER BY key"""
        bound = {"workspace": self._workspace, "keys": list(keys), "mine": self._revision_key}
        rows = self._database.rows(sql, bound)
        found = {
            key: StoredReply(text=reply[0], model=reply[1], prompt_tokens=reply[2], completion_tokens=reply[3])
            for key, reply, _ in rows
        }
        if not self._reading:
            self.keep({key: found[key] for key, _, mine in rows if not mine})
        return found

    def keep(self, replies: Mapping[str, StoredReply]) -> None:
        """Store replies, as one block."""
        now = datetime.now(UTC)
        self._database.insert("extraction_cache", _COLUMNS, [self._row(key, replies[key], now) for key in replies])

    def _row(self, key: str, reply: StoredReply, now: datetime) -> list[Any]:
        return [
            self._workspace,
            key,
            self._revision_key,
            now,
            reply.model,
            reply.text,
            reply.prompt_tokens,
            reply.completion_tokens,
        ]
