"""Error pages: for expected errors of services, and for unexpected ones."""

import logging
from urllib.parse import quote

from django.core.exceptions import TooManyFieldsSent
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin

from sessions_app.chats.reading.sessions import SessionDeleted
from sessions_app.core.errors import AppError, BadRequest, Forbidden, NotFound, TooManyParameters
from sessions_app.core.storage.database_errors import as_app_error, leave_read_only, tell_refusal
from sessions_app.projects.queries import ProjectDeleted

logger = logging.getLogger(__name__)
STALE_FORM = "This form has expired, or was sent from another site. Reload the page and send it again."


class PageErrors(MiddlewareMixin):
    """Turns a service's error into a page for users."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, AppError):
            return error_page(request, exception)
        error = as_app_error(exception)
        if error is None:
            return None
        leave_read_only(error)
        tell_refusal("page", error, exception)
        return error_page(request, error)


def error_page(request: HttpRequest, error: AppError) -> HttpResponse:
    message = _for_people(error)
    context = {"error": error, "message": message, "restore": _restore(request, error)}
    reply = render(request, "pages/error.html", context, status=error.status)
    if error.retry_after is not None:
        reply["Retry-After"] = str(error.retry_after)
    # The message that a script shows as a toast after sending a form.
    reply["Stillhere-Message"] = quote(message)
    return reply


def _for_people(error: AppError) -> str:
    """What was not found: the error's own message says what a client of the API does next."""
    if isinstance(error, NotFound) and error.kind:
        return f"This {error.kind} does not exist, or belongs to another account."
    return error.message


def _restore(request: HttpRequest, error: AppError) -> str:
    """The URL that restores the object of this page, if it is in the trash."""
    named = {} if request.resolver_match is None else request.resolver_match.kwargs
    # The one that the error names: of a transfer, that may be the target, and the address names the source.
    if isinstance(error, SessionDeleted) and "session_id" in named:
        return reverse("session_act", args=[error.details["session"], "undelete"])
    if isinstance(error, ProjectDeleted) and (project := named.get("project_id") or error.details.get("project_id")):
        return reverse("restore_project", args=[project])
    return ""


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, NotFound())


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, Forbidden())


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, TooManyFieldsSent):
        return error_page(request, TooManyParameters())
    return error_page(request, BadRequest("This request could not be read."))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    reply = error_page(request, Forbidden(STALE_FORM))
    # For the script that takes over the token of a new login and sends the form again.
    reply["Stillhere-Stale-Form"] = "1"
    return reply


def server_error(request: HttpRequest) -> HttpResponse:
    return render(request, "500.html", {"request_id": request.META.get("stillhere.request_id", "")}, status=500)
