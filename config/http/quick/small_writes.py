"""Small writes of many clients, run by one thread: saves, and chunks of streams."""

import asyncio
from collections.abc import Sequence

from config.http.learned_headers import Answered, Kinds
from config.http.quick.chunks import ChunksRequest, QuickChunks, is_small_append
from config.http.quick.saves import QuickSaves, SaveRequest
from config.http.request_log import Message, RequestRecord
from config.http.save_batching import Later, SaveBatcher, is_small_save
from sessions_app.core.storage.database_threads import DatabaseThreads

SmallWrite = SaveRequest | ChunksRequest


class SmallWrites:
    def __init__(self) -> None:
        self._saves, self._chunks = QuickSaves(), QuickChunks()
        self._batcher = SaveBatcher[SmallWrite, Answered | None](self._run)

    @property
    def thread(self) -> DatabaseThreads:
        return self._batcher.thread

    def taken(self, scope: Message, body: bytes, exchange: RequestRecord) -> tuple[SmallWrite, Kinds] | None:
        """The request as one of these, and what is learned from Django's responses to its like; None: it is none of these."""
        if is_small_save(scope, body):
            return SaveRequest(scope, body, exchange), self._saves.kinds
        if is_small_append(scope, body):
            return ChunksRequest(scope, body, exchange), self._chunks.kinds
        return None

    def submit(self, request: SmallWrite) -> asyncio.Future[Answered | Later | None]:
        """None: leave it to Django."""
        return self._batcher.submit(request, len(request.body))

    def close(self) -> None:
        """Completes those that were received."""
        self._batcher.close()

    def _run(self, requests: Sequence[SmallWrite]) -> list[Answered | Later | None]:
        saves = [request for request in requests if isinstance(request, SaveRequest)]
        appends = [request for request in requests if isinstance(request, ChunksRequest)]
        saved = iter(self._saves.run(saves))
        appended = iter(self._chunks.run(appends))
        return [next(saved if isinstance(request, SaveRequest) else appended) for request in requests]
