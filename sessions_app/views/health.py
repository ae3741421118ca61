"""For whoever watches the server."""

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from sessions_app.errors import AppError
from sessions_app.queries.health import check_ready, durability, version
from sessions_app.queries.store import incarnation
from sessions_app.store_errors import StoreUnreachable, as_app_error


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """200 as soon as the server serves, whatever the database does."""
    body = {"status": "ok", "version": version(), "database": connection.vendor, "durability": durability()}
    return JsonResponse(body)


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when database and channel layer answer and the tables are those of this version."""
    try:
        check_ready()
        return JsonResponse({"status": "ready", "incarnation": incarnation()})
    except AppError as refusal:
        error = refusal
    except DatabaseError as trouble:
        error = as_app_error(trouble) or StoreUnreachable(retry_after=2)
    # What passes by itself is worth asking again; a store that wants hands is not.
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return JsonResponse(error.as_json(), status=error.status, headers=headers)
