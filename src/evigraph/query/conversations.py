"""`engine.conversations`: list, show, share and delete conversations, each user their own and those that are shared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evigraph.conversations import Conversation, ConversationList, Turn
from evigraph.errors import InvalidValue
from evigraph.query.converse.exchange import no_conversation
from evigraph.query.converse.names import check_conversation_id, check_user
from evigraph.store import Store
from evigraph.store.conversations import StoredTurn, Thread, delete_thread, find_thread, set_shared, threads

BOUNDS = {"limit": (1, 1_000), "offset": (0, 10_000_000)}


class Conversations:
    """The conversations of one workspace. `user` is who asks: their own conversations and those that are shared exist
    for them, others do not. A shared one of another user is named with its `owner`; only the owner shares and deletes.
    """

    def __init__(self, store: Store, workspace: str) -> None:
        self.store = store
        self.workspace = workspace

    def list(self, *, user: str = "", limit: int = 50, offset: int = 0) -> ConversationList:
        """Conversations of a user and those shared with the workspace, those with the newest turn first."""
        _page(limit, offset)
        found, total = threads(self.store, self.workspace, check_user(user), limit=limit, offset=offset)
        return ConversationList(total=total, conversations=tuple(found))

    def show(
        self, conversation_id: str, *, user: str = "", owner: str | None = None, limit: int = 50, offset: int = 0
    ) -> Conversation:
        """The last `limit` turns but the last `offset`, oldest first. Text of a turn that was taken from a document
        which is not visible any more is withheld. Raises `NotFound`."""
        _page(limit, offset)
        with self.store.snapshot(self.workspace) as snapshot:
            thread = self._thread(conversation_id, user, owner)
            turns = snapshot.turns(thread.name, limit=limit, offset=offset)
            total = snapshot.turn_count(thread.name)
            return Conversation(
                id=thread.conversation_id,
                owner=thread.owner,
                shared=thread.shared,
                generation=snapshot.generation,
                total=total,
                turns=_turns(turns),
            )

    def share(self, conversation_id: str, shared: bool = True, *, user: str = "") -> bool:
        """Let the whole workspace read and continue one's conversation, or end that; return whether it is shared.
        Raises `NotFound`."""
        if not isinstance(shared, bool):
            raise InvalidValue("shared must be true or false", hint="true shares the conversation, false ends that")
        if not set_shared(self.store, self.workspace, check_user(user), check_conversation_id(conversation_id), shared):
            raise no_conversation(conversation_id)
        return shared

    def delete(self, conversation_id: str, *, user: str = "") -> None:
        """Delete one's conversation with all its turns. From now on nobody finds it; `prune` removes its text from the
        store. Raises `NotFound`."""
        if not delete_thread(self.store, self.workspace, check_user(user), check_conversation_id(conversation_id)):
            raise no_conversation(conversation_id)

    def _thread(self, conversation_id: str, user: str, owner: str | None) -> Thread:
        asking = check_user(user)
        whose = asking if owner is None else check_user(owner)
        name = check_conversation_id(conversation_id)
        found = find_thread(self.store, self.workspace, whose, name, user=asking)
        if found is None:
            raise no_conversation(name)
        return found


def _turns(stored: Sequence[StoredTurn]) -> tuple[Turn, ...]:
    return tuple(
        Turn(
            turn=turn.turn,
            asked_by=turn.asked_by,
            asked_at=turn.asked_at,
            generation=turn.generation,
            question=turn.question,
            standalone_question=turn.standalone,
            abstained=turn.abstained,
            answer=turn.answer,
            names=tuple(name for name, _ in turn.names),
            documents=turn.documents,
            withheld=turn.withheld,
        )
        for turn in stored
    )


def _page(limit: Any, offset: Any) -> None:
    for name, value in (("limit", limit), ("offset", offset)):
        low, high = BOUNDS[name]
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise InvalidValue(f"{name} must be a whole number from {low} to {high}", hint="give one in that range")
