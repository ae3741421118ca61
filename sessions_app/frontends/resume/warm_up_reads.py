"""Runs the most frequent reads before the first request, so that the thread's connection is open and, on PostgreSQL, the
statements are prepared. Both cost many times what a request costs, and after a restart all clients reconnect at once."""

import logging
import uuid
from contextlib import suppress

from django.db import DatabaseError

from sessions_app.agents.handoff.queries import handoff_of
from sessions_app.agents.states.queries import states_of
from sessions_app.chats.reading.messages import live_window
from sessions_app.chats.saving.save_batches import Save, save_together
from sessions_app.chats.saving.services import Changes
from sessions_app.core.storage.database_errors import as_app_error
from sessions_app.frontends.resume.queries import NothingSaved, find_resume
from sessions_app.models import Caller
from sessions_app.models.live import Live

# A statement is prepared on its second execution.
TIMES = 2
# A user without data and an unknown id: all reads find no row, and nothing is written.
NOBODY, NOTHING = Caller(user_id=0, username=""), uuid.UUID(int=0)
_SAVE = Save(NOBODY, NOTHING, Changes(epoch=1, writer_id="-", seq=1, body_sha256="", ops=[{"op": "upsert", "id": "-"}]))
logger = logging.getLogger(__name__)


def run_warm_up_reads() -> None:
    """Runs in this thread. The server starts even if the database does not answer yet."""
    try:
        for _ in range(TIMES):
            save_together([_SAVE])
            with suppress(NothingSaved):
                find_resume(caller=NOBODY, path="-", client="-")
            live_window(session_id=NOTHING, live=Live(1))
            states_of(NOTHING)
            handoff_of(NOTHING)
    except DatabaseError as error:
        known = as_app_error(error)
        logger.warning("could not prepare for requests: %s (%s)", type(error).__name__, "" if known is None else known.code)
