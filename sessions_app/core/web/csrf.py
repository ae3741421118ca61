"""Checks of requests that are authenticated by the login cookie: that our page sent them, and whose page it is."""

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.csrf import CsrfViewMiddleware

from sessions_app.core.errors import Forbidden, Unauthorized

ACCOUNT = "Stillhere-Account"


class CsrfFailed(Forbidden):
    code, message = "csrf_failed", "Send the page's CSRF token as X-CSRFToken, from this server's own origin."


class SomebodyElse(Unauthorized):
    code, message = "somebody_else", "Somebody else is signed in now in this browser."


def check_csrf(request: HttpRequest) -> None:
    """Ninja's views are exempt from Django's check, because keys need none; for the login cookie this function runs it."""
    middleware = CsrfViewMiddleware(_not_exempt)
    middleware.process_request(request)
    if middleware.process_view(request, _not_exempt, (), {}) is not None:
        raise CsrfFailed


def check_account(request: HttpRequest) -> None:
    """The request may name the account that it is for: the cookie is the browser's, where somebody else may have signed in."""
    if request.headers.get(ACCOUNT, own := str(request.user.pk)) != own:
        raise SomebodyElse


def name_account(request: HttpRequest, response: HttpResponseBase) -> None:
    """Only if the request looked who is signed in: one with a key does not."""
    # Django's own name of a user that was looked up.
    user = getattr(request, "_cached_user", None)
    if user is not None and user.is_authenticated:
        response.headers[ACCOUNT] = str(user.pk)


def _not_exempt(request: HttpRequest) -> HttpResponse:
    """Dummy view that is not exempt from the check."""
    return HttpResponse()
