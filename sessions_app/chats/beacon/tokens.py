"""Tokens for saves sent by `sendBeacon` on unload: a beacon cannot send headers, so its credentials are in the body."""

import secrets
import uuid
from datetime import datetime, timedelta

from django.contrib.auth.models import User

from sessions_app.chats.reading.sessions import get_session
from sessions_app.core.callers import LoginMarks
from sessions_app.core.errors import Unauthorized
from sessions_app.core.storage.transactions import write
from sessions_app.core.text import sha256
from sessions_app.models import ApiKey, Caller, FlushToken, Login
from sessions_app.models.credentials import WRITE
from sessions_app.models.times import now

TOKEN_LIVES = timedelta(hours=24)


class BadFlushToken(Unauthorized):
    code, message = "bad_flush_token", "This flush token is unknown, too old, or for another session. Get a new one."


def create_flush_token(*, caller: Caller, session_id: uuid.UUID, login: LoginMarks | None = None) -> tuple[str, datetime]:
    """A token that may write to this one session, and its expiry time. `login`: the one that asks, if no key is used."""
    token, expires_at = secrets.token_urlsafe(32), now() + TOKEN_LIVES

    def work() -> None:
        session = get_session(caller=caller, session_id=session_id)
        FlushToken.objects.filter(expires_at__lt=now()).delete()
        FlushToken.objects.create(
            token_sha256=sha256(token),
            session_id=session.id,
            user_id=caller.user_id,
            key_id=caller.key_id,
            session_key=login.session_key if login else None,
            password_mark=login.password_mark if login else None,
            expires_at=expires_at,
        )

    write(work)
    return token, expires_at


def caller_of_flush_token(*, token: str, session_id: uuid.UUID) -> Caller:
    """The caller that the token was issued to, if still allowed: a token ends with its key, or with its login."""
    fresh = FlushToken.objects.filter(token_sha256=sha256(token), session_id=session_id, expires_at__gt=now())
    found = fresh.select_related("user", "key").first()
    if found is None or not found.user.is_active:
        raise BadFlushToken
    key, user = found.key, found.user
    if key is not None and not ApiKey.objects.usable().filter(id=key.id).exists():
        raise BadFlushToken
    if found.session_key is not None and not _has_login(found):
        raise BadFlushToken
    return _writer(user, key)


def _has_login(token: FlushToken) -> bool:
    lasts = Login.objects.filter(session_key=token.session_key, expire_date__gt=now()).exists()
    return lasts and token.password_mark == token.user.get_session_auth_hash()


def _writer(user: User, key: ApiKey | None) -> Caller:
    scopes = frozenset({WRITE})
    if key is None:
        return Caller(user.pk, user.get_username(), scopes=scopes)
    return Caller(user.pk, user.get_username(), key.id, key.name or "key", scopes, key.project_id)
