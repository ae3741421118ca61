"""What a restored backup needs before anyone may write to it: numbers that were never given out.

Between the backup and its restore the store went on: revs, epochs and event numbers were given out of which it knows nothing.
Milliseconds since 1970 are beyond all of them, as long as a session is cleared less than once a millisecond.
"""

import time

from django.contrib.sessions.models import Session as BrowserSession
from django.db.models import Max

from sessions_app.models import ChatSession, Project, Store
from sessions_app.models.key import SignInLink, SocketTicket
from sessions_app.models.sql import execute
from sessions_app.queries.store import incarnation
from sessions_app.services.writing import write

# What belonged to a session's present epoch belongs to the new one.
_MOVE = (
    "UPDATE sessions_app_message SET epoch = %s "
    "WHERE epoch = (SELECT s.epoch FROM sessions_app_chatsession s WHERE s.id = session_id)"
)


def begin_incarnation(*, above: int = 0) -> int:
    """A number above `above` and all that were in use, for the store, every session's epoch and every project's events.

    So no old ETag fits, every save that continues from what the backup lacks is told so (409 `stale_epoch`), and a listener who
    heard of it starts over. Log-outs since the backup are unknown, so everybody is logged out, and no link or ticket works twice.
    """

    def work() -> int:
        store = Store.objects.get_or_create(pk=1)[0]
        epochs = ChatSession.objects.aggregate(Max("epoch"))["epoch__max"] or 0
        events = Project.objects.aggregate(Max("event_seq"))["event_seq__max"] or 0
        number = max(int(time.time() * 1000), above + 1, store.incarnation + 1, epochs + 1, events + 1)
        execute(_MOVE, [number])
        ChatSession.objects.update(epoch=number)
        Project.objects.update(event_seq=number)
        store.incarnation = number
        store.save()
        for model in (BrowserSession, SignInLink, SocketTicket):
            model._default_manager.all().delete()
        return number

    number = write(work)
    incarnation.cache_clear()
    return number
