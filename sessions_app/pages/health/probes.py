"""Health endpoints for monitoring."""

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from sessions_app.core.errors import AppError
from sessions_app.core.storage.database_errors import StoreUnreachable, as_app_error
from sessions_app.core.storage.store_incarnation import incarnation
from sessions_app.core.web.product_version import version
from sessions_app.pages.health.checks import check_ready, durability


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """200 as soon as the server runs, independent of the database."""
    body = {"status": "ok", "version": version(), "database": connection.vendor, "durability": durability()}
    return JsonResponse(body)


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """200 if the database and the channel layer answer and the tables match this version."""
    try:
        check_ready()
        return JsonResponse({"status": "ready", "incarnation": incarnation()})
    except AppError as refusal:
        error = refusal
    except DatabaseError as trouble:
        error = as_app_error(trouble) or StoreUnreachable(retry_after=2)
    # A temporary fault is worth a retry; one that needs an operator is not.
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return JsonResponse(error.as_json(), status=error.status, headers=headers)
