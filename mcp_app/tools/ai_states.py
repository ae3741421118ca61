"""Tools of an AI's own working state in a session."""

import json
from typing import Annotated, Any, Literal

from pydantic import Field

from mcp_app.core.calls import Call
from mcp_app.core.message_text import beginning_of
from mcp_app.core.outcomes import Outcome, answered, size_of, stored
from mcp_app.core.parts import PartArguments, within_budget
from mcp_app.core.places import known_session, session_to_write
from mcp_app.core.tool import (
    BYTES_A_TOKEN,
    DEFAULT_TOKENS,
    WRITE,
    Arguments,
    Budget,
    Cursor,
    ProjectName,
    SessionName,
    Tool,
    marked_schema,
    schema,
)
from sessions_app.agents.states.ai_states import save_ai_state
from sessions_app.agents.states.queries import AiStateNotFound, ai_json, get_ai_state, list_ai_states, sound_ai_json
from sessions_app.agents.states.schemas import AI_ID, LongText, Todo
from sessions_app.agents.transfer.execution import Choice, OnConflict, Part
from sessions_app.agents.transfer.services import Transfer, transfer
from sessions_app.chats.reading.sessions import SessionRow
from sessions_app.core.errors import Conflict, Invalid
from sessions_app.core.public_names import rfc3339
from sessions_app.models import AiState
from sessions_app.models.agent_states import MOST_TODOS

PAGE = 50
AiId = Annotated[str, Field(pattern=AI_ID, description="Your name: small letters, digits, `.`, `_`, `-`; such as `claude`.")]
_FIELDS = ("todos", "working_notes", "context_summary")
_PARTS = (*_FIELDS, "transferred_through")
_NAMED = "A session's UUID or your own external id."


class SaveArguments(Arguments):
    ai_id: AiId
    todos: Annotated[list[Todo], Field(max_length=MOST_TODOS)] | None = None
    working_notes: LongText | None = None
    context_summary: LongText | None = None
    session_id: SessionName = None
    project: ProjectName = None


class GetArguments(PartArguments):
    ai_id: AiId
    part: Annotated[
        Literal["todos", "working_notes", "context_summary", "transferred_through"] | None,
        Field(description="Only this, page by page; left out: all, as much as the budget allows."),
    ] = None
    session_id: SessionName = None
    project: ProjectName = None


class TransferArguments(Arguments):
    from_session: Annotated[str, Field(min_length=1, max_length=128, description=_NAMED)]
    to_session: Annotated[str, Field(min_length=1, max_length=128, description=_NAMED)]
    ai_id: AiId
    project: ProjectName = None


class ListArguments(Arguments):
    session_id: SessionName = None
    budget: Budget = DEFAULT_TOKENS
    project: ProjectName = None
    cursor: Cursor = None


class UnknownState(AiStateNotFound):
    message = "No AI of this name has a state in this session. `ai_state_list` shows the names; `ai_state_save` makes a state."


def ai_state_save(call: Call, given: SaveArguments) -> Outcome:
    """What is left out, or null, stays: many clients send null for what their model left out."""
    sent = given.model_dump(exclude_unset=True)
    fields = {name: sent[name] for name in _FIELDS if sent.get(name) is not None}
    if not fields:
        raise Invalid("Send at least one of `todos`, `working_notes` and `context_summary`.", details={"fields": list(_FIELDS)})
    session = session_to_write(call, given.session_id, given.project)
    state, created, redacted = save_ai_state(
        caller=call.caller, session_id=session.id, ai_id=given.ai_id, fields=fields, keep=True
    )
    return answered(
        f"Saved the state of {given.ai_id}: rev {state.rev}.",
        session=str(session.id),
        ai_id=given.ai_id,
        rev=state.rev,
        updated_at=rfc3339(state.updated_at),
        created=created,
        redacted=redacted,
    )


def ai_state_get(call: Call, given: GetArguments) -> Outcome:
    session = known_session(call, given.session_id, given.project)
    state = _state_of(call, session, given.ai_id)
    content = {"session": str(session.id), **json.loads(ai_json(state))}
    parts = {name: content.pop(name) for name in _PARTS if isinstance(content.get(name), str | list)}
    return within_budget(f"State of {given.ai_id}, rev {state.rev}.", content, parts, given)


def _state_of(call: Call, session: SessionRow, ai_id: str) -> AiState:
    try:
        return get_ai_state(caller=call.caller, session_id=session.id, ai_id=ai_id)
    except AiStateNotFound:
        raise UnknownState from None


def ai_state_transfer(call: Call, given: TransferArguments) -> Outcome:
    """Merges: what the target has already is kept."""
    source = known_session(call, given.from_session, given.project)
    _state_of(call, source, given.ai_id)
    target = session_to_write(call, given.to_session, given.project)
    choice = Choice(
        include=frozenset({Part.AI_STATES}), ai_ids=frozenset({given.ai_id}), move=False, on_conflict=OnConflict.MERGE
    )
    done = transfer(caller=call.caller, session_id=source.id, wanted=Transfer(to_session=target.id, choice=choice))
    body = json.loads(done.body)
    if done.status >= Conflict.status:
        raise Conflict(body["error"]["message"], code=body["error"]["code"])
    how = next((carried["how"] for carried in body["carried"]), "same")
    return answered(
        f"The state of {given.ai_id} is in the other session now ({how}).",
        from_session=str(source.id),
        to_session=str(target.id),
        ai_id=given.ai_id,
        how=how,
    )


def ai_state_list(call: Call, given: ListArguments) -> Outcome:
    session = known_session(call, given.session_id, given.project)
    rows = list_ai_states(caller=call.caller, session_id=session.id, after=given.cursor or "", limit=PAGE)
    head = {"session": str(session.id), "items": []}
    room = given.budget * BYTES_A_TOKEN - size_of(head)
    items = _within([json.loads(item) for item in sound_ai_json(rows[:PAGE])], room)
    following = rows[PAGE - 1].ai_id if len(rows) > PAGE else None
    content = {**head, "items": items}
    advice = " `ai_state_get` reads all of one that is `cut`." if any("cut" in item for item in items) else ""
    return stored(f"{len(items)} AIs have a state in this session.{advice}", content, following=following)


def _within(states: list[dict[str, Any]], room: int) -> list[dict[str, Any]]:
    """Short states stay whole, long ones share the rest evenly."""
    kept: dict[str, dict[str, Any]] = {}
    for waiting, state in zip(range(len(states), 0, -1), sorted(states, key=size_of), strict=True):
        kept[state["ai_id"]] = _cut(state, room // waiting)
        room = max(0, room - size_of(kept[state["ai_id"]]) - 1)
    return [kept[state["ai_id"]] for state in states]


def _cut(state: dict[str, Any], room: int) -> dict[str, Any]:
    """As much of a state as fits. If that is not all, it is marked `cut`."""
    if size_of(state) <= room:
        return state
    shorter = {name: value for name, value in state.items() if name not in _FIELDS} | {"cut": True}
    for left, name in zip((3, 2, 1), _FIELDS, strict=True):
        if state.get(name):
            share = (room - size_of(shorter)) // left - len(name) - 4
            shorter[name] = beginning_of(state[name], share)
    return shorter


AI_STATE_TOOLS = (
    Tool(
        name="ai_state_save",
        title="Save your working state",
        description=(
            "Save your todos, notes and summary, so that you can go on after the context was reset. Call it after each step of "
            "work and before the context is compacted. Fields that you leave out stay as they are; earlier versions are kept."
        ),
        arguments=SaveArguments,
        output=schema(session="string", ai_id="string", rev="integer", updated_at="string", created="boolean", redacted="object"),
        run=ai_state_save,
        scope=WRITE,
    ),
    Tool(
        name="ai_state_get",
        title="Read your working state",
        description="Read the todos, notes and summary that you saved. Call it when you start, or if you lost track.",
        arguments=GetArguments,
        output=marked_schema("`session`, `ai_id`, `todos`, `working_notes`, `context_summary`, `updated_at`, `rev`, `omitted`."),
        run=ai_state_get,
    ),
    Tool(
        name="ai_state_transfer",
        title="Carry a state to another session",
        description=(
            "Copy an AI's state from one session to another, for example when the work goes on in a new session. States that are "
            "there already are merged with it. A new external id as `to_session` makes that session."
        ),
        arguments=TransferArguments,
        output=schema(from_session="string", to_session="string", ai_id="string", how="string"),
        run=ai_state_transfer,
        scope=WRITE,
    ),
    Tool(
        name="ai_state_list",
        title="List the states of a session",
        description="See which AIs work in a session, and what each of them does.",
        arguments=ListArguments,
        output=marked_schema("`session` and `items`: the state of each AI; one that the budget shortened is marked `cut`."),
        run=ai_state_list,
    ),
)
