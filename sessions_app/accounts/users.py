"""Accounts, and the one-time links that sign somebody in."""

import secrets
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.crypto import salted_hmac

from sessions_app.core.errors import Gone, Invalid
from sessions_app.core.storage.transactions import write
from sessions_app.core.text import sha256
from sessions_app.models import SignInLink
from sessions_app.models.times import now

SIGN_IN_LINK_LIVES = timedelta(hours=24)


class LinkUsed(Gone):
    code = "link_used"
    message = (
        "This sign-in link is not valid: it was used before, or is too old. Ask the person who runs this server for a new one."
    )


def create_user(*, username: str, superuser: bool = False, is_active: bool = True) -> User:
    """An account without a password: its owner signs in by a one-time link and sets one."""
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


def account_name(*, user_id: int) -> str:
    """The same for all keys of an account, and of no other server's: its secret key is in it. It says nothing of the account."""
    return salted_hmac("stillhere.account", str(user_id), algorithm="sha256").hexdigest()[:32]


def make_superuser(*, user_id: int) -> None:
    """Gives the user access to the admin."""
    write(lambda: get_user_model().objects.filter(pk=user_id).update(is_staff=True, is_superuser=True))


def create_sign_in_link(*, user_id: int) -> str:
    """The token of a link that signs this user in once, within a day, unless their password changes first."""
    token = secrets.token_urlsafe(32)

    def work() -> None:
        mark = get_user_model().objects.get(pk=user_id).get_session_auth_hash()
        SignInLink.objects.create(
            user_id=user_id,
            token_sha256=sha256(token),
            password_mark=mark,
            created_at=now(),
            expires_at=now() + SIGN_IN_LINK_LIVES,
        )

    write(work)
    return token


def use_sign_in_link(*, token: str) -> int:
    """The user's id. A conditional update makes the link work only once, even if it is opened twice at the same time."""

    def work() -> int | None:
        link = _unused_link(token)
        if link is None:
            return None
        return link.user_id if SignInLink.objects.filter(pk=link.pk, used_at=None).update(used_at=now()) == 1 else None

    user_id = write(work)
    if user_id is None:
        raise LinkUsed
    return user_id


def check_sign_in_link(*, token: str) -> None:
    """Raises LinkUsed if it would sign nobody in. Does not use it up."""
    if _unused_link(token) is None:
        raise LinkUsed


def _unused_link(token: str) -> SignInLink | None:
    links = SignInLink.objects.filter(token_sha256=sha256(token), expires_at__gt=now(), used_at=None, user__is_active=True)
    link = links.select_related("user").first()
    return link if link is not None and link.password_mark in {"", link.user.get_session_auth_hash()} else None
