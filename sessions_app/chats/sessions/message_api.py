"""Reads one message of a session."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.chats.reading.messages import find_message
from sessions_app.chats.reading.sessions import get_session, session_uuid
from sessions_app.chats.saving.schemas import MessageOut
from sessions_app.core.callers import caller_of
from sessions_app.core.errors import NotFound
from sessions_app.core.web.converters import ANYTHING
from sessions_app.core.web.responses import json_reply, refusals

router = Router(tags=["Messages"])


class MessageNotFound(NotFound):
    kind = "message"
    message = "This session has no such message, or it was removed. List the session's messages, or those that were removed."


@router.get(
    f"/{{session_id}}/messages/{{{ANYTHING}:message}}",
    response={200: MessageOut, **refusals(404, 410)},
    operation_id="get_message",
)
def read(request: HttpRequest, session_id: str, message: str) -> HttpResponse:
    """One live message, as in lists. Its id is percent-encoded in the address."""
    row = get_session(caller=caller_of(request), session_id=session_uuid(session_id))
    found = find_message(session_id=row.id, live=row.live, message_id=message)
    if found is None:
        raise MessageNotFound
    return json_reply(found)
