"""Whose login answered: a page keeps to it, although somebody else signs in beside it in the same browser."""

from django.http import HttpRequest, HttpResponseBase

from sessions_app.core.errors import Unauthorized

ACCOUNT = "Stillhere-Account"


class SomebodyElse(Unauthorized):
    code, message = "somebody_else", "Somebody else is signed in now in this browser."


def check_account(request: HttpRequest) -> None:
    """A request with the login cookie may name the account that it is for. The cookie belongs to the browser, not to the page."""
    if request.headers.get(ACCOUNT, own := str(request.user.pk)) != own:
        raise SomebodyElse


def name_account(request: HttpRequest, response: HttpResponseBase) -> None:
    """Only if the request looked who is signed in: one with a key does not."""
    # Django's own name of a user that was looked up.
    user = getattr(request, "_cached_user", None)
    if user is not None and user.is_authenticated:
        response.headers[ACCOUNT] = str(user.pk)
