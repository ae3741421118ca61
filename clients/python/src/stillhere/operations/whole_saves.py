"""Saves of a framework's objects: all of one request or none."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stillhere.connection import Operation
from stillhere.errors import StillhereError
from stillhere.operations.projects import session_path
from stillhere.operations.records import Saved
from stillhere.operations.saving import Op, once

PREVIEW_CHARACTERS = 1_000
# The object itself is stored all the same, with a text that the client writes.
_UNREADABLE = {"unreadable_raw", "text_too_long"}


def save_whole(
    session: str, ops: Sequence[Op], fields: Mapping[str, Any], role_of: Callable[[Any], str] | None = None
) -> Operation[Saved]:
    """At most 500 operations and 4 MB. `fields`: more of the request's body. `role_of`: of an object that the server cannot read,
    which is stored with this role and the beginning of its JSON as text. Raises StillhereError, `rejected` for what the server
    cannot store; then nothing was stored."""
    try:
        return (yield from _sent(session, ops, fields))
    except StillhereError as error:
        unread = _unread_in(error)
        if role_of is None or not unread:
            raise
    again = [{**op, **shown(op["raw"], role_of(op["raw"]))} if number in unread else op for number, op in enumerate(ops)]
    return (yield from _sent(session, again, fields))


def shown(raw: Any, role: str) -> dict[str, str]:
    """What is sent beside an object that the server cannot read."""
    return {"role": role, "text": json.dumps(raw, ensure_ascii=False)[:PREVIEW_CHARACTERS]}


def _sent(session: str, ops: Sequence[Op], fields: Mapping[str, Any]) -> Operation[Saved]:
    return Saved.of((yield once(f"{session_path(session)}/changes", {**fields, "atomic": True, "ops": ops})))


def _unread_in(error: StillhereError) -> set[int]:
    """Which operations the server cannot read, if that is all that is wrong."""
    rejected = error.details.get("rejected", []) if error.code == "rejected" else []
    return {each["index"] for each in rejected} if all(each["reason"] in _UNREADABLE for each in rejected) else set()
