"""What the service worker learns from a page: the version of its static files, and whose page it is."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from sessions_app.pages.chat.offline.static_version import static_version

VERSION, ACCOUNT = "Stillhere-Version", "Stillhere-Account"
NOBODY = "none"


def offline_headers(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """On every page. A page that did not look who is signed in does not say it either."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if settings.OFFLINE_PAGES and response.get("Content-Type", "").startswith("text/html"):
            response[VERSION] = static_version()
            # Django's own name of a user that was looked up.
            if (user := getattr(request, "_cached_user", None)) is not None:
                response[ACCOUNT] = str(user.pk) if user.is_authenticated else NOBODY
        return response

    return middleware
