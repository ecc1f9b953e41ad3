"""Conversations: those of the user that `X-User-ID` names, and those that are shared with the workspace."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from evigraph.conversations import Conversation, ConversationList
from evigraph.errors import InvalidValue, UnknownField
from evigraph.query.conversations import BOUNDS
from evigraph.query.converse.names import check_conversation_id, check_user
from evigraph.server.bodies import json_object
from evigraph.server.conversations_shapes import ConversationDeleted, ConversationShared
from evigraph.server.openapi import body, returns
from evigraph.server.problems import Json
from evigraph.server.schemas import ShareBody
from evigraph.server.work import UserOf, WorkOf, WorkspaceOf
from evigraph.wire import plain

PREFIX = "/api/v1/conversations"

router = APIRouter(tags=["conversations"])


def _bounded(name: str, description: str) -> Any:
    low, high = BOUNDS[name]
    return Query(ge=low, le=high, description=description)


async def _id(
    conversation_id: Annotated[str, Path(description="As it was given in a query.", examples=["wells-2019"])],
) -> str:
    return check_conversation_id(conversation_id)


async def _owner(
    owner: Annotated[
        str | None, Query(description="Whose conversation, where it is a shared one of another user.")
    ] = None,
) -> str | None:
    return None if owner is None else check_user(owner)


IdOf = Annotated[str, Depends(_id)]
OwnerOf = Annotated[str | None, Depends(_owner)]
Limit = Annotated[int, _bounded("limit", "How many are returned at most.")]
Offset = Annotated[int, _bounded("offset", "How many are skipped, from the newest.")]


@router.get(PREFIX, **returns(ConversationList))
async def conversations(
    *, work: WorkOf, workspace: WorkspaceOf, user: UserOf, limit: Limit = 50, offset: Offset = 0
) -> Response:
    """The user's conversations and those shared with the workspace, those with the newest turn first."""
    found = await work.read(lambda engine: engine.conversations.list(user=user, limit=limit, offset=offset), workspace)
    return Json(plain(found))


@router.get(f"{PREFIX}/{{conversation_id}}", **returns(Conversation, 404))
async def show(
    *,
    conversation_id: IdOf,
    work: WorkOf,
    workspace: WorkspaceOf,
    user: UserOf,
    owner: OwnerOf,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """The newest turns of a conversation, oldest first. What was taken from a document that is deleted or replaced is
    withheld."""
    found = await work.read(
        lambda engine: engine.conversations.show(conversation_id, user=user, owner=owner, limit=limit, offset=offset),
        workspace,
    )
    return Json(plain(found))


@router.delete(f"{PREFIX}/{{conversation_id}}", **returns(ConversationDeleted, 404))
async def delete(conversation_id: IdOf, work: WorkOf, workspace: WorkspaceOf, user: UserOf) -> Response:
    """Delete one's conversation. From now on nobody finds it; the next prune removes its text from the store."""
    await work.read(lambda engine: engine.conversations.delete(conversation_id, user=user), workspace)
    return Json({"id": conversation_id, "owner": user, "deleted": True})


@router.post(
    f"{PREFIX}/{{conversation_id}}/share",
    openapi_extra=body(ShareBody),
    **returns(ConversationShared, 404, 413, 415),
)
async def share(
    request: Request, conversation_id: IdOf, work: WorkOf, workspace: WorkspaceOf, user: UserOf
) -> Response:
    """Let the whole workspace read and continue one's conversation, or end that."""
    fields = await json_object(request)
    shared = _shared(fields)
    await work.read(lambda engine: engine.conversations.share(conversation_id, shared, user=user), workspace)
    return Json({"id": conversation_id, "owner": user, "shared": shared})


def _shared(fields: dict[str, Any]) -> bool:
    for name in sorted(fields):
        if name not in ShareBody.model_fields:
            raise UnknownField(name, tuple(ShareBody.model_fields))
    shared = fields.get("shared")
    if not isinstance(shared, bool):
        raise InvalidValue("shared must be true or false", hint='send {"shared": true}, or false to end that')
    return shared
