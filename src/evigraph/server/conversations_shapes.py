"""Bodies of `/api/v1/conversations` that the vocabulary has no name for."""

from __future__ import annotations

from pydantic import Field

from evigraph.server.shape import Shape


class ConversationShared(Shape):
    """Who may read and continue a conversation from now on."""

    id: str
    owner: str
    shared: bool = Field(description="True: the whole workspace; false: its owner alone.")


class ConversationDeleted(Shape):
    """A conversation that nobody finds any more."""

    id: str
    owner: str
    deleted: bool
