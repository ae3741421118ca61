"""Reading the values of one checkpoint for a page: a few statements, and a limited number of bytes, whatever is stored."""

from collections.abc import Sequence
from typing import NamedTuple

from memory_app.checkpoints.rows import CHECKPOINT, VALUE, WRITE, Place
from memory_app.checkpoints.value_previews import MOST_BYTES
from memory_app.models import GraphThread
from sessions_app.core.serialization.stored_json import read_object
from sessions_app.core.storage.sql import fetch_row, fetch_rows, table_of

# Of one page: channels, writes of a kind, characters of JSON that name the versions, and bytes of all values.
MOST_CHANNELS, MOST_WRITES, MOST_VERSIONS, PAGE_BYTES = 100, 10, 100_000, 2_000_000
# Of a list's previews: of one thread, and of all of them.
PREVIEW_BYTES, PREVIEWS_BYTES = 100_000, 1_000_000
# The channel of LangGraph's own states of messages.
MESSAGES = "messages"


class StoredValue(NamedTuple):
    """Of a channel, or of a write to it. `data`: None, if there are too many bytes for a page."""

    channel: str
    type: str
    size_bytes: int
    data: bytes | None


class StoredState(NamedTuple):
    """`own`: the checkpoint's own data, which hold short values. `left_out`: how many channels were not read; None: all, as there
    are too many versions."""

    place: Place
    own: StoredValue
    metadata: str
    values: list[StoredValue]
    left_out: int | None
    writes: list[StoredValue]


def is_internal(channel: str) -> bool:
    """Whether LangGraph keeps a channel for itself, such as `branch:to:…`."""
    return channel.startswith(("__", "branch:"))


def read_state(thread: GraphThread, place: Place, written: Sequence[str]) -> StoredState | None:
    """A checkpoint with its values, and with what was written to the channels `written` after it. None: there is none."""
    statement = f"""SELECT c.type, LENGTH(c.data), CASE WHEN LENGTH(c.data) <= {MOST_BYTES} THEN c.data END,
CASE WHEN LENGTH(c.versions) <= {MOST_VERSIONS} THEN c.versions END, c.metadata
FROM {CHECKPOINT} c WHERE c.thread_id = %s AND c.ns = %s AND c.checkpoint_id = %s"""  # noqa: S608 - our own names
    found = fetch_row(statement, [thread.pk, *place])
    if found is None:
        return None
    kind, size_bytes, data, versions, metadata = found
    by_channel = {} if versions is None else read_object(versions) or {}
    texts = [(name, version) for name, version in by_channel.items() if isinstance(version, str)]
    chosen = sorted(texts, key=lambda pair: (is_internal(pair[0]), pair[0] != MESSAGES, pair[0]))[:MOST_CHANNELS]
    return StoredState(
        place,
        _stored("", kind, size_bytes, data),
        metadata,
        _read_values(thread, place[0], chosen),
        None if versions is None else len(texts) - len(chosen),
        _read_writes(thread, place, written),
    )


def _read_values(thread: GraphThread, ns: str, chosen: Sequence[tuple[str, str]]) -> list[StoredValue]:
    """Those that are stored, in the order in which they were chosen, as long as there is room."""
    if not chosen:
        return []
    ordered = [(number, channel, version) for number, (channel, version) in enumerate(chosen)]
    given, parameters = table_of(["bigint", "text", "text"], ordered)
    fits = f"LENGTH(v.data) <= {MOST_BYTES}"
    taken = f"SUM(CASE WHEN {fits} THEN LENGTH(v.data) ELSE 0 END) OVER (ORDER BY given.c0)"
    statement = f"""SELECT v.channel, v.type, LENGTH(v.data), CASE WHEN {fits} AND {taken} <= {PAGE_BYTES} THEN v.data END
FROM {given} CROSS JOIN {VALUE} v WHERE v.thread_id = %s AND v.ns = %s AND v.channel = given.c1 AND v.version = given.c2
ORDER BY given.c0"""  # noqa: S608 - our own names
    return [_stored(*row) for row in fetch_rows(statement, [*parameters, thread.pk, ns])]


def _read_writes(thread: GraphThread, place: Place, written: Sequence[str]) -> list[StoredValue]:
    marks = ", ".join(["%s"] * len(written))
    statement = f"""SELECT w.channel, w.type, LENGTH(w.data), CASE WHEN LENGTH(w.data) <= {PREVIEW_BYTES} THEN w.data END
FROM {WRITE} w WHERE w.thread_id = %s AND w.ns = %s AND w.checkpoint_id = %s AND w.channel IN ({marks})
ORDER BY w.task_path, w.task_id, w.idx LIMIT {MOST_WRITES}"""  # noqa: S608 - our own names
    return [_stored(*row) for row in fetch_rows(statement, [thread.pk, *place, *written])]


def read_last_messages(newest: Sequence[tuple[int, str]]) -> dict[int, StoredValue]:
    """The value of the channel `messages` by thread, where it is short enough. `newest`: a thread's number and the id of its
    newest checkpoint. At most two statements."""
    if not newest:
        return {}
    given, parameters = table_of(["bigint", "text"], newest)
    statement = f"""SELECT c.thread_id, c.versions FROM {given} CROSS JOIN {CHECKPOINT} c WHERE c.thread_id = given.c0
AND c.ns = '' AND c.checkpoint_id = given.c1 AND LENGTH(c.versions) <= {MOST_VERSIONS // 10}"""  # noqa: S608 - our own names
    versions = {thread: (read_object(text) or {}).get(MESSAGES) for thread, text in fetch_rows(statement, parameters)}
    wanted = sorted(((thread, text) for thread, text in versions.items() if isinstance(text, str)), reverse=True)
    if not wanted:
        return {}
    given, parameters = table_of(["bigint", "text"], wanted)
    taken = "SUM(LENGTH(v.data)) OVER (ORDER BY v.thread_id DESC)"
    statement = f"""SELECT v.thread_id, v.channel, v.type, LENGTH(v.data), CASE WHEN {taken} <= {PREVIEWS_BYTES} THEN v.data END
FROM {given} CROSS JOIN {VALUE} v WHERE v.thread_id = given.c0 AND v.ns = '' AND v.channel = '{MESSAGES}'
AND v.version = given.c1 AND LENGTH(v.data) <= {PREVIEW_BYTES}"""  # noqa: S608 - our own names
    return {thread: _stored(*row) for thread, *row in fetch_rows(statement, parameters)}


def _stored(channel: str, kind: str, size_bytes: int, data: bytes | memoryview | None) -> StoredValue:
    return StoredValue(channel, kind, size_bytes, None if data is None else bytes(data))
