"""An OpenAI-compatible endpoint, streamed."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException

import orjson
from django.conf import settings

from sessions_app.answering.turns import Turn
from sessions_app.errors import AppError

TIMEOUT_SECONDS = 60
_TASKS = {
    "plan": "Turn what was said into a short numbered plan, then help to refine it.",
    "": "Help to think an idea through: ask one good question at a time.",
}


class EndpointFailed(AppError):
    status, code, message = 502, "endpoint_failed", "The configured chat endpoint did not answer. See STILLHERE_CHAT_URL."


def answer(*, turns: list[Turn], opening_step: str) -> Iterator[str]:
    task = _TASKS.get(opening_step, _TASKS[""])
    messages = [{"role": "system", "content": task}, *({"role": turn.role, "content": turn.text} for turn in turns)]
    try:
        with urllib.request.urlopen(_request(messages), timeout=TIMEOUT_SECONDS) as lines:  # noqa: S310 settings admit http(s) only
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
    """The text in one line of the stream; lines of other shapes have none. Raises ValueError for what is no JSON, or an error."""
    if not line.startswith(b"data:") or line.endswith(b"[DONE]"):
        return ""
    match orjson.loads(line[5:]):
        case {"choices": [{"delta": {"content": str(piece)}}, *_]}:
            return piece
        case {"error": _}:
            raise ValueError("the endpoint sent an error")
    return ""
