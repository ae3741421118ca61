"""Answers made once: JSON bytes, headers, conditional reads."""

from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse

from sessions_app.queries.windows import STREAMING_MARK
from sessions_app.schemas.common import Error
from sessions_app.services.conditions import Conditions, tags_of


def refusals(*codes: int) -> dict[int, Any]:
    """For an operation's `response`: the refusals it may give besides those that any may (400, 401, 403, 422, 429, 503, 507)."""
    return dict.fromkeys({400, 401, 403, 422, 429, 503, 507, *codes}, Error)


def _header(name: str, description: str, **schema: Any) -> dict[str, Any]:
    required = schema.pop("required", False)
    return {
        "in": "header",
        "name": name,
        "required": required,
        "description": description,
        "schema": {"type": "string", **schema},
    }


IF_MATCH = _header(
    "If-Match", "Only over this version: the ETag of a read or save, with its quotes. Another one → 412.", examples=['"k3Jd.7"']
)
IF_NONE_MATCH = _header("If-None-Match", "`*`: only where there is none yet. Else → 412.", enum=["*"])
MUST_BE_NEW = _header("If-None-Match", "Says that the session is meant to be new. Without it → 428.", enum=["*"], required=True)
RUN = _header(
    "Stillhere-Run", "The run that writes. While another one holds the project's lease → 423 with its holder.", format="uuid"
)


def takes(*headers: dict[str, Any]) -> dict[str, Any]:
    """For an operation's `openapi_extra`: the headers that it reads."""
    return {"parameters": [*headers]}


def json_reply(content: bytes | dict[str, Any], *, status: int = 200, etag: str | None = None) -> HttpResponse:
    body = content if isinstance(content, bytes) else orjson.dumps(content)
    reply = HttpResponse(body, status=status, content_type="application/json; charset=utf-8")
    reply["Cache-Control"] = "no-store" if etag is None else "private, no-cache"
    if etag is not None:
        reply["ETag"] = etag
    return reply


def conditions_of(request: HttpRequest) -> Conditions:
    return Conditions(request.headers.get("If-Match", ""), request.headers.get("If-None-Match", ""))


def unchanged(request: HttpRequest, etag: str) -> HttpResponse | None:
    """304 where the client has this very version. An answer that carries a streaming message is never unchanged."""
    if etag not in tags_of(request.headers.get("If-None-Match", "")) or etag.endswith(f'{STREAMING_MARK}"'):
        return None
    reply = HttpResponse(status=304)
    reply["ETag"], reply["Cache-Control"] = etag, "private, no-cache"
    return reply
