from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.accounts import api_keys
from sessions_app.accounts.api_keys import KeyNotFound
from sessions_app.accounts.authentication import CookieAuth
from sessions_app.accounts.queries import list_keys
from sessions_app.accounts.schemas import KeyIn, KeyList, NewKeyOut, TicketOut, key_json
from sessions_app.accounts.users import account_name
from sessions_app.core.callers import caller_of, login_of
from sessions_app.core.id_parsing import parse_id
from sessions_app.core.limits import rate_limits
from sessions_app.core.web.responses import json_reply, no_content, refusals

router = Router(tags=["Keys"])
# Defaults for a request without a body.
NO_BODY = KeyIn()


@router.get("/keys", auth=CookieAuth(), response={200: KeyList, **refusals()}, operation_id="list_keys")
def browse(request: HttpRequest) -> HttpResponse:
    """The keys in force (cookie login only)."""
    found = list_keys(caller=caller_of(request))
    return json_reply({"items": [key_json(key) for key in found], "next": None})


@router.post("/keys", auth=CookieAuth(), response={201: NewKeyOut, **refusals()}, operation_id="create_key")
def create(request: HttpRequest, payload: KeyIn = NO_BODY) -> HttpResponse:
    """Create a key; only this response shows it (cookie login only)."""
    made = api_keys.create_key(
        caller=caller_of(request),
        name=payload.name,
        scopes=tuple(payload.scopes),
        project_path=payload.project,
        days=payload.days,
    )
    return json_reply({**key_json(made.row), "key": made.secret}, status=201)


@router.delete("/keys/{key_id}", auth=CookieAuth(), response={204: None, **refusals(404)}, operation_id="revoke_key")
def revoke(request: HttpRequest, key_id: str) -> HttpResponse:
    """Revoke a key: the next request with it is refused (cookie login only)."""
    api_keys.revoke_key(caller=caller_of(request), key_id=parse_id(key_id, KeyNotFound))
    return no_content()


@router.post("/ws-tickets", response={201: TicketOut, **refusals()}, operation_id="create_ws_ticket")
def ticket(request: HttpRequest) -> HttpResponse:
    """A one-time ticket that opens a socket (`/ws/events/?project=PATH&ticket=…`) for clients that cannot send headers."""
    caller = caller_of(request)
    rate_limits.spend(caller=caller, what="socket tickets", limit=settings.RATE_TICKETS)
    token, seconds = api_keys.create_socket_ticket(caller=caller, login=login_of(request))
    account = account_name(user_id=caller.user_id)
    return json_reply({"ticket": token, "expires_in": seconds, "account": account}, status=201)
