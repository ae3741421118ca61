"""Rules for every request, and for every response of an API."""

from collections.abc import Callable

import orjson
from django.conf import settings
from django.contrib.messages.middleware import MessageMiddleware
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from sessions_app.core.errors import AppError, BadRequest, Forbidden, MethodNotAllowed, NotFound, TooLarge
from sessions_app.core.serialization.strict_json import REPLACEMENT
from sessions_app.core.web.csrf import name_account
from sessions_app.pages.chat.offline.page_headers import add_offline_headers

APIS = ("/api/", "/v1/")
_UNUSED = (
    "accelerometer",
    "camera",
    "display-capture",
    "geolocation",
    "gyroscope",
    "magnetometer",
    "microphone",
    "midi",
    "payment",
    "usb",
)
PERMISSIONS_POLICY = ", ".join(f"{feature}=()" for feature in _UNUSED)
_KINDS: dict[int, type[AppError]] = {kind.status: kind for kind in (BadRequest, Forbidden, NotFound, MethodNotAllowed, TooLarge)}


def _reference(request: HttpRequest) -> dict[str, str]:
    """The id to report to the operator, who finds the error under it in the log."""
    return {"request_id": number} if (number := request.META.get("stillhere.request_id")) else {}


def _refusal(request: HttpRequest, response: HttpResponseBase) -> AppError:
    if "Allow" in response and response.status_code == MethodNotAllowed.status:
        taken = sorted(method.strip() for method in response["Allow"].split(","))
        return MethodNotAllowed(f"This address takes {', '.join(taken)} alone.", details={"allow": taken})
    return _KINDS[response.status_code]() if response.status_code in _KINDS else AppError(details=_reference(request))


class PageMessages(MessageMiddleware):
    """Django's messages, for pages only; API responses carry their own messages."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info.startswith(APIS):
            return self.get_response(request)  # type: ignore[return-value]
        return super().__call__(request)  # type: ignore[return-value]


def default_headers(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Default headers: shared caches do not store the response, its page uses no device features. An API says whose login it was.

    `no-cache` and not `no-store`, which would prevent browsers from showing a page at once after going back.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if request.path_info.startswith(APIS):
            name_account(request, response)
        response.headers.setdefault("Cache-Control", "private, no-cache")
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        return response

    return middleware


def offline_pages(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Tells the service worker about every page; responses of an API never come near that code."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if settings.OFFLINE_PAGES and response.get("Content-Type", "").startswith("text/html"):
            add_offline_headers(request, response)
        return response

    return middleware


def storable_address(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """A NUL in an address is replaced as in bodies: PostgreSQL cannot even look for it."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if "\0" in request.path_info:
            request.path_info = request.path_info.replace("\0", REPLACEMENT)
            request.path = request.path.replace("\0", REPLACEMENT)
        query = request.META.get("QUERY_STRING", "")
        if "%00" in query or "\0" in query:
            request.META["QUERY_STRING"] = query.replace("%00", "%EF%BF%BD").replace("\0", "%EF%BF%BD")
        return get_response(request)

    return middleware


def api_shape(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Refusals that Django or Ninja made in their own form (405, a bad Host, an unexpected error) get the API's format."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if response.status_code < 400 or not request.path_info.startswith(APIS):
            return response
        if response.get("Content-Type", "").startswith("application/json"):
            return response
        error = _refusal(request, response)
        body = orjson.dumps(error.as_json())
        shaped = HttpResponse(body, status=response.status_code, content_type="application/json; charset=utf-8")
        shaped["Cache-Control"] = "no-store"
        if "Allow" in response:
            shaped["Allow"] = response["Allow"]
        return shaped

    return middleware
