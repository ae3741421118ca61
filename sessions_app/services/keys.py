"""API keys, sign-in links and socket tickets: made once, shown once, stored as hashes."""

import hashlib
import secrets
import string
import uuid
import zlib
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from sessions_app.errors import Gone, Invalid, NotFound
from sessions_app.models import ApiKey, Caller, SignInLink, SocketTicket
from sessions_app.models.key import MOST_DAYS, SCOPES
from sessions_app.models.sql import now
from sessions_app.services.projects import ensure_project
from sessions_app.services.writing import write

ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
SIGN_IN_LINK_LIVES = timedelta(hours=24)
TICKET_LIVES = timedelta(seconds=30)
REVOKED_FOR_GOOD_AFTER = timedelta(minutes=10)


class KeyNotFound(NotFound):
    kind, message = "key", "You have no key with this id. List your keys."


class LinkUsed(Gone):
    code, message = "link_used", "This sign-in link was used or is too old. Make a new one with `manage.py create_user`."


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key with its secret: the only time that the secret can be read. `made_project`: its project was not there before."""

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
) -> NewKey:
    """A key for the caller's own account, for one project where `project_path` names it (made if need be)."""
    if days is not None and not 1 <= days <= MOST_DAYS:
        raise Invalid(f"A key expires after 1 to {MOST_DAYS} days, or never.", details={"days": days})
    unknown = set(scopes) - set(SCOPES)
    if unknown or not scopes:
        raise Invalid("Scopes are `read` and `write`.", details={"scopes": sorted(unknown)})
    secret = make_secret()

    def work() -> NewKey:
        project, made = None, False
        if project_path is not None:
            project, made = ensure_project(caller=caller, path=project_path)
        row = ApiKey.objects.create(
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


def revoke_key(*, caller: Caller, key_id: uuid.UUID) -> None:
    def work() -> bool:
        own = ApiKey.objects.visible_to(caller).filter(id=key_id)
        own.filter(revoked_at=None).update(revoked_at=now())
        return own.exists()

    if not write(work):
        raise KeyNotFound


def restore_key(*, caller: Caller, key_id: uuid.UUID) -> None:
    """For who revoked the wrong one, and notices at once."""
    lately = ApiKey.objects.visible_to(caller).filter(id=key_id, revoked_at__gt=now() - REVOKED_FOR_GOOD_AFTER)
    if not write(lambda: lately.update(revoked_at=None)):
        raise KeyNotFound


def note_use(*, key_id: uuid.UUID) -> None:
    write(lambda: ApiKey.objects.filter(id=key_id).update(last_used_at=now()))


def create_user(*, username: str, superuser: bool = False, is_active: bool = True) -> User:
    """An account without a password: its owner comes in by a sign-in link and sets one."""
    username = get_user_model().normalize_username(username)
    try:
        get_user_model()._meta.get_field("username").clean(username, None)
    except ValidationError as error:
        raise Invalid(" ".join(error.messages), details={"username": username}) from None

    def work() -> User:
        made: User = get_user_model().objects.create_user(
            username, is_staff=superuser, is_superuser=superuser, is_active=is_active
        )
        made.set_unusable_password()
        made.save(update_fields=["password"])
        return made

    return write(work)


def make_superuser(*, user_id: int) -> None:
    """May use the admin from now on."""
    write(lambda: get_user_model().objects.filter(pk=user_id).update(is_staff=True, is_superuser=True))


def create_sign_in_link(*, user_id: int) -> str:
    """The token of a link that signs this user in once, within a day."""
    token = secrets.token_urlsafe(32)
    write(
        lambda: SignInLink.objects.create(
            user_id=user_id, token_sha256=sha256(token), created_at=now(), expires_at=now() + SIGN_IN_LINK_LIVES
        )
    )
    return token


def use_sign_in_link(*, token: str) -> int:
    """The user's id; the update decides who was first, so that a link works once even when it is opened twice."""

    def work() -> int | None:
        link = SignInLink.objects.filter(token_sha256=sha256(token), expires_at__gt=now(), user__is_active=True)
        if link.filter(used_at=None).update(used_at=now()) != 1:
            return None
        return link.values_list("user_id", flat=True).get()

    user_id = write(work)
    if user_id is None:
        raise LinkUsed
    return user_id


def create_socket_ticket(*, caller: Caller, session_key: str = "") -> tuple[str, int]:
    """A token that opens one socket, and for how many seconds. `session_key`: the login that asks, where no key does."""
    token = secrets.token_urlsafe(32)

    def work() -> None:
        SocketTicket.objects.filter(expires_at__lt=now()).delete()
        SocketTicket.objects.create(
            token_sha256=sha256(token),
            user_id=caller.user_id,
            key_id=caller.key_id,
            session_key=session_key,
            expires_at=now() + TICKET_LIVES,
        )

    write(work)
    return token, int(TICKET_LIVES.total_seconds())


def use_socket_ticket(*, token: str) -> tuple[int, uuid.UUID | None, str] | None:
    """`(user_id, key_id, session_key)` of a fresh ticket, once; None for any other."""

    def work() -> tuple[int, uuid.UUID | None, str] | None:
        tickets = SocketTicket.objects.filter(token_sha256=sha256(token), expires_at__gt=now())
        found = tickets.values_list("user_id", "key_id", "session_key").first()
        return found if found is not None and tickets.delete()[0] == 1 else None

    return write(work)


def make_secret() -> str:
    """`sh_`, 43 characters of 256 random bits, 6 of CRC32: the sum lets a scanner tell a real key from a look-alike."""
    body = _base62(secrets.randbits(256), 43)
    return f"sh_{body}{_base62(zlib.crc32(body.encode()), 6)}"


def sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))
