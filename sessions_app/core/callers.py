from dataclasses import dataclass
from typing import Any, cast

from django.http import HttpRequest

from sessions_app.core.text import login_hash
from sessions_app.models import Caller


@dataclass(frozen=True, slots=True)
class LoginMarks:
    """What a token of a login ends with: the login, as it is stored, and the account's password."""

    session_key: str
    password_mark: str


def caller_of(request: HttpRequest) -> Caller:
    """The caller that the API's authentication attached to the request."""
    return cast(Caller, request.auth)  # type: ignore[attr-defined]


def login_of(request: HttpRequest) -> LoginMarks | None:
    """The login that a request of the API is made by; None: by a key. The mark is of the password that this login knew."""
    if caller_of(request).key_id is not None:
        return None
    user: Any = request.user
    return LoginMarks(login_hash(request.session.session_key or ""), user.get_session_auth_hash())


def caller_of_user(user: Any) -> Caller:
    """A person who signed in on a page has full access to their own data."""
    return Caller(user_id=user.pk, username=user.get_username())
