from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.api.caller import caller_of
from sessions_app.api.replies import json_reply, refusals
from sessions_app.auth import CookieAuth
from sessions_app.queries.ids import parse_id
from sessions_app.queries.keys import list_keys
from sessions_app.schemas.keys import KeyIn, KeyList, NewKeyOut, TicketOut, key_json
from sessions_app.services import keys
from sessions_app.services.keys import KeyNotFound

router = Router(tags=["Keys"])
# What a request without a body means.
NO_BODY = KeyIn()


@router.get("/keys", auth=CookieAuth(), response={200: KeyList, **refusals()}, operation_id="list_keys")
def browse(request: HttpRequest) -> HttpResponse:
    """The keys in force (cookie login only)."""
    found = list_keys(caller=caller_of(request))
    return json_reply({"items": [key_json(key) for key in found], "next": None})


@router.post("/keys", auth=CookieAuth(), response={201: NewKeyOut, **refusals()}, operation_id="create_key")
def create(request: HttpRequest, payload: KeyIn = NO_BODY) -> HttpResponse:
    """Make a key; the answer is the only place where it is shown (cookie login only)."""
    made = keys.create_key(
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
    keys.revoke_key(caller=caller_of(request), key_id=parse_id(key_id, KeyNotFound))
    return HttpResponse(status=204)


@router.post("/ws-tickets", response={201: TicketOut, **refusals()}, operation_id="create_ws_ticket")
def ticket(request: HttpRequest) -> HttpResponse:
    """A one-time ticket that opens a socket (`/ws/events/?project=PATH&ticket=…`) for clients that cannot send headers."""
    caller = caller_of(request)
    login = "" if caller.key_id else request.session.session_key or ""
    token, seconds = keys.create_socket_ticket(caller=caller, session_key=login)
    return json_reply({"ticket": token, "expires_in": seconds}, status=201)
