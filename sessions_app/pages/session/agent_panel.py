"""The agent panel of a session's page: plan, open question, each AI's todos and notes."""

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.utils.safestring import SafeString

from sessions_app.agents.states.pending_actions import KEY_LENGTH, key_of
from sessions_app.agents.states.queries import states_in_session
from sessions_app.chats.reading.session_previews import session_names
from sessions_app.core.rendering.page_renderer import PageRenderer
from sessions_app.core.serialization.json_text import fingerprint
from sessions_app.core.serialization.stored_json import read_object
from sessions_app.models import AiState, Caller
from sessions_app.models.times import now

LONGEST, MOST_LINES = 20_000, 300
DONE = {"completed", "skipped"}
OTHER_FIELDS = {"context": "Context", "pr_data": "Pull request", "last_error": "Last error"}


@dataclass(frozen=True, slots=True)
class Line:
    """A step of a plan, or a todo."""

    words: str
    status: str

    @property
    def told(self) -> str:
        return self.status.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Lines:
    title: str
    items: list[Line]

    @property
    def shown(self) -> list[Line]:
        return self.items[:MOST_LINES]

    @property
    def more(self) -> int:
        return len(self.items) - len(self.shown)

    @property
    def done(self) -> int:
        return sum(item.status in DONE for item in self.items)


@dataclass(frozen=True, slots=True)
class Question:
    """A pending action, with its answer if there is one. `fields`: the payload, if it is an object.

    Keys for ids of HTML: `id_key` of the action, `content_key` of all that its reader decides about.
    """

    id: str
    id_key: str
    content_key: str
    kind: str
    payload: str
    fields: list[tuple[str, str]]
    expires_at: datetime | None
    expired: bool
    resolution: dict[str, Any] | None

    @property
    def open(self) -> bool:
        return self.resolution is None and not self.expired


@dataclass(frozen=True, slots=True)
class Source:
    """The session that a state was transferred from; without a title if it was deleted."""

    session_id: uuid.UUID
    title: str | None
    at: str | None


@dataclass(frozen=True, slots=True)
class Ai:
    ai_id: str
    updated_at: datetime
    todos: Lines
    notes: SafeString
    summary: SafeString
    source: Source | None


@dataclass(frozen=True, slots=True)
class AgentPanel:
    plan: Lines | None
    question: Question | None
    other: list[tuple[str, str]]
    saved_at: datetime | None
    ais: list[Ai]


def agent_panel(*, caller: Caller, session_id: uuid.UUID, renderer: PageRenderer) -> AgentPanel:
    """The panel's content, in as many statements whatever its size. Damaged states are left out."""
    state, ai_states = states_in_session(session_id)
    contents = [(row, content) for row in ai_states if (content := read_object(row.content or "")) is not None]
    sources = {source for _, content in contents if (source := _source_id(content)) is not None}
    titles = session_names(caller=caller, session_ids=sources)
    renderer.prepare(text for _, content in contents for text in _prose(content))
    agent = (read_object(state.content or "") if state else None) or {}
    return AgentPanel(
        plan=plan_lines(agent),
        question=_unless_damaged(lambda: _question(agent["pending_action"])) if agent.get("pending_action") else None,
        other=[(label, pretty(agent[name])) for name, label in OTHER_FIELDS.items() if agent.get(name) not in (None, "", {}, [])],
        saved_at=None if state is None else state.saved_at,
        ais=[
            ai for row, content in contents if (ai := _unless_damaged(partial(_ai, row, content, titles, renderer))) is not None
        ],
    )


def _unless_damaged[T](made: Callable[[], T]) -> T | None:
    """None if the stored value does not have the saved format."""
    try:
        return made()
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def pretty(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n… {len(text) - LONGEST:,} more characters"


def plan_lines(content: dict[str, Any]) -> Lines | None:
    """The plan of an agent's state; None: it has none."""
    return _unless_damaged(lambda: _plan(content["plan"])) if content.get("plan") else None


def todo_lines(content: dict[str, Any]) -> Lines | None:
    """The todos of an AI's state; None: they are damaged."""
    return _unless_damaged(lambda: _todos(content))


def _todos(content: dict[str, Any]) -> Lines:
    return Lines("", [Line(_words(todo), todo["status"]) for todo in content.get("todos", [])])


def _plan(plan: dict[str, Any]) -> Lines:
    return Lines(plan.get("title", ""), [Line(step["title"], step["status"]) for step in plan.get("steps", [])])


def _question(asked: dict[str, Any]) -> Question:
    expires = asked.get("expires_at")
    expires_at = None if expires is None else datetime.fromisoformat(expires)
    payload = asked.get("payload")
    return Question(
        id=asked["id"],
        id_key=fingerprint(asked["id"])[:KEY_LENGTH],
        content_key=key_of(asked),
        kind=asked["kind"],
        payload="" if payload is None else pretty(payload),
        fields=[(str(name), pretty(value)) for name, value in payload.items()] if isinstance(payload, dict) else [],
        expires_at=expires_at,
        expired=expires_at is not None and expires_at <= now(),
        resolution=asked.get("resolution"),
    )


def _source_id(content: dict[str, Any]) -> uuid.UUID | None:
    try:
        return uuid.UUID(content.get("transferred_from") or "")
    except (AttributeError, TypeError, ValueError):
        return None


def _prose(content: dict[str, Any]) -> Iterator[str]:
    """An AI's Markdown texts: notes and summary."""
    return (text for name in ("working_notes", "context_summary") if isinstance(text := content.get(name), str))


def _ai(row: AiState, content: dict[str, Any], titles: dict[uuid.UUID, str], renderer: PageRenderer) -> Ai:
    came_from = _source_id(content)
    return Ai(
        ai_id=row.ai_id,
        updated_at=row.updated_at,
        todos=_todos(content),
        notes=renderer.render(content.get("working_notes", "")),
        summary=renderer.render(content.get("context_summary", "")),
        source=Source(came_from, titles.get(came_from), content.get("transferred_at")) if came_from else None,
    )


def _words(todo: dict[str, Any]) -> str:
    active = str(todo.get("activeForm") or "")
    return active if active and todo["status"] == "in_progress" else str(todo["content"])
