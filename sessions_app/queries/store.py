from functools import cache

from sessions_app.models import Store


@cache
def incarnation() -> int:
    """The store's number, part of every ETag. It changes only by a restore, with the server stopped: read once a process."""
    return Store.objects.get_or_create(pk=1)[0].incarnation
