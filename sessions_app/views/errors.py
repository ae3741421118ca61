"""The pages' translator of refusals, and the pages for what nobody expected."""

import logging
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin

from sessions_app.errors import AppError, BadRequest, Forbidden, NotFound
from sessions_app.queries.projects import ProjectDeleted
from sessions_app.queries.sessions import SessionDeleted
from sessions_app.store_errors import as_app_error, leave_read_only

logger = logging.getLogger(__name__)
STALE_FORM = "This form was open too long, or came from elsewhere. Load the page anew and send it again."


class PageErrors(MiddlewareMixin):
    """A service's refusal becomes a page in the user's words."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        error = exception if isinstance(exception, AppError) else as_app_error(exception)
        if error is None:
            return None
        leave_read_only(error)
        return error_page(request, error)


def error_page(request: HttpRequest, error: AppError) -> HttpResponse:
    reply = render(request, "shared/error.html", {"error": error, "restore": _restore(request, error)}, status=error.status)
    if error.retry_after is not None:
        reply["Retry-After"] = str(error.retry_after)
    # What a script shows as a toast, of a form that it sent.
    reply["Stillhere-Message"] = quote(error.message)
    return reply


def _restore(request: HttpRequest, error: AppError) -> str:
    """Where a form brings back what the address names, if that is in the trash."""
    named = {} if request.resolver_match is None else request.resolver_match.kwargs
    if isinstance(error, SessionDeleted) and "session_id" in named:
        return reverse("session_act", args=[named["session_id"], "undelete"])
    if isinstance(error, ProjectDeleted) and (project := named.get("project_id") or error.details.get("project_id")):
        return reverse("restore_project", args=[project])
    return ""


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, NotFound())


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, Forbidden())


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, BadRequest("This request could not be read."))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return error_page(request, Forbidden(STALE_FORM))


def server_error(request: HttpRequest) -> HttpResponse:
    return render(request, "500.html", {"request_id": request.META.get("stillhere.request_id", "")}, status=500)
