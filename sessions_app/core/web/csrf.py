"""The CSRF check of requests that are authenticated by the login cookie."""

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware

from sessions_app.core.errors import Forbidden


class CsrfFailed(Forbidden):
    code, message = "csrf_failed", "Send the page's CSRF token as X-CSRFToken, from this server's own origin."


def check_csrf(request: HttpRequest) -> None:
    """Ninja's views are exempt from Django's check, because keys need none; for the login cookie this function runs it."""
    middleware = CsrfViewMiddleware(_not_exempt)
    middleware.process_request(request)
    if middleware.process_view(request, _not_exempt, (), {}) is not None:
        raise CsrfFailed


def _not_exempt(request: HttpRequest) -> HttpResponse:
    """Dummy view that is not exempt from the check."""
    return HttpResponse()
