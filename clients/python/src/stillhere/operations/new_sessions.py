"""Sessions that begin with what is saved in them: where nothing can be stored none is created."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from stillhere.connection import Operation
from stillhere.errors import StillhereError
from stillhere.operations.projects import session_path, without_none
from stillhere.operations.records import Saved
from stillhere.operations.saving import Op, change_once, once, pieces, together
from stillhere.operations.whole_saves import save_whole

# What a save answers that created nothing.
_NOTHING: dict[str, list[Any]] = {name: [] for name in ("applied", "ignored", "conflicts", "rejected", "spared", "dropped")}
NOWHERE = Saved(session="", epoch=0, prev_rev=0, rev=0, saved_at="", **_NOTHING)


def save_in_new(ops: Sequence[Op], project: str, *, external_id: str | None = None, title: str = "") -> Operation[Saved]:
    """As `change` in a session that is created with the first operation that is stored, and becomes the current one. So is the
    `project`, if there is none. If nothing is stored, `session` is empty. Raises StillhereError, `external_id_taken`
    (`details.session`) if there is a session with this id."""
    session = str(uuid.uuid4())
    create = {"project": project, "new_project": True, "title": title, **without_none(external_id=external_id)}
    answers: list[Saved] = []
    created = False
    for some in pieces(ops):
        saved = yield from (change_once(session, some) if created else _save_first(session, some, create))
        created = created or bool(saved.session)
        answers.append(saved)
    saved = reduce(together, answers)
    return replace(saved, session=session if created else "")


def _save_first(session: str, ops: Sequence[Op], create: Mapping[str, Any]) -> Operation[Saved]:
    """Of all or nothing first: else the session would be created, though the server refuses all operations."""
    try:
        return (yield from save_whole(session, ops, {"create": create}))
    except StillhereError as error:
        if error.code != "rejected":
            raise
        rejected: list[dict[str, Any]] = error.details["rejected"]
    refused = {each["index"] for each in rejected}
    others = [op for number, op in enumerate(ops) if number not in refused]
    if not others:
        return replace(NOWHERE, rejected=rejected)
    saved = Saved.of((yield once(f"{session_path(session)}/changes", {"create": create, "ops": others})))
    return replace(saved, rejected=rejected)
