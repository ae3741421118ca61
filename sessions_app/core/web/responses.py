"""Response helpers: JSON bytes, headers, conditional reads."""

from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse

from sessions_app.core.errors import AppError
from sessions_app.core.web.preconditions import STREAMING_MARK, Conditions, tags_of


def refusals(*codes: int) -> dict[int, Any]:
    """For an operation's `response`: its errors besides the common ones (400, 401, 403, 422, 429, 503, 507).

    All share one schema, which `config/api/documentation.py` adds to the document: Ninja would build a model of it for each
    operation and code at every start.
    """
    return dict.fromkeys({400, 401, 403, 422, 429, 503, 507, *codes})


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
    "If-Match",
    "Only over this version: the ETag of a read or save, with its quotes. Another version → 412.",
    examples=['"k3Jd.7"'],
)
IF_NONE_MATCH = _header("If-None-Match", "`*`: only if none exists yet. Else → 412.", enum=["*"])
MUST_BE_NEW = _header("If-None-Match", "Says that the session is meant to be new. Without it → 428.", enum=["*"], required=True)
IDEMPOTENCY_KEY = _header(
    "Idempotency-Key",
    "Instead of `writer_id` and `seq`: any text, unique for each request. A retry within a day gets the stored answer "
    "with `Idempotent-Replayed: true`; a different body under the same key → 422.",
    minLength=1,
    maxLength=255,
    examples=["9b2c1f6e-3d1d-4f1e-8f0e-2a4d7c9b1e55"],
)
RUN = _header(
    "Stillhere-Run", "The run that writes. While another run holds the project's lease → 423 with its holder.", format="uuid"
)


def takes(*headers: dict[str, Any]) -> dict[str, Any]:
    """For an operation's `openapi_extra`: the headers that it reads."""
    return {"parameters": [*headers]}


def without_content(status: int) -> HttpResponse:
    """204 or 304, without the type that Django gives to any content: with it the answer would count as a page."""
    reply = HttpResponse(status=status)
    del reply["Content-Type"]
    return reply


def no_content() -> HttpResponse:
    """204: done, and nothing to say."""
    reply = without_content(204)
    reply["Cache-Control"] = "no-store"
    return reply


def json_reply(content: bytes | dict[str, Any], *, status: int = 200, etag: str | None = None) -> HttpResponse:
    body = content if isinstance(content, bytes) else orjson.dumps(content)
    return HttpResponse(body, status=status, headers=json_headers(etag))


def json_headers(etag: str | None) -> dict[str, str]:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    return headers | ({"Cache-Control": "no-store"} if etag is None else {"Cache-Control": "private, no-cache", "ETag": etag})


def conditions_of(request: HttpRequest) -> Conditions:
    return Conditions(request.headers.get("If-Match", ""), request.headers.get("If-None-Match", ""))


def unchanged(request: HttpRequest, etag: str) -> HttpResponse | None:
    """304 if the client has this version. A response with a streaming message is never unchanged."""
    return unchanged_since(request.headers.get("If-None-Match", ""), etag)


def unchanged_since(known: str, etag: str) -> HttpResponse | None:
    """The same; `known`: the request's `If-None-Match`."""
    if etag not in tags_of(known) or etag.endswith(f'{STREAMING_MARK}"'):
        return None
    reply = without_content(304)
    reply["ETag"], reply["Cache-Control"] = etag, "private, no-cache"
    return reply


def error_reply(error: AppError) -> HttpResponse:
    content = orjson.dumps(error.as_json())
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return HttpResponse(content, status=error.status, headers=headers, content_type="application/json; charset=utf-8")
