import uuid

from django.http import HttpRequest

from sessions_app.core.errors import Invalid


def run_of(request: HttpRequest) -> uuid.UUID | None:
    """The run that a memory write is from: the header `Stillhere-Run`."""
    return run_named(request.headers.get("Stillhere-Run", ""))


def run_named(header: str) -> uuid.UUID | None:
    if not header.strip():
        return None
    try:
        return uuid.UUID(header.strip())
    except ValueError:
        raise Invalid("`Stillhere-Run` is the id of a run.", details={"field": "Stillhere-Run"}) from None
