"""Who may open a socket, to what: by a one-time ticket, by a bearer key, or by the login cookie from our own origin."""

import uuid
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.http import parse_cookie
from django.http.request import split_domain_port, validate_host
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from sessions_app.accounts.api_keys import use_socket_ticket
from sessions_app.accounts.authentication import caller_of_header
from sessions_app.accounts.login_store import SessionStore
from sessions_app.core.callers import caller_of_user
from sessions_app.core.text import login_hash
from sessions_app.events.listener_queries import Admission
from sessions_app.models import ApiKey, Caller, Login, SocketTicket
from sessions_app.models.credentials import READ
from sessions_app.projects.queries import find_project_head

CLOSE_UNAUTHENTICATED, CLOSE_UNKNOWN = 4401, 4404
PORTS = {"http": 80, "https": 443}


class Refused(Exception):
    """The socket is closed with this code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


@dataclass(frozen=True, slots=True)
class Handshake:
    """What a client said when it asked for a socket."""

    scheme: str
    query: dict[str, str]
    headers: dict[str, str]

    @classmethod
    def take(cls, scope: MutableMapping[str, Any]) -> "Handshake":
        """Takes the secrets out of the ASGI scope: a ticket must not get into a log, and a socket lives long."""
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        scope["query_string"], scope["headers"] = b"", []
        scheme = "https" if scope.get("scheme") == "wss" else "http"
        return cls(scheme, {name: values[-1].replace("\0", "\ufffd") for name, values in query.items()}, headers)


def admit(handshake: Handshake) -> Admission:
    """Returns the caller and their project, or raises Refused. With a ticket or a key the cookie is ignored."""
    caller, session_key, mark = _caller(handshake)
    if READ not in caller.scopes:
        raise Refused(CLOSE_UNAUTHENTICATED, "this key lacks the scope `read`")
    project = find_project_head(caller=caller, name=handshake.query.get("project", ""))
    if project is None:
        raise Refused(CLOSE_UNKNOWN, "unknown project")
    return Admission(caller, project.id, project.path, session_key, mark)


def _caller(handshake: Handshake) -> tuple[Caller, str | None, int]:
    if "ticket" in handshake.query:
        return _by_ticket(handshake.query["ticket"])
    header = handshake.headers.get("authorization", "")
    if header:
        caller = caller_of_header(header)
        if caller is None:
            raise Refused(CLOSE_UNAUTHENTICATED, "this key is not valid")
        return caller, None, 0
    return _by_cookie(handshake)


def _by_ticket(ticket: str) -> tuple[Caller, str | None, int]:
    found = use_socket_ticket(token=ticket)
    if found is None:
        raise Refused(CLOSE_UNAUTHENTICATED, "this ticket was used or is too old")
    if found.key_id is not None:
        return _caller_of_key_id(found.user_id, found.key_id), None, 0
    user = get_user_model().objects.filter(pk=found.user_id, is_active=True).first()
    if user is None:
        raise Refused(CLOSE_UNAUTHENTICATED, "this account is not active")
    if found.session_key and not _has_login(found, user.get_session_auth_hash()):
        raise Refused(CLOSE_UNAUTHENTICATED, "the login that asked for this ticket has ended")
    return caller_of_user(user), found.session_key or None, hash(user.password)


def _has_login(ticket: SocketTicket, password_mark: str) -> bool:
    """A login's row may outlive a change of the password; the login itself does not."""
    lasts = Login.objects.filter(session_key=ticket.session_key, expire_date__gt=timezone.now()).exists()
    return lasts and constant_time_compare(ticket.password_mark or "", password_mark)


def _caller_of_key_id(user_id: int, key_id: uuid.UUID) -> Caller:
    key = ApiKey.objects.usable().select_related("user").filter(id=key_id, user_id=user_id).first()
    if key is None:
        raise Refused(CLOSE_UNAUTHENTICATED, "this key is not valid")
    return Caller(user_id, key.user.get_username(), key.id, key.name or "key", frozenset(key.scope_list), key.project_id)


def _by_cookie(handshake: Handshake) -> tuple[Caller, str | None, int]:
    """Browsers send cookies with requests of any page, so the page's origin must be ours, including the port."""
    session_key = parse_cookie(handshake.headers.get("cookie", "")).get(settings.SESSION_COOKIE_NAME)
    if not session_key:
        raise Refused(CLOSE_UNAUTHENTICATED, "sign in, or open the socket with a ticket")
    if not is_own_origin(handshake):
        raise Refused(CLOSE_UNAUTHENTICATED, "this page's origin may not open a socket with a cookie")
    session = SessionStore(session_key)
    user = get_user_model().objects.filter(pk=session.get(SESSION_KEY, 0), is_active=True).first()
    if user is None or not constant_time_compare(session.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash()):
        raise Refused(CLOSE_UNAUTHENTICATED, "sign in again")
    return caller_of_user(user), login_hash(session_key), hash(user.password)


def is_own_origin(handshake: Handshake) -> bool:
    """The Origin equals the public address, or the requested address if that is one of our hosts."""
    origin = _origin(handshake.headers.get("origin", ""))
    if origin is None:
        return False
    if origin == _origin(settings.PUBLIC_URL):
        return True
    host = handshake.headers.get("host", "")
    domain, _ = split_domain_port(host)
    return (
        bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS) and origin == _origin(f"{scheme_of(handshake)}://{host}")
    )


def scheme_of(handshake: Handshake) -> str:
    """A proxy may terminate TLS for us; the trusted header says so."""
    trusted: tuple[str, str] | None = getattr(settings, "SECURE_PROXY_SSL_HEADER", None)
    if trusted is not None:
        name, value = trusted
        said = handshake.headers.get(name.removeprefix("HTTP_").replace("_", "-").lower(), "")
        return "https" if said.split(",")[0].strip() == value else handshake.scheme
    return handshake.scheme


def _origin(url: str) -> tuple[str, str, int] | None:
    """Scheme, host and port; None for `null` and anything that is not an origin."""
    try:
        parts = urlsplit(url.lower())
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return None
    if not parts.hostname or port is None:
        return None
    return parts.scheme, parts.hostname, port
