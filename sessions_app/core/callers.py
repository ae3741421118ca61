from typing import Any, cast

from django.http import HttpRequest

from sessions_app.models import Caller


def caller_of(request: HttpRequest) -> Caller:
    """The caller that the API's authentication attached to the request."""
    return cast(Caller, request.auth)  # type: ignore[attr-defined]


def caller_of_user(user: Any) -> Caller:
    """A person who signed in on a page has full access to their own data."""
    return Caller(user_id=user.pk, username=user.get_username())
