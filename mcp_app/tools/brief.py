"""A tool that says in a few words where the work stands. No model is asked: everything in it was saved."""

from typing import Any

import orjson

from mcp_app.core.calls import Call
from mcp_app.core.message_text import brief, newest_within
from mcp_app.core.outcomes import Outcome, stored
from mcp_app.core.places import find_place
from mcp_app.core.tool import BYTES_A_TOKEN, Arguments, Budget, ProjectName, Tool, marked_schema
from memory_app.context.size_budget import Section, cut
from memory_app.errors.queries import count_open_errors, error_json, list_errors
from sessions_app.agents.handoff.queries import handoff_of
from sessions_app.agents.states.queries import states_of
from sessions_app.chats.reading.messages import live_window
from sessions_app.chats.reading.sessions import SessionRow, get_session

DEFAULT_BRIEF_TOKENS = 1_000
MOST_ERRORS = 20
# Of the last question.
QUESTION_SHARE = 0.4
_OF_ERROR = ("fingerprint", "message", "count", "last_seen", "known_fix")


class BriefArguments(Arguments):
    project: ProjectName = None
    budget: Budget = DEFAULT_BRIEF_TOKENS


def session_brief(call: Call, given: BriefArguments) -> Outcome:
    place, room = find_place(call, given.project), given.budget * BYTES_A_TOKEN
    session = None
    if place.current_session_id is not None:
        session = get_session(caller=call.caller, session_id=place.current_session_id)
    head: dict[str, Any] = {
        "project": place.path,
        "session": None if session is None else {"id": str(session.id), "title": session.title},
        "last_question": None if session is None else _last_question(session, int(room * QUESTION_SHARE)),
    }
    plan, todos = _work(session)
    decisions = _decisions(place.project_id)
    errors, open_errors = _errors(call, place.project_id)
    content = cut(
        head,
        [
            Section("plan", lambda kept: kept["steps"], {"steps": plan}),
            Section("todos", lambda kept: kept["items"], {"items": todos}),
            Section("decisions", lambda kept: kept["items"], {"items": decisions}),
            Section("errors", lambda kept: kept["items"], {"items": errors}, count=open_errors),
        ],
        room,
    )
    counted = {"plan step": len(plan), "open todo": len(todos), "decision": len(decisions), "open error": open_errors}
    said = ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for name, count in counted.items())
    return stored(f"{said}.", content)


def _last_question(session: SessionRow, room: int) -> dict[str, Any] | None:
    window = live_window(session_id=session.id, live=session.live)
    asked = [message for message in window.items if message["role"] == "user"]
    kept, _ = newest_within(asked[-1:], room)
    return next(iter(kept), None) or (None if not asked else {**brief(asked[-1]), "text": "", "cut": True})


def _work(session: SessionRow | None) -> tuple[list[Any], list[dict[str, Any]]]:
    """The steps of the plan, and the todos of all AIs that are not done."""
    if session is None:
        return [], []
    states = states_of(session.id)
    agent = {} if states.agent is None else orjson.loads(orjson.dumps(states.agent))
    steps = ((agent.get("plan") or {}).get("steps")) or []
    todos = []
    for state in orjson.loads(orjson.dumps(states.ais)):
        open_ones = [todo for todo in state.get("todos") or [] if todo.get("status") != "completed"]
        todos += [{"ai_id": state["ai_id"], **todo} for todo in open_ones]
    return steps, todos


def _decisions(project_id: Any) -> list[Any]:
    found = None if project_id is None else handoff_of(project_id)
    return [] if found is None or found["live"] is None else list(found["live"]["decisions"])


def _errors(call: Call, project_id: Any) -> tuple[list[dict[str, Any]], int]:
    """The newest ones, and how many there are."""
    if project_id is None:
        return [], 0
    rows = list_errors(caller=call.caller, project_id=project_id, state="unresolved", limit=MOST_ERRORS)
    count = len(rows) if len(rows) <= MOST_ERRORS else count_open_errors([project_id]).get(project_id, 0)
    shapes = [error_json(row) for row in rows[:MOST_ERRORS]]
    return [{name: shape[name] for name in _OF_ERROR} for shape in shapes], count


BRIEF_TOOLS = (
    Tool(
        name="session_brief",
        title="Where the work stands",
        description=(
            'A short answer to "where were we?": the user\'s last question, the plan, open todos, decisions and open errors of '
            "the project's current session. Cheaper than `session_resume`; call it after the context was compacted."
        ),
        arguments=BriefArguments,
        output=marked_schema("`project`, `session`, `last_question`, `plan`, `todos`, `decisions`, `errors`, `omitted`."),
        run=session_brief,
    ),
)
