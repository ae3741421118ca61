"""API keys, sign-in links and socket tickets: shown once, stored as hashes."""

import secrets
import string
import uuid
import zlib
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sessions_app.core.callers import LoginMarks
from sessions_app.core.errors import Invalid, NotFound
from sessions_app.core.serialization.json_text import fingerprint
from sessions_app.core.storage.transactions import write
from sessions_app.core.text import sha256
from sessions_app.models import ApiKey, Caller, SocketTicket
from sessions_app.models.credentials import KEY_NAME_LENGTH, MOST_DAYS, SCOPES
from sessions_app.models.times import now
from sessions_app.projects.services import ensure_project

ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
TICKET_LIVES = timedelta(seconds=30)
SENT_TWICE_WITHIN = timedelta(seconds=5)
REVOKED_FOR_GOOD_AFTER = timedelta(minutes=10)


class KeyNotFound(NotFound):
    kind, message = "key", "You have no key with this id. List your keys."


class RevokedForGood(NotFound):
    message = "This key was revoked more than ten minutes ago: it stays revoked. Create another."


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key with its secret, which cannot be read again. `made_project`: its project was created for it."""

    row: ApiKey
    secret: str
    made_project: bool = False


def create_key(
    *,
    caller: Caller,
    name: str = "",
    scopes: tuple[str, ...] = SCOPES,
    project_path: str | None = None,
    days: int | None = None,
    form: uuid.UUID | None = None,
) -> NewKey:
    """A key for the caller's own account, limited to the project `project_path` if given (created if it does not exist).

    `form`: the same form sent twice at once (a double click) leaves one key: nobody has seen the secret of the first one.
    """
    _check(name, scopes, days)
    secret = make_secret()

    def work() -> NewKey:
        project, made = None, False
        if project_path is not None:
            project, made = ensure_project(caller=caller, path=project_path)
        row = ApiKey.objects.create(
            id=_id_for(caller, form, [name, sorted(scopes), project_path, days]),
            user_id=caller.user_id,
            name=name,
            prefix=secret[:8],
            key_sha256=sha256(secret),
            scopes=",".join(scope for scope in SCOPES if scope in scopes),
            project=project,
            created_at=now(),
            expires_at=now() + timedelta(days=days) if days is not None else None,
        )
        return NewKey(row, secret, made)

    return write(work)


def _check(name: str, scopes: tuple[str, ...], days: int | None) -> None:
    if len(name) > KEY_NAME_LENGTH:
        raise Invalid(f"A key's name has at most {KEY_NAME_LENGTH} characters.", details={"field": "name"})
    if days is not None and not 1 <= days <= MOST_DAYS:
        raise Invalid(f"A key expires after 1 to {MOST_DAYS} days, or never.", details={"days": days})
    unknown = set(scopes) - set(SCOPES)
    if unknown or not scopes:
        raise Invalid("Scopes are `read` and `write`.", details={"scopes": sorted(unknown)})


def _id_for(caller: Caller, form: uuid.UUID | None, content: list[Any]) -> uuid.UUID:
    """Takes the place of a key that this form made just now."""
    if form is None:
        return uuid.uuid4()
    made = uuid.uuid5(form, f"{caller.user_id} {fingerprint(content)}")
    former = ApiKey.objects.filter(id=made)
    former.filter(last_used_at=None, created_at__gt=now() - SENT_TWICE_WITHIN).delete()
    return uuid.uuid4() if former.exists() else made


def revoke_key(*, caller: Caller, key_id: uuid.UUID) -> None:
    def work() -> bool:
        own = ApiKey.objects.visible_to(caller).filter(id=key_id)
        own.filter(revoked_at=None).update(revoked_at=now())
        return own.exists()

    if not write(work):
        raise KeyNotFound


def restore_key(*, caller: Caller, key_id: uuid.UUID) -> ApiKey:
    """Undoes a revocation, for a short time. Returns the key, which may have expired meanwhile. Raises RevokedForGood."""

    def work() -> ApiKey | None:
        own = ApiKey.objects.visible_to(caller).filter(id=key_id)
        own.filter(revoked_at__gt=now() - REVOKED_FOR_GOOD_AFTER).update(revoked_at=None)
        return own.first()

    key = write(work)
    if key is None:
        raise KeyNotFound
    if key.revoked_at is not None:
        raise RevokedForGood
    return key


def note_use(*, key_id: uuid.UUID) -> None:
    write(lambda: ApiKey.objects.filter(id=key_id).update(last_used_at=now()))


def create_socket_ticket(*, caller: Caller, login: LoginMarks | None = None) -> tuple[str, int]:
    """A token that opens one socket, and its lifetime in seconds. `login`: the one that asks, if no key is used."""
    token = secrets.token_urlsafe(32)

    def work() -> None:
        SocketTicket.objects.filter(expires_at__lt=now()).delete()
        SocketTicket.objects.create(
            token_sha256=sha256(token),
            user_id=caller.user_id,
            key_id=caller.key_id,
            session_key=login.session_key if login else "",
            password_mark=login.password_mark if login else None,
            expires_at=now() + TICKET_LIVES,
        )

    write(work)
    return token, int(TICKET_LIVES.total_seconds())


def use_socket_ticket(*, token: str) -> SocketTicket | None:
    """A fresh ticket, once; None for any other."""
    tickets = SocketTicket.objects.filter(token_sha256=sha256(token), expires_at__gt=now())
    # Anybody may ask, also without an account: an invented ticket makes no write, for which others would wait.
    found = tickets.first()
    return found if found is not None and write(lambda: tickets.delete()[0]) == 1 else None


def make_secret() -> str:
    """`sh_`, 43 characters of 256 random bits, 6 of CRC32: a scanner can check the sum to spot real keys."""
    body = _base62(secrets.randbits(256), 43)
    return f"sh_{body}{_base62(zlib.crc32(body.encode()), 6)}"


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))


def is_usable(caller: Caller) -> bool:
    """Whether the caller's key still is; for work that is done after its request."""
    return caller.key_id is None or ApiKey.objects.usable().filter(id=caller.key_id).exists()
