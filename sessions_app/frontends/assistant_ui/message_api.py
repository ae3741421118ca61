"""Messages of threads, for the client `assistant-cloud`."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app.chats.reading.sessions import SessionRow
from sessions_app.core.web.converters import ANYTHING
from sessions_app.core.web.responses import json_reply, no_content, refusals
from sessions_app.frontends.assistant_ui import messages
from sessions_app.frontends.assistant_ui.api import limited_caller
from sessions_app.frontends.assistant_ui.schemas import (
    CloudFeedbackOut,
    CloudMessageList,
    CloudMessageMade,
    FeedbackIn,
    MessageContent,
    MessageIn,
    MessagesToDelete,
)
from sessions_app.frontends.assistant_ui.services import find_thread
from sessions_app.models import Caller

router = Router(tags=["assistant-ui"])
MESSAGES = "/threads/{thread}/messages"
MESSAGE = f"{MESSAGES}/{{{ANYTHING}:message}}"
LIMIT: int = Query(200, ge=1, le=500)  # type: ignore[type-arg]
FORMAT: str | None = Query(None, alias="format")  # type: ignore[type-arg]


def _place(request: HttpRequest, thread: str) -> tuple[Caller, SessionRow]:
    caller = limited_caller(request)
    return caller, find_thread(caller=caller, thread=thread)


@router.get(MESSAGES, response={200: CloudMessageList, **refusals(404, 410)}, operation_id="list_cloud_messages")
def browse(
    request: HttpRequest, thread: str, form: str | None = FORMAT, after: str | None = None, limit: int = LIMIT
) -> HttpResponse:
    """Newest first, of all branches. `after`: the last message of the former page."""
    _, row = _place(request, thread)
    return json_reply({"messages": messages.list_rows(thread=row, form=form, after=after, limit=limit)})


@router.post(MESSAGES, response={200: CloudMessageMade, **refusals(404, 410, 413)}, operation_id="create_cloud_message")
def create(request: HttpRequest, thread: str, payload: MessageIn) -> HttpResponse:
    caller, row = _place(request, thread)
    new = messages.NewMessage(
        payload.format, payload.content, payload.external_id, payload.parent_id or payload.parent_external_id
    )
    return json_reply({"message_id": messages.create_message(caller=caller, thread=row, new=new)})


@router.delete(MESSAGES, response={204: None, **refusals(404, 410)}, operation_id="delete_cloud_messages")
def delete(request: HttpRequest, thread: str, payload: MessagesToDelete) -> HttpResponse:
    caller, row = _place(request, thread)
    messages.delete_messages(caller=caller, thread=row, ids=payload.message_ids)
    return no_content()


@router.post(
    f"{MESSAGE}/feedback", response={200: CloudFeedbackOut, **refusals(404, 410)}, operation_id="give_cloud_message_feedback"
)
def give_feedback(request: HttpRequest, thread: str, message: str, payload: FeedbackIn) -> HttpResponse:
    """Kept in the message's metadata; the newest one counts."""
    caller, row = _place(request, thread)
    feedback = payload.model_dump(exclude_none=True)
    number = messages.keep_feedback(caller=caller, thread=row, message_id=message, feedback=feedback)
    return json_reply({"feedback_id": number, "type": payload.type, "comment": payload.comment})


@router.put(MESSAGE, response={204: None, **refusals(404, 410, 413)}, operation_id="update_cloud_message")
def update(request: HttpRequest, thread: str, message: str, payload: MessageContent) -> HttpResponse:
    caller, row = _place(request, thread)
    messages.update_message(caller=caller, thread=row, message_id=message, content=payload.content)
    return no_content()
