from typing import cast

from django.http import HttpRequest

from sessions_app.models import Caller


def caller_of(request: HttpRequest) -> Caller:
    """Who is calling: what the API's authentication put there."""
    return cast(Caller, request.auth)  # type: ignore[attr-defined]
