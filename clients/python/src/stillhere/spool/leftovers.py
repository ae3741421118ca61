"""What the server did not do of a save."""

from collections.abc import Mapping, Sequence
from typing import Any

from stillhere.errors import StillhereError

type Leftovers = dict[str, list[Any]]

_NAMES = ("rejected", "conflicts", "spared", "removed")
REJECTED = "Some messages were rejected."
CONFLICT = "Somebody else had changed or removed some of these messages: what `details` names was not done."
TOO_LARGE = "A proxy before the server takes no request of this size."


def left_of(ops: Sequence[Mapping[str, Any]], answer: Mapping[str, Any], start: int = 0) -> Leftovers:
    """`start`: the index of the first of these operations in the save. Raises KeyError or TypeError for no answer to a save."""
    last = {op["id"]: op.get("op") for op in ops if isinstance(op.get("id"), str)}
    ignored = [each["id"] for each in answer["ignored"] if each["reason"] == "removed"]
    return {
        "rejected": [{**each, "index": each["index"] + start} for each in answer["rejected"]],
        # Without the stored messages: the file would hold one for each part of a growing answer.
        "conflicts": [{name: each[name] for name in each.keys() - {"server"}} for each in answer["conflicts"]],
        "spared": [*answer["spared"]],
        # What a delete asked for is so.
        "removed": [own_id for own_id in ignored if last.get(own_id) != "delete"],
    }


def too_large(op: Mapping[str, Any], index: int, error: StillhereError) -> Leftovers:
    """One operation that is alone in a request, and still too much."""
    shown = refusal_by(error)
    rejected = {"id": op.get("id"), "index": index, "reason": shown["code"], "message": shown["message"]}
    return {**{name: [] for name in _NAMES}, "rejected": [rejected]}


def together(first: Leftovers, second: Leftovers) -> Leftovers:
    return {name: [*first[name], *second[name]] for name in _NAMES}


def refusal_for(left: Leftovers) -> dict[str, Any] | None:
    """None: everything was done."""
    details = {name: some for name, some in left.items() if some}
    if not details:
        return None
    code, message = ("rejected", REJECTED) if "rejected" in details else ("conflict", CONFLICT)
    return {"status": 200, "code": code, "message": message, "details": details}


def refusal_by(error: StillhereError) -> dict[str, Any]:
    code, message = ("too_large", TOO_LARGE) if (error.status, error.code) == (413, "unreadable") else (error.code, error.message)
    return {"status": error.status, "code": code, "message": message, "details": error.details}
