"""An OpenAI-compatible endpoint, streamed."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException

import orjson
from django.conf import settings

from sessions_app.core.errors import AppError
from sessions_app.pages.chat.backends.turn import Turn

TIMEOUT_SECONDS = 60
_TASKS = {
    "plan": "Turn what was said into a short numbered plan, then help to refine it.",
    "": "Help to think an idea through: ask one good question at a time.",
}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Treats a redirect as an error, so that the key is never sent to another server."""

    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


class EndpointFailed(AppError):
    status, code, message = 502, "endpoint_failed", "The configured chat endpoint did not answer. See STILLHERE_CHAT_URL."


def answer(*, turns: list[Turn], opening_step: str) -> Iterator[str]:
    task = _TASKS.get(opening_step, _TASKS[""])
    messages = [{"role": "system", "content": task}, *({"role": turn.role, "content": turn.text} for turn in turns)]
    try:
        with _OPENER.open(_request(messages), timeout=TIMEOUT_SECONDS) as lines:
            for line in lines:
                if piece := _piece(line.strip()):
                    yield piece
    except (OSError, HTTPException, ValueError) as error:
        reason = f"HTTP {error.code}" if isinstance(error, urllib.error.HTTPError) else type(error).__name__
        raise EndpointFailed(details={"reason": reason}) from error


def _request(messages: list[dict[str, str]]) -> urllib.request.Request:
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    if settings.CHAT_KEY:
        headers["Authorization"] = f"Bearer {settings.CHAT_KEY}"
    body = orjson.dumps({"model": settings.CHAT_MODEL, "messages": messages, "stream": True})
    return urllib.request.Request(f"{settings.CHAT_URL}/chat/completions", body, headers)  # noqa: S310


def _piece(line: bytes) -> str:
    """The text in one line of the stream; empty for other lines. Raises ValueError for invalid JSON or an error message."""
    if not line.startswith(b"data:") or line.endswith(b"[DONE]"):
        return ""
    match orjson.loads(line[5:]):
        case {"choices": [{"delta": {"content": str(piece)}}, *_]}:
            return piece
        case {"error": _}:
            raise ValueError("the endpoint sent an error")
    return ""
