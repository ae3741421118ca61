"""Tools of an AI's own working state in a session."""

import json
from typing import Annotated, Any

from pydantic import Field

from mcp_app.core.calls import Call
from mcp_app.core.outcomes import Outcome, answered, stored
from mcp_app.core.places import known_session, session_to_write
from mcp_app.core.tool import WRITE, Arguments, Cursor, ProjectName, SessionName, Tool, marked_schema, schema
from sessions_app.agents.states.ai_states import save_ai_state
from sessions_app.agents.states.queries import ai_json, get_ai_state, list_ai_states, sound_ai_json
from sessions_app.agents.states.schemas import AI_ID, LongText, Todo
from sessions_app.agents.transfer.execution import Choice, OnConflict, Part
from sessions_app.agents.transfer.services import Transfer, transfer
from sessions_app.core.errors import Conflict, Invalid
from sessions_app.core.public_names import rfc3339
from sessions_app.models.agent_states import MOST_TODOS

PAGE = 50
AiId = Annotated[str, Field(pattern=AI_ID, description="Your name: small letters, digits, `.`, `_`, `-`; such as `claude`.")]
_FIELDS = ("todos", "working_notes", "context_summary")


class SaveArguments(Arguments):
    ai_id: AiId
    todos: Annotated[list[Todo], Field(max_length=MOST_TODOS)] | None = None
    working_notes: LongText | None = None
    context_summary: LongText | None = None
    session_id: SessionName = None
    project: ProjectName = None


class GetArguments(Arguments):
    ai_id: AiId
    session_id: SessionName = None
    project: ProjectName = None


class TransferArguments(Arguments):
    from_session: Annotated[str, Field(min_length=1, max_length=128)]
    to_session: Annotated[str, Field(min_length=1, max_length=128)]
    ai_id: AiId
    project: ProjectName = None


class ListArguments(Arguments):
    session_id: SessionName = None
    project: ProjectName = None
    cursor: Cursor = None


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
    state = get_ai_state(caller=call.caller, session_id=session.id, ai_id=given.ai_id)
    content = {"session": str(session.id), **json.loads(ai_json(state))}
    return stored(f"State of {given.ai_id}, rev {state.rev}.", content)


def ai_state_transfer(call: Call, given: TransferArguments) -> Outcome:
    """Merges: what the target has already is kept."""
    source = known_session(call, given.from_session, given.project)
    get_ai_state(caller=call.caller, session_id=source.id, ai_id=given.ai_id)
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
    items: list[Any] = [json.loads(item) for item in sound_ai_json(rows[:PAGE])]
    following = rows[PAGE - 1].ai_id if len(rows) > PAGE else None
    content = {"session": str(session.id), "items": items}
    return stored(f"{len(items)} AIs have a state in this session.", content, following=following)


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
        output=marked_schema("`session`, `ai_id`, `todos`, `working_notes`, `context_summary`, `updated_at`, `rev`."),
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
        output=marked_schema("`session` and `items`: the state of each AI."),
        run=ai_state_list,
    ),
)
