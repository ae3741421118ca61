"""Responses to requests that never reach Django, with the headers that Django's middleware sets on all others. They are JSON; a
browser that loads a page, or sends a form without a script, gets a page."""

import codecs
import re
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import orjson
from django.conf import settings
from django.core.exceptions import BadRequest as Unreadable
from django.core.exceptions import TooManyFieldsSent
from django.core.handlers.wsgi import WSGIRequest
from django.template.loader import render_to_string
from django.utils.csp import CSP, build_policy

from config.http.middleware import PERMISSIONS_POLICY
from config.http.request_log import Message, Send
from config.server.http_protocol import HEAD_BYTES, MOST_HEADERS
from sessions_app.core.errors import AppError, BadRequest, MethodNotAllowed, TooManyParameters, Unauthorized

# More than these Django cannot read everywhere, although Python knows them by name (`hex`, `idna`).
CHARSETS = {"utf-8", "ascii", "iso8859-1", "cp1252"}
_FOR_PROGRAMS = ("/api/", "/v1/", "/mcp", "/static/")


def request_of(environ: dict[str, Any]) -> WSGIRequest:
    """Raises what Django would fail with: it reads the `Content-Type`, and with a charset also the query, before its handler."""
    try:
        request = WSGIRequest(environ)
        if request.encoding is None or codecs.lookup(request.encoding).name in CHARSETS:
            return request
    except TooManyFieldsSent:
        raise TooManyParameters from None
    except (Unreadable, LookupError, UnicodeError):
        pass
    raise BadRequest("This `Content-Type` cannot be read. Text is sent in UTF-8.")


async def refuse(error: AppError, send: Send, scope: Message) -> None:
    for_page = _is_for_a_page(scope)
    kind = b"text/html; charset=utf-8" if for_page else b"application/json; charset=utf-8"
    headers = [(b"content-type", kind), (b"connection", b"close"), *default_headers(scope, for_page=for_page)]
    # As on pages of errors: what a script shows after sending a form.
    headers.append((b"stillhere-message", quote(error.message).encode()))
    if error.retry_after is not None:
        headers.append((b"retry-after", str(error.retry_after).encode()))
    if error.status == Unauthorized.status:
        headers.append((b"www-authenticate", b'Bearer realm="stillhere"'))
    if error.status == MethodNotAllowed.status:
        headers.append((b"allow", ", ".join(error.details["allow"]).encode()))
    shown = {"error": error, "was_sent": scope["method"] == "POST"}
    content = render_to_string("refused.html", shown).encode() if for_page else orjson.dumps(error.as_json())
    headers.append((b"content-length", str(len(content)).encode()))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _is_for_a_page(scope: Message) -> bool:
    """Browsers ask so for what they show; scripts, also ours, take anything."""
    wanted = next((value for name, value in scope["headers"] if name == b"accept"), b"")
    return bool(wanted.startswith(b"text/html")) and not scope["path"].startswith(_FOR_PROGRAMS)


class HeadTooLarge(AppError):
    status, code = 431, "head_too_large"
    message = f"Address and headers of a request have at most {HEAD_BYTES // 1024} KB, and {MOST_HEADERS} headers. Send less."


def malformed() -> dict[int, tuple[list[tuple[bytes, bytes]], bytes]]:
    """Headers and content of the refusals of what is no HTTP, by status: it has neither an address nor an origin."""
    found = {}
    for error in (BadRequest("This is no valid HTTP request."), HeadTooLarge()):
        content = orjson.dumps(error.as_json())
        headers = [(b"content-type", b"application/json; charset=utf-8"), (b"content-length", b"%d" % len(content))]
        found[error.status] = ([*headers, (b"connection", b"close"), *default_headers({"path": "", "headers": []})], content)
    return found


def default_headers(scope: Message, *, for_page: bool = False) -> list[tuple[bytes, bytes]]:
    """Of every response that Django does not make."""
    return [(b"cache-control", b"no-store"), *_security_headers(for_page=for_page), *_for_other_origins(scope)]


def _security_headers(*, for_page: bool) -> list[tuple[bytes, bytes]]:
    headers = {
        "x-content-type-options": "nosniff",
        "x-frame-options": settings.X_FRAME_OPTIONS,
        "referrer-policy": settings.SECURE_REFERRER_POLICY,
        "cross-origin-opener-policy": settings.SECURE_CROSS_ORIGIN_OPENER_POLICY,
        "content-security-policy": _policy(for_page=for_page),
        "permissions-policy": PERMISSIONS_POLICY,
    }
    if settings.SECURE_HSTS_SECONDS:
        headers["strict-transport-security"] = f"max-age={settings.SECURE_HSTS_SECONDS}; includeSubDomains; preload"
    return [(name.encode(), value.encode()) for name, value in headers.items()]


@lru_cache
def _policy(*, for_page: bool) -> str:
    """The strictest policy: the response has no more than style sheets."""
    nowhere, styles = [CSP.NONE], {"style-src": [CSP.SELF]} if for_page else {}
    kinds = {"default-src": nowhere, **styles, "base-uri": nowhere, "frame-ancestors": nowhere, "form-action": [CSP.SELF]}
    return str(build_policy(kinds))


def _for_other_origins(scope: Message) -> list[tuple[bytes, bytes]]:
    """CORS headers as Django's middleware sets them: a page that may not read a refusal treats the server as unreachable."""
    if not re.match(settings.CORS_URLS_REGEX, scope["path"]):
        return []
    origin = next((value for name, value in scope["headers"] if name == b"origin"), b"")
    if origin.decode("latin-1") not in settings.CORS_ALLOWED_ORIGINS:
        return [(b"vary", b"origin")]
    exposed = ", ".join(settings.CORS_EXPOSE_HEADERS).encode()
    return [(b"vary", b"origin"), (b"access-control-allow-origin", origin), (b"access-control-expose-headers", exposed)]
