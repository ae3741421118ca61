"""The statements that erase rows of threads. Each returns the bytes of the rows that it erased: no sum is taken of what stays."""

import uuid
from collections.abc import Mapping, Sequence

from memory_app.checkpoints.pruning import DELTA_CHANNELS, Known
from memory_app.checkpoints.rows import CHECKPOINT, THREAD, VALUE, WRITE, Place, Thread, each_version
from sessions_app.core.public_names import db_uuid
from sessions_app.core.storage.sql import execute, fetch_row, fetch_rows, fetch_together, table_of


def find_thread(project_id: uuid.UUID, name: str) -> int | None:
    """Its id. It is not locked."""
    found = fetch_row(f"SELECT id FROM {THREAD} WHERE project_id = %s AND name = %s", [db_uuid(project_id), name])  # noqa: S608
    return None if found is None else int(found[0])


def erase_thread(thread: Thread) -> None:
    """Its row. It has no others any more."""
    execute(f"DELETE FROM {THREAD} WHERE id = %s", [thread.id])  # noqa: S608


def fitting(thread: Thread, places: Sequence[Place], most: int) -> tuple[list[Place], int]:
    """The first of these checkpoints, which together with their writes have at most so many rows, but at least one; and how many
    rows these are."""
    if not places:
        return [], 0
    given, parameters = table_of(["text", "text"], places)
    statement = f"""SELECT given.c0, given.c1, (SELECT COUNT(*) FROM {WRITE} w
WHERE w.thread_id = %s AND w.ns = given.c0 AND w.checkpoint_id = given.c1) FROM {given}"""  # noqa: S608 - our own names
    writes = {(ns, checkpoint_id): count for ns, checkpoint_id, count in fetch_rows(statement, [thread.id, *parameters])}
    count = 0
    for number, place in enumerate(places):
        if number and count + 1 + writes[place] > most:
            return list(places[:number]), count
        count += 1 + writes[place]
    return list(places), count


def erase_checkpoints(thread: Thread, places: Sequence[Place]) -> tuple[int, int]:
    """With their writes. Returns how many there were, and their bytes."""
    if not places:
        return 0, 0
    given, parameters = table_of(["text", "text"], places)
    at = f"WHERE thread_id = %s AND (ns, checkpoint_id) IN (SELECT given.c0, given.c1 FROM {given})"  # noqa: S608
    asked = [(f"DELETE FROM {table} {at} RETURNING size_bytes", [thread.id, *parameters]) for table in (WRITE, CHECKPOINT)]  # noqa: S608
    writes, checkpoints = fetch_together(asked)
    return len(checkpoints), sum(size for rows in (writes, checkpoints) for (size,) in rows)


def erase_rest(thread: Thread, most: int) -> tuple[int, int]:
    """So many writes and values of a thread without checkpoints. Returns how many there were, and their bytes."""
    count = freed = 0
    for table in (WRITE, VALUE):
        chosen = f"SELECT id FROM {table} WHERE thread_id = %s LIMIT %s"  # noqa: S608 - our own names
        statement = f"DELETE FROM {table} WHERE id IN ({chosen}) RETURNING size_bytes"  # noqa: S608
        sizes = fetch_rows(statement, [thread.id, most - count])
        count, freed = count + len(sizes), freed + sum(size for (size,) in sizes)
    return count, freed


def erase_values(thread: Thread, ids: Sequence[int]) -> int:
    if not ids:
        return 0
    given, parameters = table_of(["bigint"], [[each] for each in ids])
    statement = f"DELETE FROM {VALUE} WHERE thread_id = %s AND id IN (SELECT given.c0 FROM {given}) RETURNING size_bytes"  # noqa: S608
    return sum(size for (size,) in fetch_rows(statement, [thread.id, *parameters]))


def erase_unused(thread: Thread, ns: str, versions: Mapping[str, str]) -> int:
    """Of these versions, by channel, those that no checkpoint of the namespace refers to."""
    if not versions:
        return 0
    given, parameters = table_of(["text", "text"], list(versions.items()))
    used = f"""SELECT DISTINCT u.key, u.value FROM {CHECKPOINT} c CROSS JOIN {each_version()} u
WHERE c.thread_id = %s AND c.ns = %s AND (u.key, u.value) IN (SELECT given.c0, given.c1 FROM {given})"""  # noqa: S608 - our own names
    still = {(channel, version) for channel, version in fetch_rows(used, [thread.id, ns, *parameters])}
    unused = [pair for pair in versions.items() if pair not in still]
    if not unused:
        return 0
    given, parameters = table_of(["text", "text"], unused)
    at = f"WHERE thread_id = %s AND ns = %s AND (channel, version) IN (SELECT given.c0, given.c1 FROM {given})"  # noqa: S608
    erased = fetch_rows(f"DELETE FROM {VALUE} {at} RETURNING size_bytes", [thread.id, ns, *parameters])  # noqa: S608
    return sum(size for (size,) in erased)


def newest_row(thread_id: int) -> int:
    """The highest id of a row of its checkpoints: every later one, and every changed one, gets a higher id."""
    # `+ 0`: PostgreSQL would walk through the rows of all threads from the end.
    return int(fetch_row(f"SELECT COALESCE(MAX(id + 0), 0) FROM {CHECKPOINT} WHERE thread_id = %s", [thread_id])[0])  # noqa: S608


def has_newer(thread: Thread, row_id: int) -> bool:
    return fetch_row(f"SELECT 1 FROM {CHECKPOINT} WHERE thread_id = %s AND id > %s LIMIT 1", [thread.id, row_id]) is not None  # noqa: S608


def unused_values(thread_id: int) -> list[int]:
    """The ids of the values that no checkpoint of the thread refers to."""
    used = f"""SELECT DISTINCT c.ns AS ns, u.key AS channel, u.value AS version FROM {CHECKPOINT} c CROSS JOIN {each_version()} u
WHERE c.thread_id = %s"""  # noqa: S608 - our own names
    same = "u.ns = v.ns AND u.channel = v.channel AND u.version = v.version"
    statement = f"SELECT v.id FROM {VALUE} v LEFT JOIN ({used}) u ON {same} WHERE v.thread_id = %s AND u.ns IS NULL"  # noqa: S608
    return [value_id for (value_id,) in fetch_rows(statement, [thread_id, thread_id])]


def values_of_newer(thread: Thread, row_id: int) -> set[int]:
    """The ids of the values that checkpoints with a higher row refer to."""
    statement = f"""SELECT v.id FROM {CHECKPOINT} c CROSS JOIN {each_version()} u CROSS JOIN {VALUE} v
WHERE c.thread_id = %s AND c.id > %s
AND v.thread_id = c.thread_id AND v.ns = c.ns AND v.channel = u.key AND v.version = u.value"""  # noqa: S608 - our own names
    return {value_id for (value_id,) in fetch_rows(statement, [thread.id, row_id])}


def all_places(thread_id: int) -> list[Place]:
    """The oldest first."""
    statement = f"SELECT ns, checkpoint_id FROM {CHECKPOINT} WHERE thread_id = %s ORDER BY checkpoint_id, ns"  # noqa: S608
    return [(ns, checkpoint_id) for ns, checkpoint_id in fetch_rows(statement, [thread_id])]


def read_known(thread_id: int, places: Sequence[Place], *, with_versions: bool = False) -> list[Known]:
    """Metadata only of checkpoints that have delta channels, and versions only of these, or of all."""
    if not places:
        return []
    given, parameters = table_of(["text", "text"], places)
    delta = f"%{DELTA_CHANNELS}%"
    statement = f"""SELECT c.ns, c.checkpoint_id, c.parent_id, CASE WHEN c.metadata LIKE %s THEN c.metadata ELSE '' END,
CASE WHEN c.metadata LIKE %s THEN c.versions ELSE '' END FROM {given} CROSS JOIN {CHECKPOINT} c
WHERE c.thread_id = %s AND c.ns = given.c0 AND c.checkpoint_id = given.c1"""  # noqa: S608 - our own names
    asked = [delta, "%" if with_versions else delta, *parameters, thread_id]
    return [Known(*row) for row in fetch_rows(statement, asked)]
