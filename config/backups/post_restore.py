"""Gives a restored backup new numbers before anyone may write to it.

Between backup and restore the store was used: revs, epochs and event numbers were assigned that the backup does not contain.
Milliseconds since 1970 are above all of them, as long as a session is cleared less than once a millisecond.
"""

import time

from django.db.models import F, Max
from django.db.models.functions import Coalesce

from sessions_app.core.storage.sql import execute
from sessions_app.core.storage.store_incarnation import incarnation
from sessions_app.core.storage.transactions import write
from sessions_app.models import ChatSession, Login, Project, Store
from sessions_app.models.credentials import SignInLink, SocketTicket

# Rows of a session's present epoch move to the new one. Not those of an import or a fork that nobody has seen yet: what is still
# missing of it comes with the epoch that it began with.
_MOVE = (
    "UPDATE sessions_app_message SET epoch = %s "
    "WHERE epoch = (SELECT s.epoch FROM sessions_app_chatsession s JOIN sessions_app_project p ON p.id = s.project_id "
    "WHERE s.id = session_id AND p.owner_id IS NOT NULL)"
)


def begin_incarnation(*, above: int = 0) -> int:
    """A number above `above` and all that were in use, for the store, every visible session's epoch and every project's events.

    So no old ETag matches, a save that continues from changes missing in the backup gets 409 `stale_epoch`, and a listener
    that knows a later event number starts over. Log-outs since the backup are unknown, so everybody is signed out, and links and
    tickets are deleted.
    """

    def work() -> int:
        store = Store.objects.get_or_create(pk=1)[0]
        epochs = ChatSession.objects.aggregate(highest=Max(F("epoch") + Coalesce("epochs_ahead", 0)))["highest"] or 0
        events = Project.objects.aggregate(Max("event_seq"))["event_seq__max"] or 0
        number = max(int(time.time() * 1000), above + 1, store.incarnation + 1, epochs + 1, events + 1)
        execute(_MOVE, [number])
        ChatSession.objects.exclude(project__owner=None).update(epoch=number, epochs_ahead=None)
        Project.objects.update(event_seq=number)
        store.incarnation = number
        store.save()
        for model in (Login, SignInLink, SocketTicket):
            model._default_manager.all().delete()
        return number

    number = write(work)
    incarnation.cache_clear()
    return number
