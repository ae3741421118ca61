"""Writing checkpoints: their values are stored once a version, the writes of tasks as they come."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings

from memory_app.checkpoints import row_erasing, rows
from memory_app.checkpoints.queries import CheckpointNotFound
from memory_app.checkpoints.rows import Place, Stored, Thread, Typed, Version
from memory_app.checkpoints.thread_locks import find_locked, give_room, open_thread, take_room
from sessions_app.core.errors import Conflict, TooLarge
from sessions_app.core.id_parsing import refuse_dots
from sessions_app.core.public_names import Caller, db_time, now
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.serialization.stored_json import read_object
from sessions_app.core.storage.sql import execute_together
from sessions_app.core.storage.transactions import write

# A refusal names so many versions.
NAMED = 100
# Of one checkpoint, which a read returns whole: its state, and its writes. Or as much as a request may have, if that is more.
MOST_BYTES = 100_000_000


class UnknownVersions(Conflict):
    code = "unknown_versions"
    message = "The checkpoint refers to versions that this thread does not have. Send their values with it: see details."


@dataclass(frozen=True, slots=True)
class NewCheckpoint:
    """`metadata`: an object as JSON. `versions`: of every channel that has a value in it. `values`: of the channels whose version
    is new."""

    place: Place
    parent: str
    typed: Typed
    metadata: str
    run_id: str
    versions: Mapping[str, str]
    values: Mapping[str, Typed]


@dataclass(frozen=True, slots=True)
class NewWrite:
    """`idx`: its number among the task's writes; a negative one replaces the write that has it."""

    idx: int
    channel: str
    typed: Typed


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """`differs`: channels whose version was stored before with other bytes, which stay."""

    created: bool
    differs: list[str]


def put_checkpoint(*, caller: Caller, project_id: uuid.UUID, thread: str, checkpoint: NewCheckpoint) -> StoredCheckpoint:
    """Store a checkpoint, or replace the one with its id. Raises UnknownVersions, TooLarge, CheckpointsFull."""

    def work() -> StoredCheckpoint:
        locked = open_thread(caller=caller, project_id=project_id, name=thread)
        return _put(project_id, locked, checkpoint)

    return write(work)


def _put(project_id: uuid.UUID, thread: Thread, new: NewCheckpoint) -> StoredCheckpoint:
    ns = new.place[0]
    wanted: dict[str, Version] = {channel: (ns, channel, version) for channel, version in new.versions.items()}
    known = rows.find_versions(thread, list(wanted.values()))
    _check_versions([version for channel, version in wanted.items() if version not in known and channel not in new.values])
    before = rows.find_checkpoint(thread, new.place)
    if before is None:
        refuse_dots(ns=ns, checkpoint_id=new.place[1])
    added = {wanted[channel]: typed for channel, typed in new.values.items() if wanted[channel] not in known}
    versions = json_text(dict(new.versions))
    size_bytes = rows.bytes_of(new.typed.data, *new.place, new.parent, new.metadata, versions, new.typed.type)
    added_bytes = sum(rows.value_bytes(version, typed) for version, typed in added.items())
    state_bytes = size_bytes + added_bytes + sum(known.values())
    _check_size("The state of a checkpoint", state_bytes)
    changed = before is not None and (before.parent, before.metadata, before.versions) != (new.parent, new.metadata, versions)
    created_at = db_time(now()) if before is None else before.created_at
    row = [*new.place, new.parent, new.run_id, created_at, size_bytes, state_bytes]
    row += [new.metadata, versions, new.typed.type, new.typed.data]
    works = [rows.put_values(thread, added.items())] if added else []
    works += [rows.erase_row(thread, new.place)] if changed else []
    execute_together([*works, rows.put_checkpoint(thread, row)])
    freed = 0 if before is None else before.size_bytes + _erase_replaced(thread, ns, before, new.versions)
    take_room(project_id, thread, max(size_bytes + added_bytes - freed, -thread.size_bytes))
    sent_again = {wanted[channel]: typed for channel, typed in new.values.items() if wanted[channel] in known}
    return StoredCheckpoint(before is None, _differing(thread, sent_again))


def _erase_replaced(thread: Thread, ns: str, before: Stored, versions: Mapping[str, str]) -> int:
    """Values that only the replaced checkpoint referred to. Returns their bytes."""
    earlier = read_object(before.versions) or {}
    return row_erasing.erase_unused(
        thread, ns, {name: version for name, version in earlier.items() if versions.get(name) != version}
    )


def _check_versions(missing: Sequence[Version]) -> None:
    if missing:
        named = [{"channel": channel, "version": version} for _, channel, version in missing[:NAMED]]
        raise UnknownVersions(details={"versions": named, "count": len(missing)})


def _check_size(what: str, size_bytes: int) -> None:
    limit = max(MOST_BYTES, settings.MAX_BODY_BYTES)
    if size_bytes > limit:
        raise TooLarge(f"{what} has at most {limit} bytes.", details={"size_bytes": size_bytes, "limit": limit})


def _differing(thread: Thread, sent: Mapping[Version, Typed]) -> list[str]:
    stored = rows.read_values(thread.id, list(sent))
    return sorted(
        channel for ns, channel, version, name, data in stored if sent[ns, channel, version] != Typed(name, bytes(data))
    )


def put_writes(
    *, caller: Caller, project_id: uuid.UUID, thread: str, place: Place, task: tuple[str, str], writes: Sequence[NewWrite]
) -> int:
    """Store what a task wrote, `task` being its id and its path. Of writes with the same number the first stays, but a negative
    number is replaced. Returns how many were stored. Raises TooLarge, CheckpointsFull."""
    task_id, task_path = task
    names = (*place, task_id, task_path)

    def work() -> int:
        locked = open_thread(caller=caller, project_id=project_id, name=thread)
        known = rows.find_writes(locked, place, task_id)
        if not known:
            refuse_dots(ns=place[0], checkpoint_id=place[1], task=task_id)
        taken = {each.idx: each for each in reversed(writes) if each.idx < 0 or each.idx not in known}
        taken |= {each.idx: each for each in writes if each.idx < 0}
        if taken:
            sizes = {idx: rows.bytes_of(each.typed.data, *names, each.channel, each.typed.type) for idx, each in taken.items()}
            each_row = [
                [*place, task_id, idx, task_path, each.channel, sizes[idx], each.typed.type, each.typed.data]
                for idx, each in taken.items()
            ]
            execute_together([rows.put_writes(locked, each_row)])
            growth = sum(size - known.get(idx, 0) for idx, size in sizes.items())
            if locked.size_bytes + growth > MOST_BYTES:  # Else those of one checkpoint cannot be more.
                _check_size("What tasks wrote after a checkpoint", rows.sum_writes(locked, place))
            take_room(project_id, locked, growth)
        return len(taken)

    return write(work)


def delete_checkpoint(*, caller: Caller, project_id: uuid.UUID, thread: str, place: Place) -> None:
    """Erase a checkpoint with its writes, and the values that nothing refers to any more. Raises CheckpointNotFound."""

    def work() -> None:
        locked = find_locked(caller=caller, project_id=project_id, name=thread)
        found = None if locked is None else rows.find_checkpoint(locked, place)
        if locked is None or found is None:
            raise CheckpointNotFound
        _, freed = row_erasing.erase_checkpoints(locked, [place])
        freed += row_erasing.erase_unused(locked, place[0], read_object(found.versions) or {})
        give_room(project_id, locked, freed)

    write(work)
