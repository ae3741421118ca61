"""Who is calling: a bearer key, or the login cookie together with its CSRF token."""

import hashlib
import logging
import time
import uuid
from functools import lru_cache
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth import get_user_model
from django.http import HttpRequest

from sessions_app.accounts import api_keys
from sessions_app.core.callers import caller_of_user
from sessions_app.core.errors import Forbidden, NotFound, Unauthorized
from sessions_app.core.limits.request_limits import announced_by, check_request
from sessions_app.core.storage.sql import as_uuid, db_time, fetch_row
from sessions_app.core.text import login_hash
from sessions_app.core.web.csrf import check_account, check_csrf
from sessions_app.events.listener_queries import Admission
from sessions_app.models import ApiKey, Caller
from sessions_app.models.credentials import READ, WRITE
from sessions_app.models.times import now

BEARER = "bearer "
USED_EVERY_SECONDS = 60
_FIND = """
SELECT k.id, k.name, k.scopes, k.project_id, u.id, u.username
FROM sessions_app_apikey k JOIN auth_user u ON u.id = k.user_id
WHERE k.key_sha256 = %s AND k.revoked_at IS NULL AND u.is_active AND (k.expires_at IS NULL OR k.expires_at > %s)
"""
_noted_at: dict[uuid.UUID, float] = {}
logger = logging.getLogger(__name__)


class MissingScope(Forbidden):
    code = "missing_scope"

    def __init__(self, scope: str) -> None:
        super().__init__(f"This key lacks the scope `{scope}`. Use a key that has it.", details={"scope": scope})


class CookieOnly(Forbidden):
    code, message = "cookie_login_only", "Keys cannot manage keys. Sign in, and do it on the page /keys/."


def caller_of_key(secret: str) -> Caller | None:
    """The caller of a usable key, else None. Not cached, so that a revocation takes effect at once."""
    digest = hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
    found = fetch_row(_FIND, [digest, db_time(now())])
    if found is None:
        return None
    caller = _caller_of_row(*found)
    _note_use(caller)
    return caller


@lru_cache(maxsize=10_000)  # Rows are read for each request, and mostly say the same.
def _caller_of_row(key_id: Any, name: str, scopes: str, project_id: Any, user_id: int, username: str) -> Caller:
    return Caller(user_id, username, as_uuid(key_id), name or "key", frozenset(scopes.split(",")), as_uuid(project_id))


def caller_of_key_id(key_id: uuid.UUID) -> Caller | None:
    """As `caller_of_key`, for work that carries the key's id and not the key."""
    key = ApiKey.objects.usable().select_related("user").filter(id=key_id).first()
    if key is None:
        return None
    scopes = frozenset(key.scopes.split(","))
    return Caller(key.user_id, key.user.get_username(), key.id, key.name or "key", scopes, key.project_id)


def caller_of_header(authorization: str) -> Caller | None:
    """Whose key `Bearer sh_…` is; None for any other header. A scheme's name is the same in any case."""
    scheme, secret = authorization[: len(BEARER)], authorization[len(BEARER) :]
    return caller_of_key(secret.strip()) if scheme.lower() == BEARER else None


def caller_named(username: str) -> Caller:
    """For management commands: a person who can run them on the server may act for any user."""
    user = get_user_model().objects.filter(username=username).first()
    if user is None:
        raise NotFound(f"There is no user {username!r}. Make one with `manage.py create_user`.")
    return caller_of_user(user)


def admission_of(request: HttpRequest, project_id: uuid.UUID, path: str) -> Admission:
    """For listening to a project that this request's caller may read."""
    caller: Caller = request.auth  # type: ignore[attr-defined]
    if caller.key_id is not None:
        return Admission(caller, project_id, path)
    user: Any = request.user
    return Admission(caller, project_id, path, login_hash(str(request.session.session_key)), hash(user.password))


class ApiAuth:
    """Ninja's auth callable: returns the Caller or raises. With a key the cookie is ignored, and vice versa."""

    openapi_security_schema: ClassVar[dict[str, str]] = {"type": "http", "scheme": "bearer"}

    def __call__(self, request: HttpRequest) -> Caller:
        caller = self._caller(request)
        is_read = request.method in {"GET", "HEAD", "OPTIONS"} and announced_by(request) is None
        scope = READ if is_read else WRITE
        if scope not in caller.scopes:
            raise MissingScope(scope)
        check_request(request, caller)
        return caller

    def _caller(self, request: HttpRequest) -> Caller:
        header = request.headers.get("Authorization", "")
        if header:
            caller = caller_of_header(header)
            if caller is None:
                raise Unauthorized
            return caller
        if not request.user.is_authenticated:
            raise Unauthorized
        check_account(request)
        check_csrf(request)
        return caller_of_user(request.user)


class CookieAuth(ApiAuth):
    """For operations that need a cookie login, not a key."""

    openapi_security_schema: ClassVar[dict[str, str]] = {
        "type": "apiKey",
        "in": "cookie",
        "name": settings.SESSION_COOKIE_NAME,
    }

    def _caller(self, request: HttpRequest) -> Caller:
        caller = super()._caller(request)
        if caller.key_id is not None:
            raise CookieOnly
        return caller


def _note_use(caller: Caller) -> None:
    """Updates `last_used_at` once a minute, so that most saves need no second write. A failure does not refuse the request."""
    present = time.monotonic()
    if caller.key_id is None or present - _noted_at.get(caller.key_id, -USED_EVERY_SECONDS) < USED_EVERY_SECONDS:
        return
    _noted_at[caller.key_id] = present
    try:
        api_keys.note_use(key_id=caller.key_id)
    except Exception as error:
        logger.warning("could not note the use of a key: %s", type(error).__name__)
