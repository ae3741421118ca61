"""The beacon endpoint: `text/plain`, credentials in the body, Origin checked, no response body."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import ValidationError

from sessions_app.chats.beacon.tokens import caller_of_flush_token, create_flush_token
from sessions_app.chats.reading.sessions import session_uuid
from sessions_app.chats.saving.api import changes_of
from sessions_app.chats.saving.schemas import FlushIn, FlushTokenOut
from sessions_app.chats.saving.services import save_changes
from sessions_app.core.callers import caller_of, caller_of_user, login_of
from sessions_app.core.errors import Forbidden, Invalid, TooLarge, Unauthorized, WrongFields
from sessions_app.core.limits.request_limits import check_request
from sessions_app.core.serialization import strict_json
from sessions_app.core.storage.sql import rfc3339
from sessions_app.core.web.csrf import check_csrf
from sessions_app.core.web.responses import json_reply, no_content, refusals
from sessions_app.core.web.schemas import reason_of
from sessions_app.models import Caller

router = Router(tags=["Messages"])
BEACON_BYTES = 60 * 1024


class OriginRefused(Forbidden):
    code, message = "origin_refused", "This origin may not flush. List it in STILLHERE_CORS_ORIGINS."


class NoToken(Unauthorized):
    message = "A beacon has no headers: its body carries `flush_token` (POST …/flush-tokens), or `csrf` beside the login cookie."


class BeaconTooLarge(TooLarge):
    def __init__(self) -> None:
        super().__init__(f"A beacon has at most {BEACON_BYTES} bytes.", details={"limit": BEACON_BYTES})


@router.post("/{session_id}/flush", auth=None, response={204: None, **refusals(404, 410, 413)}, operation_id="flush")
def flush(request: HttpRequest, session_id: str) -> HttpResponse:
    """The same as `changes`, for `navigator.sendBeacon`: the JSON as `text/plain`, with `csrf` (and the login cookie)
    or `flush_token` inside. Always 204 once read: conflicts and late text are kept as copies."""
    if len(request.body) > BEACON_BYTES:
        raise BeaconTooLarge
    body, request.normalized = strict_json.loads(request.body)  # type: ignore[attr-defined]
    if not isinstance(body, dict):
        raise Invalid("A flush is a JSON object.")
    request.sent = body  # type: ignore[attr-defined]
    own_id = session_uuid(session_id)
    caller = _caller(request, body, own_id)
    check_request(request, caller)
    try:
        payload = FlushIn.model_validate(body)
    except ValidationError as error:
        fields = [{"field": ".".join(map(str, item["loc"])), "reason": reason_of(item)} for item in error.errors()]
        raise WrongFields(fields) from None
    changes = changes_of(request, payload, payload.ops, payload.base_rev, payload.opening_step, beacon=True)
    save_changes(caller=caller, session_id=own_id, changes=changes)
    return no_content()


@router.post("/{session_id}/flush-tokens", response={201: FlushTokenOut, **refusals(404, 410)}, operation_id="create_flush_token")
def token(request: HttpRequest, session_id: str) -> HttpResponse:
    """A token for beacons to this session: write only, valid for at most a day."""
    own_id = session_uuid(session_id)
    made, expires_at = create_flush_token(caller=caller_of(request), session_id=own_id, login=login_of(request))
    return json_reply({"flush_token": made, "expires_at": rfc3339(expires_at)}, status=201)


def _caller(request: HttpRequest, body: dict[str, Any], session_id: Any) -> Caller:
    flush_token, csrf = body.get("flush_token"), body.get("csrf")
    if isinstance(flush_token, str):
        _check_origin(request)
        return caller_of_flush_token(token=flush_token, session_id=session_id)
    if not request.user.is_authenticated:
        raise NoToken
    request.META["HTTP_X_CSRFTOKEN"] = csrf if isinstance(csrf, str) else ""
    check_csrf(request)
    return caller_of_user(request.user)


def _check_origin(request: HttpRequest) -> None:
    """Check the Origin that browsers send with a beacon: a flush token works from this server's pages and from listed origins."""
    origin = request.headers.get("Origin")
    if origin is None:
        return
    own = f"{request.scheme}://{request.get_host()}"
    public = urlsplit(settings.PUBLIC_URL)
    if origin not in {own, f"{public.scheme}://{public.netloc}", *settings.CORS_ALLOWED_ORIGINS}:
        raise OriginRefused
