"""LangGraph's checkpointer."""

import random
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from stillhere.connection import Connection, Operation
from stillhere.errors import StillhereError
from stillhere.langgraph.state_format import Place, as_tuple, checkpoint_body, typed, values_of
from stillhere.operations import checkpoints
from stillhere.operations.checkpoints import AS_MSGPACK

MOST_LISTED = 100
# Of one id: it may be in several namespaces.
FEW = 2
# Behind an id: less than what else may follow it.
JUST_ABOVE = "!"


class StillhereSaver(BaseCheckpointSaver[str]):
    """Keeps the state of graphs in a project of a server. Every method takes one round trip, except a list of over a hundred
    checkpoints or of many threads, and a prune of several threads (one each)."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        project: str | None = None,
        *,
        serde: SerializerProtocol | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self.connection = Connection(url, key, project)

    def get_next_version(self, current: str | int | float | None, channel: None) -> str:
        """Higher than `current`. The random part tells versions of two branches of a thread apart."""
        number = 0 if current is None else int(str(current).split(".", maxsplit=1)[0])
        return f"{number + 1:032}.{random.random():016}"  # noqa: S311 - no secret

    # --- Threads and coroutines: the same operations.

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self.connection.run(self._get(config))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self.connection.arun(self._get(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        search = _Search(self, config, filter, before, limit)
        while search.more:
            yield from self.connection.run(search.page())

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        search = _Search(self, config, filter, before, limit)
        while search.more:
            for found in await self.connection.arun(search.page()):
                yield found

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        return self.connection.run(self._put(config, checkpoint, metadata, new_versions))

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        return await self.connection.arun(self._put(config, checkpoint, metadata, new_versions))

    def put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        self.connection.run(self._put_writes(config, writes, task_id, task_path))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await self.connection.arun(self._put_writes(config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        self.connection.run(checkpoints.delete_thread(str(thread_id)))

    async def adelete_thread(self, thread_id: str) -> None:
        await self.connection.arun(checkpoints.delete_thread(str(thread_id)))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        self.connection.run(checkpoints.delete_runs([str(each) for each in run_ids]))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await self.connection.arun(checkpoints.delete_runs([str(each) for each in run_ids]))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.connection.run(checkpoints.copy_thread(str(source_thread_id), str(target_thread_id)))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self.connection.arun(checkpoints.copy_thread(str(source_thread_id), str(target_thread_id)))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self.connection.run(_prune(thread_ids, strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await self.connection.arun(_prune(thread_ids, strategy))

    # --- Operations.

    def _get(self, config: RunnableConfig) -> Operation[CheckpointTuple | None]:
        place = Place.of(config)
        if not place.id:
            answer = yield from checkpoints.list_checkpoints(place.thread, ns=place.ns, limit=1, headers=AS_MSGPACK)
            items = answer["items"]
        else:
            try:
                answer = yield from checkpoints.get_checkpoint(*place, headers=AS_MSGPACK)
            except StillhereError as error:
                if error.details.get("kind") != "checkpoint":
                    raise
                return None
            items = [answer]
        values = values_of(self.serde, answer)
        return as_tuple(self.serde, place.thread, items[0], values) if items else None

    def _put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> Operation[RunnableConfig]:
        above = Place.of(config)
        place = above._replace(id=checkpoint["id"])
        kept = get_serializable_checkpoint_metadata(config, metadata)
        body, unsent = checkpoint_body(self.serde, checkpoint, kept, above.id, new_versions)
        try:
            yield from checkpoints.put_checkpoint(*place, body)
        except StillhereError as error:
            if error.code != "unknown_versions":
                raise
            # Another thread's, or one that was pruned: then they come along.
            body["values"] |= {name: typed(self.serde, value) for name, value in unsent.items()}
            yield from checkpoints.put_checkpoint(*place, body)
        return place.config()

    def _put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> Operation[None]:
        sent = [
            {"idx": WRITES_IDX_MAP.get(channel, number), "channel": channel, **typed(self.serde, value)}
            for number, (channel, value) in enumerate(writes)
        ]
        yield from checkpoints.put_writes(*Place.of(config), task_id, sent, path=task_path)


class _Search:
    """A list of checkpoints, page by page."""

    def __init__(
        self,
        saver: StillhereSaver,
        config: RunnableConfig | None,
        matches: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> None:
        self._saver, self._left, self._config = saver, limit, config
        named = {} if config is None else config["configurable"]
        self._threads = [str(named["thread_id"])] if config is not None else None
        self._id = named.get("checkpoint_id") or None
        bound = before["configurable"].get("checkpoint_id") if before else None
        self.more = limit is None or limit > 0
        if self._id:  # Else all that is newer, and older, would be read.
            self.more = self.more and (not bound or self._id < bound)
            bound = f"{self._id}{JUST_ABOVE}"
        self._query: dict[str, Any] = {"ns": named.get("checkpoint_ns"), "before": bound, "filter": matches}
        self._cursor: str | None = None

    def page(self) -> Operation[list[CheckpointTuple]]:
        if self._threads is None:
            self._threads = yield from checkpoints.list_threads()
        if not self._threads:
            self.more = False
            return []
        most = FEW if self._id else MOST_LISTED if self._left is None else min(MOST_LISTED, self._left)
        thread = self._threads[0]
        asked = {"limit": most, "cursor": self._cursor, **self._query}
        answer = yield from checkpoints.list_checkpoints(thread, headers=AS_MSGPACK, **asked)
        return self._read(thread, answer)

    def _read(self, thread: str, answer: Any) -> list[CheckpointTuple]:
        is_past = self._id and any(item["id"] < self._id for item in answer["items"])
        self._cursor = None if is_past else answer["next"]
        if self._cursor is None:
            self._threads = (self._threads or [])[1:]
        values = values_of(self._saver.serde, answer)
        items = [item for item in answer["items"] if self._id in {None, item["id"]}][: self._left]
        if self._left is not None:
            self._left -= len(items)
        self.more = bool(self._threads) and self._left != 0
        return [as_tuple(self._saver.serde, thread, item, values) for item in items]


def _prune(threads: Sequence[str], strategy: str) -> Operation[None]:
    for thread in threads:
        yield from checkpoints.prune_thread(str(thread), strategy)
