"""Conversations and their turns, by workspace and owner.

A conversation's row says whether it is shared or deleted; the highest version is in force. Deleting inserts one row:
from then on no statement finds the conversation, and `prune` removes its turns for good. A turn is read through a
snapshot, which withholds what rests on a revision that it does not see; `prune` removes such text too.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from evigraph.conversations import ConversationInfo
from evigraph.store.reading import Reading
from evigraph.store.rows import utc

if TYPE_CHECKING:
    from evigraph.store.store import Store

_IN_FORCE = """
    SELECT * FROM conversations WHERE workspace = {workspace:String}
    ORDER BY owner, conversation_id, version DESC LIMIT 1 BY owner, conversation_id"""

_COLUMNS = ("workspace", "owner", "conversation_id", "version", "thread", "shared", "deleted", "at")
_TURN_COLUMNS = (
    "workspace",
    "thread",
    "turn",
    "asked_by",
    "asked_at",
    "generation",
    "question",
    "standalone",
    "standalone_rests_on",
    "abstained",
    "answer",
    "names",
    "name_types",
    "answer_rests_on",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Thread:
    """A conversation that stands. `name` is that of its turns in the tables, `version` the row in force."""

    owner: str
    conversation_id: str
    name: str
    shared: bool
    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class NewTurn:
    """A turn to keep. `names` are `(name, type)` of the entities that the answer speaks of. `answer_rests_on` and
    `standalone_rests_on` hold the key of every revision that these texts were taken from."""

    asked_by: str
    generation: int
    question: str
    standalone: str
    standalone_rests_on: Sequence[int]
    abstained: bool
    answer: str
    names: Sequence[tuple[str, str]]
    answer_rests_on: Sequence[int]


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredTurn:
    """A turn as a snapshot may see it: `standalone` and `answer` are None, and `names` empty, where they are withheld.
    An abstention has no answer, which is not withheld. `documents` are those that a shown answer rests on."""

    turn: int
    asked_by: str
    asked_at: datetime
    generation: int
    question: str
    standalone: str | None
    standalone_rests_on: tuple[int, ...]
    abstained: bool
    answer: str | None
    names: tuple[tuple[str, str], ...]
    answer_rests_on: tuple[int, ...]
    documents: tuple[str, ...]
    withheld: bool


class ConversationReading(Reading):
    """Turns in a snapshot."""

    def turns(self, thread: str, *, limit: int, offset: int = 0) -> list[StoredTurn]:
        """The last `limit` turns but the last `offset`, oldest first; what rests on a revision out of scope is
        withheld."""
        visible = f"arrayAll(revision -> revision IN {self.scope.revisions}"
        sql = f"""
            SELECT turn, asked_by, asked_at, generation, question, standalone, standalone_rests_on, abstained, answer,
                arrayZip(names, name_types), answer_rests_on,
                {visible}, standalone_rests_on), {visible}, answer_rests_on)
            FROM conversation_turns
            WHERE workspace = {{workspace:String}} AND thread = {{thread:String}}
            ORDER BY turn DESC, asked_at DESC LIMIT {{limit:UInt32}} OFFSET {{offset:UInt32}}"""
        rows = self._rows(sql, thread=thread, limit=limit, offset=offset)
        documents = self._documents([key for row in rows if row[-1] for key in row[10]])
        return [_stored(row, documents) for row in reversed(rows)]

    def turn_count(self, thread: str) -> int:
        sql = "SELECT count() FROM conversation_turns WHERE workspace = {workspace:String} AND thread = {thread:String}"
        return int(self._rows(sql, thread=thread)[0][0])

    def _documents(self, keys: Sequence[int]) -> dict[int, str]:
        """The documents in scope of the given revisions."""
        sql = f"""
            SELECT revision_key, document_id FROM {self._asked.documents}
            WHERE revision_key IN {{keys:Array(UInt128)}}"""
        bound = {**self._asked.parameters, "keys": sorted(set(keys))}
        return dict(self._run(sql, bound)) if keys else {}


def _stored(row: Sequence[Any], documents: Mapping[int, str]) -> StoredTurn:
    *head, standalone, rests, abstained, answer, names, answer_rests, standalone_visible, answer_visible = row
    turn, asked_by, asked_at, generation, question = head
    return StoredTurn(
        turn=turn,
        asked_by=asked_by,
        asked_at=utc(asked_at),
        generation=generation,
        question=question,
        standalone=standalone if standalone_visible else None,
        standalone_rests_on=tuple(rests),
        abstained=abstained,
        answer=answer if answer_visible and answer else None,
        names=tuple((name, kind) for name, kind in names) if answer_visible else (),
        answer_rests_on=tuple(answer_rests),
        documents=tuple(sorted({documents[key] for key in answer_rests if key in documents})) if answer_visible else (),
        withheld=not (standalone_visible and answer_visible),
    )


# --------------------------------------------------------------------- conversations


def find_thread(store: Store, workspace: str, owner: str, conversation_id: str, *, user: str) -> Thread | None:
    """The conversation of this owner and id, if it stands and `user` may use it: it is their own, or shared."""
    found = _state(store, workspace, owner, conversation_id)
    if found is None or found.deleted or (owner != user and not found.thread.shared):
        return None
    return found.thread


def threads(
    store: Store, workspace: str, user: str, *, limit: int, offset: int = 0
) -> tuple[list[ConversationInfo], int]:
    """Conversations that a user owns or that are shared, those with the newest turn first, and how many there are."""
    sql = f"""
        SELECT conversation_id, owner, shared, made, if(made = 0, at, started) AS begun,
            if(made = 0, at, updated) AS last, count() OVER ()
        FROM (SELECT * FROM ({_IN_FORCE}) WHERE NOT deleted AND (owner = {{user:String}} OR shared)) AS conversation
        LEFT JOIN (
            SELECT thread, count() AS made, min(asked_at) AS started, max(asked_at) AS updated
            FROM conversation_turns WHERE workspace = {{workspace:String}} GROUP BY thread) AS asked
        ON conversation.thread = asked.thread
        ORDER BY last DESC, owner, conversation_id LIMIT {{limit:UInt32}} OFFSET {{offset:UInt32}}"""
    rows = store.rows(sql, {"workspace": workspace, "user": user, "limit": limit, "offset": offset})
    listed = [
        ConversationInfo(
            id=row[0], owner=row[1], shared=row[2], turns=row[3], started_at=utc(row[4]), updated_at=utc(row[5])
        )
        for row in rows
    ]
    return listed, int(rows[0][6]) if rows else 0


def append_turn(
    store: Store, workspace: str, owner: str, conversation_id: str, *, thread: Thread | None, turn: NewTurn
) -> int | None:
    """Add a turn to the conversation as it was read, or begin one where none was (`thread` is None); return its number.

    None where the conversation was deleted, or is not shared with the asker any more, since it was read: what was
    deleted meanwhile must not come back.
    """
    with store.writing:
        now = datetime.now(UTC)
        state = _state(store, workspace, owner, conversation_id)
        standing = None if state is None or state.deleted else state.thread
        if standing is None and thread is None and owner == turn.asked_by:
            version = 1 if state is None else state.thread.version + 1
            standing = Thread(
                owner=owner, conversation_id=conversation_id, name=uuid.uuid4().hex, shared=False, version=version
            )
            # Before its first turn: a prune removes turns of no conversation.
            _write(store, workspace, standing, at=now)
        elif (
            standing is None
            or (thread is not None and thread.name != standing.name)
            or (owner != turn.asked_by and not standing.shared)
        ):
            return None
        sql = """
            SELECT max(turn) FROM conversation_turns
            WHERE workspace = {workspace:String} AND thread = {thread:String}"""
        number = int(store.rows(sql, {"workspace": workspace, "thread": standing.name})[0][0]) + 1
        row = [
            workspace,
            standing.name,
            number,
            turn.asked_by,
            now,
            turn.generation,
            turn.question,
            turn.standalone,
            sorted(set(turn.standalone_rests_on)),
            turn.abstained,
            turn.answer,
            [name for name, _ in turn.names],
            [kind for _, kind in turn.names],
            sorted(set(turn.answer_rests_on)),
        ]
        store.insert("conversation_turns", _TURN_COLUMNS, [row])
        return number


def set_shared(store: Store, workspace: str, owner: str, conversation_id: str, shared: bool) -> bool:
    """Share a conversation with the workspace, or take that back; False where there is none."""
    with store.writing:
        found = find_thread(store, workspace, owner, conversation_id, user=owner)
        if found is None:
            return False
        if found.shared != shared:
            _write(store, workspace, found, shared=shared)
        return True


def delete_thread(store: Store, workspace: str, owner: str, conversation_id: str) -> bool:
    """Delete a conversation: from now on nothing finds it, and `prune` removes its rows. False where there is none."""
    with store.writing:
        found = find_thread(store, workspace, owner, conversation_id, user=owner)
        if found is None:
            return False
        _write(store, workspace, found, shared=False, deleted=True)
        return True


@dataclass(frozen=True, kw_only=True, slots=True)
class _State:
    thread: Thread
    deleted: bool


def _state(store: Store, workspace: str, owner: str, conversation_id: str) -> _State | None:
    sql = """
        SELECT thread, shared, deleted, version FROM conversations
        WHERE workspace = {workspace:String} AND owner = {owner:String} AND conversation_id = {id:String}
        ORDER BY version DESC LIMIT 1"""
    rows = store.rows(sql, {"workspace": workspace, "owner": owner, "id": conversation_id})
    if not rows:
        return None
    name, shared, deleted, version = rows[0]
    thread = Thread(owner=owner, conversation_id=conversation_id, name=name, shared=shared, version=version)
    return _State(thread=thread, deleted=deleted)


def _write(
    store: Store,
    workspace: str,
    thread: Thread,
    *,
    shared: bool | None = None,
    deleted: bool = False,
    at: datetime | None = None,
) -> None:
    """Insert the next state of a conversation, or its first (given with `at`)."""
    version = thread.version if at is not None else thread.version + 1
    row = [
        workspace,
        thread.owner,
        thread.conversation_id,
        version,
        thread.name,
        thread.shared if shared is None else shared,
        deleted,
        at or datetime.now(UTC),
    ]
    store.insert("conversations", _COLUMNS, [row])


# --------------------------------------------------------------------- physical removal

TABLES = ("conversations", "conversation_turns")

_GONE = """arrayExists(
    revision -> revision NOT IN (SELECT revision_key FROM publications WHERE workspace = {{workspace:String}}), {})"""

Removal = tuple[str, str, str]
"""A table, what is done to it, and the condition of the rows it is done to."""


def removals() -> list[Removal]:
    """What a prune does, in this order, after it removed revisions: turns of deleted conversations go, and so do texts
    that rest on a revision that is no more; then rows of conversations that are not in force; then those of deleted
    ones, last, since these hide the others. Names are compared inside the engine alone: it keeps a removal's statement
    in a file."""
    standing = f"SELECT thread FROM ({_IN_FORCE}) WHERE NOT deleted"
    in_force = f"SELECT owner, conversation_id, version FROM ({_IN_FORCE})"
    answer, standalone = _GONE.format("answer_rests_on"), _GONE.format("standalone_rests_on")
    workspace = "workspace = {workspace:String}"
    turns = "conversation_turns"
    return [
        (turns, "DELETE", f"{workspace} AND thread NOT IN ({standing})"),
        (
            turns,
            "UPDATE answer = '', names = [], name_types = []",
            f"{workspace} AND (answer != '' OR notEmpty(names)) AND {answer}",
        ),
        (turns, "UPDATE standalone = ''", f"{workspace} AND standalone != '' AND {standalone}"),
        ("conversations", "DELETE", f"{workspace} AND (owner, conversation_id, version) NOT IN ({in_force})"),
        (
            "conversations",
            "DELETE",
            f"{workspace} AND deleted AND (owner, conversation_id, version) IN ({in_force})",
        ),
    ]
