"""The API: authentication, routers, and the format of refusals."""

import logging
from typing import Any

import orjson
from django.core.exceptions import RequestDataTooBig
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.parser import Parser
from ninja.renderers import BaseRenderer

from config.api.query_parameters import StrictApi
from memory_app.checkpoints import api as checkpoint_api
from memory_app.checkpoints import thread_api
from memory_app.context import api as context_api
from memory_app.errors import api as error_api
from memory_app.key_value.batches import api as batch_api
from memory_app.key_value.entries import api as entry_api
from memory_app.key_value.namespaces import api as namespace_api
from memory_app.performance import api as performance_api
from memory_app.portability.folder import api as _folder_api  # noqa: F401 - adds operations to the router of its path
from memory_app.runs import api as run_api
from sessions_app.accounts import api as account_api
from sessions_app.accounts.authentication import ApiAuth
from sessions_app.agents.handoff import api as handoff_api
from sessions_app.agents.states import agent_state_api, ai_state_api
from sessions_app.agents.transfer import api as transfer_api
from sessions_app.chats.beacon import api as beacon_api
from sessions_app.chats.files import api as file_api
from sessions_app.chats.lifecycle import api as lifecycle_api
from sessions_app.chats.lifecycle import move_api
from sessions_app.chats.lifecycle import project_deletion_api as _project_deletion_api  # noqa: F401 - adds operations to the router of its path
from sessions_app.chats.lifecycle import session_deletion_api as _session_deletion_api  # noqa: F401 - adds operations to the router of its path
from sessions_app.chats.saving import api as saving_api
from sessions_app.chats.search import api as search_api
from sessions_app.chats.sessions import api as session_api
from sessions_app.chats.sessions import list_api as _list_api  # noqa: F401 - adds operations to the router of its path
from sessions_app.chats.sessions import message_api
from sessions_app.core.errors import AppError, BadRequest, NotFound, TooLarge, Unauthorized, WrongFields
from sessions_app.core.extension import extensions
from sessions_app.core.serialization import strict_json
from sessions_app.core.storage.database_errors import as_app_error, leave_read_only
from sessions_app.core.web.schemas import reason_of
from sessions_app.events import api as event_api
from sessions_app.frontends.app_state import api as app_state_api
from sessions_app.frontends.resume import api as resume_api
from sessions_app.portability.exports import api as export_api
from sessions_app.portability.imports import api as import_api
from sessions_app.portability.imports import upload_api as _upload_api  # noqa: F401 - adds operations to the router of its path
from sessions_app.projects import api as project_api

logger = logging.getLogger(__name__)
# The name of the body parameter in operations.
BODY_PARAMETER = "payload"


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


api = StrictApi(
    title="Stillhere",
    version="1",
    urls_namespace="api",
    description="Save a chat while it streams, resume it anywhere. Every refusal: `{error: {code, message, details}}`.",
    auth=ApiAuth(),
    parser=StrictParser(),
    renderer=JsonRenderer(),
)
api.add_router("", resume_api.router)
api.add_router("", app_state_api.router)
api.add_router("/projects", project_api.router)
api.add_router("", session_api.router)
api.add_router("/sessions", saving_api.router)
api.add_router("/sessions", message_api.router)
api.add_router("", file_api.router)
api.add_router("/sessions", lifecycle_api.router)
api.add_router("/sessions", agent_state_api.router)
api.add_router("/sessions", ai_state_api.router)
api.add_router("/sessions", transfer_api.router)
api.add_router("/sessions", move_api.router)
api.add_router("/projects", handoff_api.router)
api.add_router("/sessions", beacon_api.router)
api.add_router("", account_api.router)
api.add_router("", event_api.router)
api.add_router("/projects", batch_api.router)
api.add_router("/projects", entry_api.router)
api.add_router("/projects", namespace_api.router)
api.add_router("/projects", thread_api.router)
api.add_router("/projects", checkpoint_api.router)
api.add_router("/projects", run_api.router)
api.add_router("/projects", performance_api.router)
api.add_router("/projects", context_api.router)
api.add_router("/projects", error_api.router)
api.add_router("", search_api.router)
api.add_router("", export_api.router)
api.add_router("", import_api.router)
for _extension in extensions():
    for _prefix, _router in _extension.routers:
        api.add_router(_prefix, _router)


def refuse(error: AppError) -> HttpResponse:
    """Returns the response for an error, in the format of all refusals."""
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
    """Returns field and reason, never the value: it may be a secret."""
    fields = [{"field": ".".join(_as_sent(item["loc"])), "reason": _reason(item)} for item in error.errors]
    return refuse(WrongFields(fields))


def _reason(item: dict[str, Any]) -> str:
    if item["loc"] == ("body", BODY_PARAMETER) and item["type"] == "missing":
        return "Send a JSON object as the request's body."
    return reason_of(item)


def _as_sent(location: tuple[str | int, ...]) -> list[str]:
    """Returns the field's path as the client sent it, without Ninja's source and the parameter name."""
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
    # Ninja wraps the parser's error, whose own message says what is wrong.
    cause = error.__cause__ or error.__context__
    return refuse(cause if isinstance(cause, AppError) else BadRequest())


@api.exception_handler(DatabaseError)
def _store_refuses(request: HttpRequest, error: DatabaseError) -> HttpResponse:
    """Known states of the store (full, read-only, busy, not migrated) become refusals; other errors are raised."""
    known = as_app_error(error)
    if known is None:
        raise error
    leave_read_only(known)
    logger.warning("the store refused a request: %s (%s)", known.code, type(error).__name__)
    return refuse(known)
