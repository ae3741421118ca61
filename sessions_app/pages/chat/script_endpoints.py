"""Endpoints for the chat page's scripts besides the API: messages rendered as HTML, names of sessions, and who is signed in."""

from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from sessions_app.chats.reading.messages import Page
from sessions_app.chats.reading.session_previews import session_names
from sessions_app.core.errors import AppError, Invalid, TooLarge, Unauthorized
from sessions_app.core.id_parsing import uuid_or_none
from sessions_app.core.rendering.page_renderer import PageRenderer
from sessions_app.core.serialization import strict_json
from sessions_app.core.storage.sql import rfc3339
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.core.web.responses import error_reply
from sessions_app.models.message import ROLES, TEXT_LENGTH
from sessions_app.models.times import now
from sessions_app.pages.session.transcript import shown

MOST_MESSAGES, MOST_NAMES = 20, 200


@require_POST
def words(request: HttpRequest) -> HttpResponse:
    """Renders the sent messages as the session's page shows them, in order. Reads and stores nothing."""
    try:
        if not request.user.is_authenticated:
            raise Unauthorized
        page = Page(_sent(request), [], more=False)
        renderer = PageRenderer(signed_in_caller(request).user_id)
    except AppError as error:
        return error_reply(error)
    articles = [
        render_to_string("pages/session/_message.html", {"message": message})
        for message in shown(page, renderer, fold_results=False)
    ]
    reply = HttpResponse(orjson.dumps({"articles": articles}), content_type="application/json; charset=utf-8")
    reply["Cache-Control"] = "no-store"
    return reply


@require_safe
@never_cache
def sign_in_state(request: HttpRequest) -> HttpResponse:
    """The signed-in user, and the CSRF token for forms (each login has a new one). 401 if nobody is signed in."""
    if not request.user.is_authenticated:
        return error_reply(Unauthorized())
    return JsonResponse({"user": str(request.user.pk), "csrf": get_token(request)})


@require_safe
@never_cache
def names(request: HttpRequest) -> HttpResponse:
    """What pages call the sessions `?of=`: `{names: {id: name}}`. Without those that are not the user's."""
    if not request.user.is_authenticated:
        return error_reply(Unauthorized())
    ids = {session_id for text in request.GET.get("of", "").split(",")[:MOST_NAMES] if (session_id := uuid_or_none(text))}
    found = session_names(caller=signed_in_caller(request), session_ids=ids)
    return JsonResponse({"names": {str(session_id): name for session_id, name in found.items()}})


def _sent(request: HttpRequest) -> list[dict[str, Any]]:
    body, _ = strict_json.loads(request.body)
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list) or not all(_is_message(message) for message in messages):
        raise Invalid("`messages` is a list of {role, text, parts}.", details={"field": "messages"})
    if len(messages) > MOST_MESSAGES:
        raise TooLarge(f"At most {MOST_MESSAGES} messages in one request.", details={"limit": MOST_MESSAGES})
    at = rfc3339(now())
    return [_item(message, number, at) for number, message in enumerate(messages)]


def _is_message(message: Any) -> bool:
    match message:
        case {"role": str(role), "text": str(text), **others} if role in ROLES and len(text) <= TEXT_LENGTH:
            parts = others.get("parts") or []
            return isinstance(parts, list) and all(isinstance(part, dict) for part in parts)
    return False


def _item(message: dict[str, Any], number: int, at: str) -> dict[str, Any]:
    parts = message.get("parts") or [{"type": "text", "text": message["text"]}]
    shape = {"id": str(number), "role": message["role"], "text": message["text"], "parts": parts}
    return {**shape, "status": "complete", "position": number, "created_at": at}
