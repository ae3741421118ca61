"""State that several sessions share, and memories: in the project's memory, beneath `adk` and the app's name."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from google.adk.sessions.state import State
from pydantic_core import to_jsonable_python

from stillhere.connection import Connection, Operation
from stillhere.errors import StillhereError
from stillhere.http.json_texts import as_json, fits_json
from stillhere.operations import memory
from stillhere.operations.saving import pieces

ROOT = "adk"
MOST_OPS, LONGEST_LABEL, LONGEST_KEY = 500, 128, 512
MOST_VALUE_BYTES = 1_000_000
VALUE_TOO_LONG = "A value of the app's or the user's state has at most 1 MB. Nothing was stored."


class Delta(NamedTuple):
    """A change of state by its scopes, without their prefixes. What is temporary is left out."""

    app: dict[str, Any]
    user: dict[str, Any]
    session: dict[str, Any]

    @classmethod
    def of(cls, state: Mapping[str, Any] | None) -> "Delta":
        made = cls({}, {}, {})
        safe: dict[str, Any] = to_jsonable_python(dict(state or {}), serialize_unknown=True)
        for name, value in safe.items():
            if name.startswith(State.APP_PREFIX):
                made.app[name.removeprefix(State.APP_PREFIX)] = value
            elif name.startswith(State.USER_PREFIX):
                made.user[name.removeprefix(State.USER_PREFIX)] = value
            elif not name.startswith(State.TEMP_PREFIX):
                made.session[name] = value
        return made


class Shared(NamedTuple):
    """What the sessions of an app, and those of each of its users, share."""

    app: dict[str, Any]
    users: dict[str, dict[str, Any]]

    def merged(self, user_id: str, state: Mapping[str, Any]) -> dict[str, Any]:
        """As a session of the user shows it."""
        apps = {State.APP_PREFIX + name: value for name, value in self.app.items()}
        users = {State.USER_PREFIX + name: value for name, value in self.users.get(user_id, {}).items()}
        return {**state, **apps, **users}


class Store:
    """`values` and `change` are one request each, up to 500 values and 4 MB."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def shared(self, app_name: str, user_id: str | None) -> Operation[Shared]:
        """`user_id`: None for all users."""
        users = [ROOT, _label(app_name), "user"]
        places = [[ROOT, _label(app_name), "app"], users if user_id is None else [*users, _label(user_id)]]
        app, of_users = yield from self.values(places, "key", "value")
        made = Shared({each["key"]: each["value"] for each in app}, {})
        for each in [each for each in of_users if isinstance(each.get("user"), str)]:
            made.users.setdefault(each["user"], {})[each["key"]] = each["value"]
        return made

    def values(self, places: Sequence[Sequence[str]], *fields: str) -> Operation[list[list[Any]]]:
        """All that `put` stored in these namespaces and beneath them, as it was given: objects with these fields. What people or
        agents put there besides is passed over."""
        found: list[list[Any]] = [[] for _ in places]
        cursors: dict[int, str | None] = dict.fromkeys(range(len(places)))
        while cursors:
            ops = [_list(places[number], cursor) for number, cursor in cursors.items()]
            answers = dict(zip(cursors, (yield from memory.batch(ops)), strict=True))
            for number, answer in answers.items():
                values = [_as_sent(each["value"]) for each in answer["items"]]
                found[number] += [value for value in values if isinstance(value, dict) and value.keys() >= set(fields)]
            cursors = {number: answer["next"] for number, answer in answers.items() if answer["next"] is not None}
        return found

    def change(self, ops: Sequence[dict[str, Any]]) -> Operation[None]:
        if ops:
            yield from memory.keep_exactly(self._connection, ROOT)
        for some in pieces(ops) if ops else []:
            yield from memory.batch(some)


def puts_of(app_name: str, user_id: str, delta: Delta) -> list[dict[str, Any]]:
    """The operations that share it. Raises StillhereError with `state_too_long` if one of its values is."""
    place = [ROOT, _label(app_name)]
    ops = [put([*place, "app"], name, {"key": name, "value": value}) for name, value in delta.app.items()]
    for name, value in delta.user.items():
        ops.append(put([*place, "user", _label(user_id)], name, {"user": user_id, "key": name, "value": value}))
    if any(len(as_json(op["value"])) > MOST_VALUE_BYTES for op in ops):
        raise StillhereError(413, "state_too_long", VALUE_TOO_LONG, {})
    return ops


def put(namespace: Sequence[str], name: str, value: Any) -> dict[str, Any]:
    """`name`: any text."""
    fits = fits_json(value)
    key = name if 0 < len(name) <= LONGEST_KEY and "\0" not in name and fits_json(name) else digest(name)
    return {"op": "put", "namespace": list(namespace), "key": key, "value": value if fits else {"json": json.dumps(value)}}


def _as_sent(value: Any) -> Any:
    """The value of a `put`, from the stored one."""
    boxed = value.get("json") if isinstance(value, dict) else None
    try:
        return json.loads(boxed) if isinstance(boxed, str) else value
    except ValueError:
        return None


def place_of_memories(app_name: str, user_id: str) -> list[str]:
    return [ROOT, _label(app_name), "memory", _label(user_id)]


def digest(*names: str) -> str:
    return f"sha256:{hashlib.sha256(json.dumps(names).encode()).hexdigest()[:40]}"


def _list(place: Sequence[str], cursor: str | None) -> dict[str, Any]:
    return {"op": "list", "namespace": list(place), "deep": True, "values": True, "limit": MOST_OPS, "cursor": cursor}


def _label(name: str) -> str:
    return name if 0 < len(name) <= LONGEST_LABEL and "\0" not in name else digest(name)
