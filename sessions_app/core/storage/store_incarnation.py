from functools import cache

from sessions_app.models import Store


@cache
def incarnation() -> int:
    """The store's number, part of every ETag. Only a restore changes it, with the server stopped: read once per process."""
    return Store.objects.get_or_create(pk=1)[0].incarnation


def state_etag(rev: int) -> str:
    return f'"{incarnation()}.{rev}"'
