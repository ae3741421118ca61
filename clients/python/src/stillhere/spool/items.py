"""Requests that wait in a spool, and what was refused of them."""

import json
import sqlite3
from typing import Any, NamedTuple


class Item(NamedTuple):
    """A request to a session, named by its id or by an external id. `epoch`: None until it is sent for the first time; from then
    on the request is the same each time. `number`: 0 if it is not in the file."""

    number: int
    session: str | None
    external_id: str | None
    opening: str
    writer_id: str
    seq: int
    epoch: int | None
    ops: str
    base_rev: int


class Refused(NamedTuple):
    """A request that the server did not do, or not completely. `ops`: what it had; of a damaged row `[{"damaged": …}]`. `error`:
    `{status, code, message, details}`. With the status 200 `details` lists what was not done, and the rest is stored:
    `rejected` as in `Saved`, and what others had changed before (if it is only that, the code is `conflict`): `conflicts`
    (`{id, copy_id}`, of an append with `length`; with a `copy_id` the session keeps the text as a copy), `spared`, which a
    truncate left, and `removed`, which no save restores. The status 0: it cannot be sent."""

    number: int
    session: str | None
    external_id: str | None
    ops: list[dict[str, Any]]
    error: dict[str, Any]


class SpoolError(Exception):
    """Neither the disk nor the server took a save: it is not stored. `__cause__`: why the server did not."""


class DamagedSpool(SpoolError, sqlite3.DatabaseError):
    """The file of a spool cannot be read, so nothing can be saved behind what waits in it. The message says what to do."""


def ops_in(text: object) -> list[dict[str, Any]]:
    """Those of a row. Raises ValueError if it is damaged, and RecursionError."""
    if not isinstance(text, str):
        raise ValueError("the row is damaged.")
    text.encode()  # What was no UTF-8 cannot be written as it.
    ops = json.loads(text)
    if not isinstance(ops, list) or not all(isinstance(op, dict) for op in ops):
        raise ValueError("the row is damaged.")
    return ops


def shown_ops(text: object) -> list[dict[str, Any]]:
    try:
        return ops_in(text)
    except (ValueError, RecursionError):
        return [{"damaged": text}]
