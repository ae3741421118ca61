from datetime import datetime
from functools import cache

from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from sessions_app.models import Store


@cache
def incarnation() -> int:
    """The store's number, part of every ETag. Only a restore changes it, with the server stopped: read once per process."""
    return Store.objects.get_or_create(pk=1)[0].incarnation


@cache
def store_made_at() -> datetime:
    """When the first tables were made. To the microsecond, so it tells stores apart; a restored backup has that of its store."""
    at: datetime = MigrationRecorder(connection).migration_qs.earliest("applied").applied
    return at


def state_etag(rev: int) -> str:
    return f'"{incarnation()}.{rev}"'
