"""Tools of a project's memory: its context, and values by namespace and key."""

import json
import uuid
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple

from django.db import DatabaseError
from pydantic import Field

from mcp_app.core import held_values
from mcp_app.core.calls import Call
from mcp_app.core.held_values import Held, HeldKey
from mcp_app.core.outcomes import Outcome, answered, refused, stored
from mcp_app.core.places import Place, UnknownProject, find_place, known_project, project_to_write
from mcp_app.core.tool import (
    DEFAULT_TOKENS,
    READ,
    WRITE,
    Arguments,
    Budget,
    Cursor,
    ProjectName,
    Tool,
    marked_schema,
)
from memory_app.context.queries import find_context, unsaved_context
from memory_app.core.namespaces import pack
from memory_app.core.stored_json import EntryNotFound
from memory_app.errors.queries import count_open_errors
from memory_app.key_value.entries import entry_rows, queries, reading
from memory_app.key_value.entries.entry_values import NewEntry, Removed, entry_etag
from memory_app.key_value.entries.generated import GENERATED, get_generated
from memory_app.key_value.entries.namespace_queries import list_namespaces, namespace_json
from memory_app.key_value.entries.services import delete_entry, put_entry
from sessions_app.core.errors import AppError, Invalid, PreconditionFailed
from sessions_app.core.public_names import now
from sessions_app.core.web.preconditions import ANY, Conditions
from sessions_app.projects.services import OtherProject

PAGE = 100
# A model may see the text only.
KEPT = "Until then it is kept in the server's memory, where `load` finds it. It is lost if the server ends before."
_ACTIONS_THAT_READ = frozenset({"load", "list", "stats"})


class Before(NamedTuple):
    """What a value that is kept was to replace: what was stored by this moment. `rev`: of that, because the clock may be set back
    since; 0: there was nothing, None: the store could not be read."""

    at: datetime
    rev: int | None


class ContextArguments(Arguments):
    project: ProjectName = None
    budget: Budget = DEFAULT_TOKENS


class StoreArguments(Arguments):
    action: Literal["save", "load", "list", "delete", "stats"]
    namespace: Annotated[
        str | None, Field(description="1 to 128 characters, such as `notes`. Only `list` and `stats` go without.")
    ] = None
    key: Annotated[str | None, Field(description="1 to 512 characters. For `save`, `load` and `delete`.")] = None
    data: Annotated[Any, Field(description="Any JSON value. For `save`, which replaces what the key had.")] = None
    project: ProjectName = None
    cursor: Cursor = None


def load_session_context(call: Call, given: ContextArguments) -> Outcome:
    place = find_place(call, given.project)
    if place.project_id is None:
        found = unsaved_context(caller=call.caller, path=place.path, budget=given.budget)
    else:
        found = find_context(caller=call.caller, project_id=place.project_id).body(given.budget)
    content = json.loads(found)
    errors = len(content["errors"]["unresolved"])
    if place.project_id is not None and any(one["section"] == "errors" for one in content["omitted"]):
        errors = count_open_errors([place.project_id]).get(place.project_id, 0)
    said = f"Session {content['session_count']} of this project, {errors} open errors, "
    return stored(f"{said}{len(content['omitted'])} sections cut to the budget.", content)


def session_store(call: Call, given: StoreArguments) -> Outcome:
    return _ACTIONS[given.action](call, given)


def _save(call: Call, given: StoreArguments) -> Outcome:
    namespace, key = _named(given)
    if "data" not in given.model_fields_set:
        raise Invalid("`save` needs `data`: the JSON value to keep.", details={"field": "data"})
    entry = NewEntry(pack([namespace]), key, given.data)
    place = find_place(call, given.project)
    if place.project_id is None and call.caller.project_id is not None:
        raise OtherProject  # A store that refuses all would not say so, and the value would be held.
    name, since = HeldKey(call.caller.user_id, place.path, entry.namespace, key), now()
    with held_values.settled(name):
        try:
            outcome = _put(call, place, entry)
        except (DatabaseError, AppError) as error:
            refusal = held_values.state_of_store(error)
            if refusal is None:
                raise
            before = Before(since, _rev_there(place, entry))
            kept = held_values.hold(Held(name, call.caller, given.data, lambda: _put(call, place, entry, before)))
            outcome = refused(refusal, kept_in_memory=kept)
            return replace(outcome, text=f"{outcome.text} {KEPT}") if kept else outcome
        held_values.drop(name)
        return outcome


def _put(call: Call, place: Place, entry: NewEntry, before: Before | None = None) -> Outcome:
    """`before`: unless there is a value that was stored since. Raises PreconditionFailed."""
    project_id = place.project_id or project_to_write(call, place.path)
    conditions = ANY if before is None else _unchanged(project_id, entry, before)
    done = put_entry(caller=call.caller, project_id=project_id, entry=entry, conditions=conditions, run_id=call.run_id)
    row = done.entry
    return answered(
        f"Saved {row.key}: rev {row.rev}, {row.size_bytes} bytes.",
        action="save",
        namespace=pack_text(row.namespace),
        key=row.key,
        rev=row.rev,
        size_bytes=row.size_bytes,
        created=done.made,
        redacted=done.redacted,
    )


def _rev_there(place: Place, entry: NewEntry) -> int | None:
    if place.project_id is None:
        return 0
    try:
        found = entry_rows.read_places(place.project_id, [(entry.namespace, entry.key)])
    except DatabaseError:
        return None
    return max((row.rev for row in found), default=0)


def _unchanged(project_id: uuid.UUID, entry: NewEntry, before: Before) -> Conditions:
    found = next(iter(entry_rows.read_places(project_id, [(entry.namespace, entry.key)])), None)
    if found is None or not found.is_live_at(now()):
        return Conditions(if_none_match="*")
    if found.updated_at > before.at or (before.rev is not None and found.rev > before.rev):
        raise PreconditionFailed
    return Conditions(if_match=entry_etag(found.rev))


def _load(call: Call, given: StoreArguments) -> Outcome:
    namespace, key = _named(given)
    place = find_place(call, given.project)
    held = held_values.find(HeldKey(call.caller.user_id, place.path, pack([namespace]), key), call.caller)
    if held is not None:
        content = {"namespace": namespace, "key": key, "value": held.value}
        return stored(f"{key}, which is kept in memory: the store refuses writes.", content, kept_in_memory=True)
    if place.project_id is None:
        raise UnknownProject
    if (namespace, key) in GENERATED:
        made, _ = get_generated(caller=call.caller, project_id=place.project_id, namespace=namespace, key=key)
        return stored(f"{namespace}/{key}, made from what was recorded.", made)
    row = reading.read_entry_of(project_id=place.project_id, namespace=pack([namespace]), key=key)
    return stored(f"{key}: rev {row.rev}.", queries.entry_json(row))


def _list(call: Call, given: StoreArguments) -> Outcome:
    project_id, after = known_project(call, given.project), given.cursor or ""
    if given.namespace is None:
        found = list_namespaces(caller=call.caller, project_id=project_id, after=after, limit=PAGE)
        following = found[PAGE - 1]["namespace"] if len(found) > PAGE else None
        return stored(
            f"{len(found[:PAGE])} namespaces.", {"items": [namespace_json(row) for row in found[:PAGE]]}, following=following
        )
    keys = queries.list_keys(
        caller=call.caller, project_id=project_id, namespace=pack([given.namespace]), prefix="", after=after, limit=PAGE
    )
    following = keys[PAGE - 1]["key"] if len(keys) > PAGE else None
    return stored(f"{len(keys[:PAGE])} keys.", {"items": keys[:PAGE]}, following=following)


def _delete(call: Call, given: StoreArguments) -> Outcome:
    namespace, key = _named(given)
    place = find_place(call, given.project)
    name = HeldKey(call.caller.user_id, place.path, pack([namespace]), key)
    with held_values.settled(name):
        is_held = held_values.find(name, call.caller) is not None
        try:
            restorable = _removed(call, place, name).id is not None
        except (DatabaseError, AppError) as error:
            if not is_held or not _holds_no(place, name, error):
                raise
            restorable = False  # It was only held.
        if is_held:
            held_values.drop(name)
    days = " A person can restore it for 30 days." if restorable else ""
    return answered(f"Removed {key}.{days}", action="delete", namespace=namespace, key=key, restorable=restorable)


def _removed(call: Call, place: Place, name: HeldKey) -> Removed:
    if place.project_id is None:
        raise UnknownProject
    return delete_entry(
        caller=call.caller,
        project_id=place.project_id,
        namespace=name.namespace,
        key=name.key,
        conditions=ANY,
        run_id=call.run_id,
    )


def _holds_no(place: Place, name: HeldKey, error: DatabaseError | AppError) -> bool:
    """Whether a delete was refused because there is no such entry, or by a store that cannot be written and has none."""
    if isinstance(error, (EntryNotFound, UnknownProject)):
        return True
    if place.project_id is None or held_values.state_of_store(error) is None:
        return False
    found = entry_rows.read_places(place.project_id, [(name.namespace, name.key)])
    return not any(row.is_live_at(now()) for row in found)


def _stats(call: Call, given: StoreArguments) -> Outcome:
    found = queries.memory_stats(caller=call.caller, project_id=known_project(call, given.project))
    return stored(f"{found['size_bytes']} bytes in {len(found['entries'])} namespaces.", found)


_ACTIONS = {"save": _save, "load": _load, "list": _list, "delete": _delete, "stats": _stats}


def pack_text(namespace: str) -> str:
    """A namespace of one label as the client named it."""
    return namespace.replace("~1", "/").replace("~0", "~")


def _named(given: StoreArguments) -> tuple[str, str]:
    if given.namespace is None or given.key is None:
        raise Invalid(f"`{given.action}` needs `namespace` and `key`.", details={"fields": ["namespace", "key"]})
    return given.namespace, given.key


_STORE_OUTPUT = {
    "type": "object",
    "properties": {
        "action": {"enum": ["save", "delete"], "description": "Absent in an answer with stored data."},
        "namespace": {"type": "string"},
        "key": {"type": "string"},
        "rev": {"type": "integer"},
        "size_bytes": {"type": "integer"},
        "created": {"type": "boolean"},
        "redacted": {"type": "object", "description": "How many secrets of each kind were removed before it was stored."},
        "restorable": {"type": "boolean"},
        "kept_in_memory": {"type": "boolean", "description": "The value waits for a store that can be written."},
        **marked_schema("`load`: the entry with its `value`. `list`: `items`. `stats`: sizes and limits.")["properties"],
    },
}

MEMORY_TOOLS = (
    Tool(
        name="load_session_context",
        title="Load the project's context",
        description=(
            "Call this first when you start work on a project. Returns what earlier runs left: open errors with known fixes, "
            "the handoff with its decisions, baselines, noise rules, slow endpoints, the current session and each AI's state."
        ),
        arguments=ContextArguments,
        output=marked_schema("The context, by section; `omitted` names what the budget cut."),
        run=load_session_context,
    ),
    Tool(
        name="session_store",
        title="Keep and read values",
        description=(
            "A small store of JSON values by namespace and key that outlives this conversation. `save` facts that a later run "
            "needs (at most 1 MB each), `load` one, `list` the keys of a namespace (without one: the namespaces), `stats` for "
            "sizes. `delete` removes one key; use it only if you were asked to."
        ),
        arguments=StoreArguments,
        output=_STORE_OUTPUT,
        run=session_store,
        scope=WRITE,
        scope_of=lambda given: READ if given.action in _ACTIONS_THAT_READ else WRITE,
        removes=True,
    ),
)
