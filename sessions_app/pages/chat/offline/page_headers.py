"""What the service worker learns from a page: the version of its static files, and whose page it is."""

from django.http import HttpRequest, HttpResponse

from sessions_app.core.web.csrf import ACCOUNT
from sessions_app.pages.chat.offline.static_version import static_version

VERSION = "Stillhere-Version"
NOBODY = "none"


def add_offline_headers(request: HttpRequest, page: HttpResponse) -> None:
    """A page that did not look who is signed in does not say it either."""
    page[VERSION] = static_version()
    # Django's own name of a user that was looked up.
    if (user := getattr(request, "_cached_user", None)) is not None:
        page[ACCOUNT] = str(user.pk) if user.is_authenticated else NOBODY
