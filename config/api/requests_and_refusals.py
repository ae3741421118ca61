"""What every API of ours has: strict bodies, JSON, and the format of refusals."""

import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import orjson
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.parser import Parser
from ninja.renderers import BaseRenderer

from sessions_app.core.errors import AppError, BadRequest, NotFound, TooLarge, TooManyParameters, Unauthorized, WrongFields
from sessions_app.core.serialization import strict_json
from sessions_app.core.storage.database_errors import as_app_error, leave_read_only, tell_refusal
from sessions_app.core.web.schemas import reason_of

# The name of the body parameter in operations.
BODY_PARAMETER = "payload"
type Location = tuple[str | int, ...]
# What pydantic puts into a location where a field may be of several types: the type that it tried.
_TRIED = re.compile(r"constrained-\w+|str|(?:list|dict)\[.*\]")


class StrictParser(Parser):
    """Parses bodies strictly. Keeps the replaced paths for `normalized`, and the sent value for comparing retries."""

    def parse_body(self, request: HttpRequest) -> Any:
        value, request.normalized = strict_json.loads(request.body)  # type: ignore[attr-defined]
        request.sent = value  # type: ignore[attr-defined]
        return value


class JsonRenderer(BaseRenderer):
    media_type = "application/json"

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        return orjson.dumps(data)


def refuse(error: AppError) -> HttpResponse:
    """Returns the response for an error, in the format of all refusals."""
    reply = HttpResponse(orjson.dumps(error.as_json()), status=error.status, content_type="application/json; charset=utf-8")
    reply["Cache-Control"] = "no-store"
    if error.retry_after is not None:
        reply["Retry-After"] = str(error.retry_after)
    if error.status == Unauthorized.status:
        reply["WWW-Authenticate"] = 'Bearer realm="stillhere"'
    return reply


def _expected(request: HttpRequest, error: AppError) -> HttpResponse:
    return refuse(error)


def _invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """Returns field and reason, never the value: it may be a secret."""
    fields = [{"field": ".".join(_as_sent(item["loc"])), "reason": _reason(item)} for item in _of_the_type_sent(error.errors)]
    return refuse(WrongFields(fields))


def _of_the_type_sent(errors: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where a field may be of several types, pydantic says of each what is wrong with it. Those that were not sent are left out,
    unless none was, and so are the types in locations: no client sent them."""
    unions, sent = _unions_of(errors), set[Location]()
    kept: list[tuple[Location | None, dict[str, Any]]] = []
    for item in errors:
        location: Location = item["loc"]
        places = [place for place in range(len(location)) if location[:place] in unions]
        shown = {**item, "loc": tuple(step for place, step in enumerate(location) if place not in places)}
        if not places:
            kept.append((None, item))
        elif places[0] == len(location) - 1 and item["type"].endswith("_type"):
            kept.append((location[: places[0]], shown))
        else:
            sent.add(location[: places[0]])
            kept.append((None, shown))
    return [item for other_type, item in kept if other_type not in sent]


def _unions_of(errors: list[dict[str, Any]]) -> set[Location]:
    """Locations of fields of which several types were tried. A client's own field may be called like one of them."""
    tried = defaultdict[Location, set[str]](set)
    for item in errors:
        for place, step in enumerate(item["loc"]):
            if isinstance(step, str) and _TRIED.fullmatch(step):
                tried[item["loc"][:place]].add(step)
    return {location for location, steps in tried.items() if len(steps) > 1}


def _reason(item: dict[str, Any]) -> str:
    if item["loc"] == ("body", BODY_PARAMETER) and item["type"] == "missing":
        return "Send a JSON object as the request's body."
    return reason_of(item)


def _as_sent(location: Location) -> list[str]:
    """Returns the field's path as the client sent it, without Ninja's source and the parameter name."""
    source, *steps = map(str, location)
    if source != "body" or steps[:1] != [BODY_PARAMETER]:
        return steps
    return steps[1:] or ["body"]


def _unauthenticated(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return refuse(Unauthorized())


def _unknown(request: HttpRequest, error: Http404) -> HttpResponse:
    return refuse(NotFound())


def _too_large(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return refuse(TooLarge())


def _too_many_parameters(request: HttpRequest, error: TooManyFieldsSent) -> HttpResponse:
    return refuse(TooManyParameters())


def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    # Ninja wraps the parser's error, whose own message says what is wrong.
    cause = error.__cause__ or error.__context__
    return refuse(cause if isinstance(cause, AppError) else BadRequest())


def _store_refuses(request: HttpRequest, error: DatabaseError | OSError) -> HttpResponse:
    """Known states of the store (full, read-only, busy, not migrated) become refusals; other errors are raised."""
    known = as_app_error(error)
    if known is None:
        raise error
    leave_read_only(known)
    tell_refusal("request", known, error)
    return refuse(known)


def add_refusals(api: NinjaAPI) -> None:
    """Errors of its operations become responses in the format of all refusals."""
    handlers: dict[type[Exception], Callable[[HttpRequest, Any], HttpResponse]] = {
        AppError: _expected,
        ValidationError: _invalid,
        AuthenticationError: _unauthenticated,
        Http404: _unknown,
        RequestDataTooBig: _too_large,
        TooManyFieldsSent: _too_many_parameters,
        HttpError: _http_error,
        DatabaseError: _store_refuses,
        OSError: _store_refuses,
    }
    for kind, handler in handlers.items():
        api.add_exception_handler(kind, handler)
