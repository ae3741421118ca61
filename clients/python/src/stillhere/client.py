"""The client for threads, and the same for coroutines."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, Self

from stillhere.connection import RETRY_SECONDS, TIMEOUT_SECONDS, Connection, Operation
from stillhere.operations import checkpoints, memory, projects, saving, sessions
from stillhere.operations.records import Cleared, Saved
from stillhere.operations.saving import Op, Writer


class _Base:
    """`project`: an id or a name, or what begins with `/`, `~` or `.`: a folder, as an absolute path. One that does not exist is
    created, but not by what is of the account, such as `list_projects`. What is left out is taken from STILLHERE_URL,
    STILLHERE_KEY and STILLHERE_PROJECT. Requests without an answer, and those with 429 or 503, are repeated for `retry_seconds`,
    after the pause that the server names. Operations raise StillhereError. Threads, event loops and forked processes may share a
    client."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        project: str | None = None,
        *,
        timeout: float = TIMEOUT_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self.connection = Connection(url, key, project, timeout=timeout, retry_seconds=retry_seconds)
        self._writer = Writer()


def _blocking[**P, T](operation: Callable[P, Operation[T]]) -> Callable[Concatenate["Client", P], T]:
    @wraps(operation)
    def method(self: "Client", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.connection.run(operation(*args, **kwargs))

    return method


def _awaited[**P, T](operation: Callable[P, Operation[T]]) -> Callable[Concatenate["AsyncClient", P], Coroutine[Any, Any, T]]:
    @wraps(operation)
    async def method(self: "AsyncClient", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.connection.arun(operation(*args, **kwargs))

    return method


class Client(_Base):
    __doc__ = _Base.__doc__

    list_projects = _blocking(projects.list_projects)
    find_project = _blocking(projects.find_project)
    create_project = _blocking(projects.create_project)
    get_project = _blocking(projects.get_project)
    search = _blocking(projects.search)

    create_session = _blocking(sessions.create_session)
    open_session = _blocking(sessions.open_session)
    find_session = _blocking(sessions.find_session)
    get_session = _blocking(sessions.get_session)
    list_sessions = _blocking(sessions.list_sessions)
    update_session = _blocking(sessions.update_session)
    delete_session = _blocking(sessions.delete_session)
    read_messages = _blocking(sessions.read_messages)
    read_message = _blocking(sessions.read_message)
    read_as = _blocking(sessions.read_as)
    changes_since = _blocking(sessions.changes_since)
    resume = _blocking(saving.resume)

    get_value = _blocking(memory.get_value)
    put_value = _blocking(memory.put_value)
    delete_value = _blocking(memory.delete_value)
    list_values = _blocking(memory.list_values)
    batch = _blocking(memory.batch)
    list_namespaces = _blocking(memory.list_namespaces)
    set_memory_settings = _blocking(memory.set_memory_settings)

    put_checkpoint = _blocking(checkpoints.put_checkpoint)
    get_checkpoint = _blocking(checkpoints.get_checkpoint)
    list_checkpoints = _blocking(checkpoints.list_checkpoints)
    put_writes = _blocking(checkpoints.put_writes)
    list_threads = _blocking(checkpoints.list_threads)
    delete_thread = _blocking(checkpoints.delete_thread)
    copy_thread = _blocking(checkpoints.copy_thread)
    prune_thread = _blocking(checkpoints.prune_thread)
    delete_runs = _blocking(checkpoints.delete_runs)

    def save(self, session: str, messages: Sequence[Op], *, base_rev: int = 0, if_rev: int | None = None) -> Saved:
        """Stores whole messages: `{"role": "user", "text": "…"}`, or `format` and `raw`; those without an `id` get one.
        Same arguments as `change`."""
        return self.change(session, saving.upserts(messages), base_rev=base_rev, if_rev=if_rev)

    def change(
        self,
        session: str,
        ops: Sequence[Op],
        *,
        base_rev: int = 0,
        if_rev: int | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> Saved:
        """The operations of docs/protocol.md. `base_rev`: the newest `rev` of which you have seen everything; without it, and
        without an op's `if_ver`, changes of what others wrote are conflicts. `if_rev`: 412 unless the session has this `rev`.
        `fields`: title, metadata, tags or head of the session, in the same transaction. 409 `stale_epoch`: somebody cleared the
        session; the texts are kept there as copies, and the next save is for the present epoch."""
        return self.connection.run(self._writer.change(session, ops, base_rev=base_rev, if_rev=if_rev, fields=fields))

    def clear(self, session: str) -> Cleared:
        """Removes all messages. It can be undone on the session's page."""
        return self.connection.run(self._writer.clear(session))

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(_Base):
    __doc__ = _Base.__doc__

    list_projects = _awaited(projects.list_projects)
    find_project = _awaited(projects.find_project)
    create_project = _awaited(projects.create_project)
    get_project = _awaited(projects.get_project)
    search = _awaited(projects.search)

    create_session = _awaited(sessions.create_session)
    open_session = _awaited(sessions.open_session)
    find_session = _awaited(sessions.find_session)
    get_session = _awaited(sessions.get_session)
    list_sessions = _awaited(sessions.list_sessions)
    update_session = _awaited(sessions.update_session)
    delete_session = _awaited(sessions.delete_session)
    read_messages = _awaited(sessions.read_messages)
    read_message = _awaited(sessions.read_message)
    read_as = _awaited(sessions.read_as)
    changes_since = _awaited(sessions.changes_since)
    resume = _awaited(saving.resume)

    get_value = _awaited(memory.get_value)
    put_value = _awaited(memory.put_value)
    delete_value = _awaited(memory.delete_value)
    list_values = _awaited(memory.list_values)
    batch = _awaited(memory.batch)
    list_namespaces = _awaited(memory.list_namespaces)
    set_memory_settings = _awaited(memory.set_memory_settings)

    put_checkpoint = _awaited(checkpoints.put_checkpoint)
    get_checkpoint = _awaited(checkpoints.get_checkpoint)
    list_checkpoints = _awaited(checkpoints.list_checkpoints)
    put_writes = _awaited(checkpoints.put_writes)
    list_threads = _awaited(checkpoints.list_threads)
    delete_thread = _awaited(checkpoints.delete_thread)
    copy_thread = _awaited(checkpoints.copy_thread)
    prune_thread = _awaited(checkpoints.prune_thread)
    delete_runs = _awaited(checkpoints.delete_runs)

    async def save(self, session: str, messages: Sequence[Op], *, base_rev: int = 0, if_rev: int | None = None) -> Saved:
        """As `Client.save`."""
        return await self.change(session, saving.upserts(messages), base_rev=base_rev, if_rev=if_rev)

    async def change(
        self,
        session: str,
        ops: Sequence[Op],
        *,
        base_rev: int = 0,
        if_rev: int | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> Saved:
        """As `Client.change`."""
        return await self.connection.arun(self._writer.change(session, ops, base_rev=base_rev, if_rev=if_rev, fields=fields))

    async def clear(self, session: str) -> Cleared:
        """Removes all messages. It can be undone on the session's page."""
        return await self.connection.arun(self._writer.clear(session))

    async def close(self) -> None:
        """The connections of this event loop."""
        await self.connection.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
