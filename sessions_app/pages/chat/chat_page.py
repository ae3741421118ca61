"""The chat page: an ordinary frontend of the public API and the browser module. Here are only its server-side views."""

import uuid
from collections.abc import Iterator
from typing import Any

import orjson
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from sessions_app.core.errors import AppError, Invalid, Unauthorized
from sessions_app.core.limits.stream_slots import StreamSlot
from sessions_app.core.serialization import strict_json
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.core.web.responses import error_reply
from sessions_app.frontends.app_state.queries import get_app_state
from sessions_app.models.project import PATH_LENGTH
from sessions_app.pages.chat import backends
from sessions_app.pages.chat.backends.endpoint import EndpointFailed
from sessions_app.pages.chat.backends.turn import Turn

CLIENT = "chat"
MOST_TURNS = 200
ROLES = frozenset({"user", "assistant"})


@require_safe
@login_required
def chat(request: HttpRequest) -> HttpResponse:
    """The chat of `?project=PATH`, or of the project opened last."""
    state = get_app_state(caller=signed_in_caller(request), client=CLIENT)
    project = (request.GET.get("project", "").strip() or state.selected_project or "")[:PATH_LENGTH]
    context = {"project": project, "recent": state.recent_projects, "answerer": backends.name()}
    return render(request, "pages/chat/chat.html", context)


@require_POST
def answer(request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """Streams the answer to the sent history as server-sent events, in the AI SDK's message stream format."""
    try:
        if not request.user.is_authenticated:
            raise Unauthorized
        turns, opening_step = _asked(request)
        with StreamSlot(user_id=signed_in_caller(request).user_id) as place:
            pieces = backends.answer(turns=turns, opening_step=opening_step)
            first = next(pieces, "")
            return _stream(place.stream(_events(first, pieces)))
    except AppError as error:
        return error_reply(error)


def _stream(events: Iterator[bytes]) -> StreamingHttpResponse:
    reply = StreamingHttpResponse(events, content_type="text/event-stream")
    reply["Cache-Control"] = "no-store"
    reply["X-Accel-Buffering"] = "no"
    reply["x-vercel-ai-ui-message-stream"] = "v1"
    return reply


def _asked(request: HttpRequest) -> tuple[list[Turn], str]:
    body, _ = strict_json.loads(request.body)
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list) or not messages:
        raise Invalid("`messages` is the history: a list of {role, text}.", details={"field": "messages"})
    turns = [Turn(message["role"], message["text"]) for message in messages[-MOST_TURNS:] if _is_turn(message)]
    step = body.get("opening_step", "")
    return turns, step if isinstance(step, str) else ""


def _is_turn(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") in ROLES and isinstance(message.get("text"), str)


def _events(first: str, pieces: Iterator[str]) -> Iterator[bytes]:
    message_id = str(uuid.uuid4())
    yield _event(type="start", messageId=message_id)
    yield _event(type="text-start", id="text")
    yield _event(type="text-delta", id="text", delta=first)
    try:
        for piece in pieces:
            yield _event(type="text-delta", id="text", delta=piece)
    except EndpointFailed as error:
        yield _event(type="error", errorText=error.message)
        return
    yield _event(type="text-end", id="text")
    yield _event(type="finish", finishReason="stop")
    yield b"data: [DONE]\n\n"


def _event(**content: str) -> bytes:
    return b"data: " + orjson.dumps(content) + b"\n\n"
