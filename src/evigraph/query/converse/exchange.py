"""The conversation of one question: what was read of it, and what the question took from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from evigraph.conversations import CondensedBy, ConversationUse
from evigraph.errors import NotFound
from evigraph.store import Snapshot, Store
from evigraph.store.conversations import NewTurn, StoredTurn, Thread, append_turn, find_thread
from evigraph.types import QueryRequest

TURNS_READ = 6
"""Earlier turns that a follow-up is read with: the last ones."""


@dataclass(kw_only=True)
class Exchange:
    """A question's conversation. `thread` is None where its first turn is yet to be recorded."""

    store: Store
    workspace: str
    owner: str
    conversation_id: str
    user: str
    thread: Thread | None
    earlier: list[StoredTurn] = field(default_factory=list)
    """The turns read, oldest first."""
    condensed_by: CondensedBy | None = None
    standalone_rests_on: tuple[int, ...] = ()
    """Revisions that what was put into the question is known from."""
    turn: int | None = None
    """The number that the question was recorded under."""

    def read(self, snapshot: Snapshot) -> None:
        """Read the window of earlier turns, as the snapshot may see them."""
        self.earlier = [] if self.thread is None else snapshot.turns(self.thread.name, limit=TURNS_READ)

    def append(self, turn: NewTurn) -> int | None:
        """Record the turn; None where the conversation was deleted, or unshared, since it was read."""
        return append_turn(self.store, self.workspace, self.owner, self.conversation_id, thread=self.thread, turn=turn)

    def use(self, standalone_question: str) -> ConversationUse:
        """What the response says of it."""
        return ConversationUse(
            id=self.conversation_id,
            owner=self.owner,
            turn=self.turn,
            turns_used=len(self.earlier),
            standalone_question=standalone_question,
            condensed_by=self.condensed_by,
        )


def enter(store: Store, workspace: str, request: QueryRequest) -> Exchange | None:
    """The conversation that a request is a turn of, if it is one. An id of one's own that is new begins a conversation;
    one of another user must stand and be shared. Raises `NotFound`."""
    if request.conversation_id is None:
        return None
    owner = request.user if request.conversation_owner is None else request.conversation_owner
    thread = find_thread(store, workspace, owner, request.conversation_id, user=request.user)
    if thread is None and owner != request.user:
        raise no_conversation(request.conversation_id)
    return Exchange(
        store=store,
        workspace=workspace,
        owner=owner,
        conversation_id=request.conversation_id,
        user=request.user,
        thread=thread,
    )


def no_conversation(conversation_id: str) -> NotFound:
    """One that does not stand, or that the user may not use: nobody can tell which."""
    return NotFound(
        f"no conversation {conversation_id!r}",
        hint="list conversations first; one of another user is named with its owner, and must be shared",
    )


def used_revisions(turns: Sequence[StoredTurn]) -> tuple[int, ...]:
    """Every revision that the texts of these turns rest on, as far as they are not withheld."""
    keys: set[int] = set()
    for turn in turns:
        keys.update(turn.answer_rests_on if turn.answer is not None else ())
        keys.update(turn.standalone_rests_on if turn.standalone is not None else ())
    return tuple(sorted(keys))
