"""The one API: who may call, what it consists of, and how every refusal looks."""

import logging
from typing import Any

import orjson
from django.core.exceptions import RequestDataTooBig
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.parser import Parser
from ninja.renderers import BaseRenderer

from memory_app.api import context, errors, memory, performance, runs
from sessions_app.api import (
    agent_state,
    ai_states,
    events,
    exports,
    flush,
    handoff,
    keys,
    life,
    messages,
    projects,
    resume,
    search,
    sessions,
    transfer,
)
from sessions_app.auth import ApiAuth
from sessions_app.errors import AppError, BadRequest, Invalid, NotFound, TooLarge, Unauthorized
from sessions_app.schemas import strict_json
from sessions_app.store_errors import as_app_error, leave_read_only

logger = logging.getLogger(__name__)
# What operations call the body that they take.
BODY_PARAMETER = "payload"


class StrictParser(Parser):
    """Bodies through the strict reader; what it replaced is remembered for `normalized`, all that was sent for `seq`."""

    def parse_body(self, request: HttpRequest) -> Any:
        value, request.normalized = strict_json.loads(request.body)  # type: ignore[attr-defined]
        request.sent = value  # type: ignore[attr-defined]
        return value


class JsonRenderer(BaseRenderer):
    media_type = "application/json"

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        return orjson.dumps(data)


api = NinjaAPI(
    title="Stillhere",
    version="1",
    urls_namespace="api",
    description="Save a chat while it streams, resume it anywhere. Every refusal: `{error: {code, message, details}}`.",
    auth=ApiAuth(),
    parser=StrictParser(),
    renderer=JsonRenderer(),
)
api.add_router("", resume.router)
api.add_router("/projects", projects.router)
api.add_router("", sessions.router)
api.add_router("/sessions", messages.router)
api.add_router("/sessions", life.router)
api.add_router("/sessions", agent_state.router)
api.add_router("/sessions", ai_states.router)
api.add_router("/sessions", transfer.router)
api.add_router("/projects", handoff.router)
api.add_router("/sessions", flush.router)
api.add_router("", keys.router)
api.add_router("", events.router)
api.add_router("/projects", memory.router)
api.add_router("/projects", runs.router)
api.add_router("/projects", performance.router)
api.add_router("/projects", context.router)
api.add_router("/projects", errors.router)
api.add_router("", search.router)
api.add_router("", exports.router)


def refuse(error: AppError) -> HttpResponse:
    """The one shape of a refusal."""
    reply = HttpResponse(orjson.dumps(error.as_json()), status=error.status, content_type="application/json; charset=utf-8")
    reply["Cache-Control"] = "no-store"
    if error.retry_after is not None:
        reply["Retry-After"] = str(error.retry_after)
    if error.status == Unauthorized.status:
        reply["WWW-Authenticate"] = 'Bearer realm="stillhere"'
    return reply


@api.exception_handler(AppError)
def _expected(request: HttpRequest, error: AppError) -> HttpResponse:
    return refuse(error)


@api.exception_handler(ValidationError)
def _invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """Where and why, never the value: it may be a secret."""
    fields = [{"field": ".".join(_as_sent(item["loc"])), "reason": _reason(item)} for item in error.errors]
    return refuse(Invalid(details={"fields": fields[:20]}))


# In place of what pydantic says of our classes.
_REASONS = {"extra_forbidden": "There is no such field.", "model_type": "A JSON object belongs here."}


def _reason(item: dict[str, Any]) -> str:
    if item["loc"] == ("body", BODY_PARAMETER) and item["type"] == "missing":
        return "Send a JSON object as the request's body."
    return _REASONS.get(item["type"]) or str(item["msg"]).removeprefix("Value error, ")


def _as_sent(location: tuple[str | int, ...]) -> list[str]:
    """The field's place without what only we know: that it was a body, and by which name the code calls it."""
    source, *steps = map(str, location)
    if source != "body" or steps[:1] != [BODY_PARAMETER]:
        return steps
    return steps[1:] or ["body"]


@api.exception_handler(AuthenticationError)
def _unauthenticated(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return refuse(Unauthorized())


@api.exception_handler(Http404)
def _unknown(request: HttpRequest, error: Http404) -> HttpResponse:
    return refuse(NotFound())


@api.exception_handler(RequestDataTooBig)
def _too_large(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return refuse(TooLarge())


@api.exception_handler(HttpError)
def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    # Ninja wraps what the parser raised; the parser's own words say what is wrong.
    cause = error.__cause__ or error.__context__
    return refuse(cause if isinstance(cause, AppError) else BadRequest())


@api.exception_handler(DatabaseError)
def _store_refuses(request: HttpRequest, error: DatabaseError) -> HttpResponse:
    """Full, read-only, busy, not migrated: the store's states are answers; what we do not know is not swallowed."""
    known = as_app_error(error)
    if known is None:
        raise error
    leave_read_only(known)
    logger.warning("the store refused a request: %s (%s)", known.code, type(error).__name__)
    return refuse(known)
