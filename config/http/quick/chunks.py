"""Chunks of streams with a key, appended without Django and Ninja: those of many streams in one transaction.

Only what is simply new is answered here, by the same schema and rules as in `generation_app/streams/api.py`. Everything else is
left to Django, which reports the error.
"""

import re
from collections.abc import Sequence
from functools import partial

from django.db import Error as DatabaseError
from django.db import connection

from config.http.learned_headers import Answered, Callers, Kinds, QuickRequest, answered_as, read_write
from config.http.request_log import Message
from config.http.save_batching import SMALL_BYTES
from generation_app.streams.api import append_of, offset_reply
from generation_app.streams.chunk_batches import Append, append_together
from sessions_app.models import Caller

CHUNKS = re.compile(r"/api/v1/streams/[^/]+/chunks")


class ChunksRequest(QuickRequest):
    """A POST to …/chunks."""


class QuickChunks:
    def __init__(self) -> None:
        self.kinds = Kinds()

    def run(self, requests: Sequence[ChunksRequest]) -> list[Answered | None]:
        """Returns responses to those that it can handle, after one commit; None: leave it to Django."""
        callers = Callers()
        appends = [read_write(request, self.kinds, callers, partial(_append, request)) for request in requests]
        try:
            offsets = iter(append_together([append for append in appends if append is not None]))
        except DatabaseError:
            # The connection may be dead. Chunks that were stored are recognised when Django appends them again.
            connection.close()
            return [None] * len(requests)
        return [
            None if append is None else self._outcome(request, append, next(offsets))
            for request, append in zip(requests, appends, strict=True)
        ]

    def _outcome(self, request: ChunksRequest, append: Append, offset: int | None) -> Answered | None:
        if offset is None or request.kind is None:
            return None
        return answered_as(request.kind, request, append.caller, offset_reply(append.stream_id, offset))


def _append(request: ChunksRequest, caller: Caller) -> Append:
    return append_of(caller, request.scope["path"].split("/")[4], request.body)


def is_small_append(scope: Message, body: bytes) -> bool:
    return scope["method"] == "POST" and len(body) <= SMALL_BYTES and CHUNKS.fullmatch(scope["path"]) is not None
