"""Resources: what a person may attach to a conversation. Each is the answer of a tool that reads."""

import re
import uuid
from dataclasses import dataclass
from urllib.parse import quote, unquote

from mcp_app.core.calls import Call
from mcp_app.core.outcomes import Outcome
from mcp_app.core.places import Place, find_place
from mcp_app.core.tool import READ
from mcp_app.tools.handoff import GetArguments, handoff_get
from mcp_app.tools.memory import ContextArguments, load_session_context
from mcp_app.tools.sessions import ReadArguments, session_read
from sessions_app.accounts.authentication import MissingScope
from sessions_app.agents.handoff.queries import list_snapshots
from sessions_app.core.errors import NotFound
from sessions_app.core.serialization.strict_json import clean_text
from sessions_app.core.web.schemas import make_cursor, read_cursor
from sessions_app.projects.queries import list_projects

_URI = re.compile(
    r"stillhere://project/(?P<path>[^/]+)/(?:(?P<context>context)|handoff/(?P<number>\d{1,9})|session/(?P<session>[^/]+))"
)
PAGE = 50
SNAPSHOTS = 10
TEMPLATES = (
    ("stillhere://project/{path}/context", "context", "What a new run should know about the project at this path."),
    ("stillhere://project/{path}/handoff/{n}", "handoff", "A frozen handoff of the project, by its number."),
    ("stillhere://project/{path}/session/{id}", "session", "The newest messages of a session, by its UUID or external id."),
)


class UnknownResource(NotFound):
    message = "There is no such resource. List the resources, or fill in a template."


@dataclass(frozen=True, slots=True)
class Listed:
    uri: str
    name: str
    description: str


def read_resource(call: Call, uri: str) -> Outcome:
    """Raises UnknownResource, whatever is wrong with the address or not the caller's, and MissingScope."""
    if READ not in call.caller.scopes:
        raise MissingScope(READ)
    named = _URI.fullmatch(uri)
    if named is None:
        raise UnknownResource
    try:
        path = _decoded(named["path"])
        if named["context"]:
            return load_session_context(call, ContextArguments(project=path))
        if named["number"]:
            return handoff_get(call, GetArguments(project=path, number=int(named["number"])))
        return session_read(call, ReadArguments(project=path, session_id=_decoded(named["session"])))
    except (NotFound, ValueError):
        raise UnknownResource from None


def _decoded(part: str) -> str:
    """Raises ValueError if it is no UTF-8, or has what no stored name has: nothing can have this address."""
    text = unquote(part, errors="strict")
    if clean_text(text) != text:
        raise ValueError
    return text


def list_resources(call: Call, cursor: str | None) -> tuple[list[Listed], str | None]:
    """Of the connection's project; without one the contexts of all projects, by page."""
    if READ not in call.caller.scopes:
        raise MissingScope(READ)
    if call.project or call.caller.project_id is not None:
        return _of_project(call, find_place(call, None)), None
    found = list_projects(caller=call.caller, after=read_cursor(cursor), limit=PAGE)
    following = make_cursor(found[PAGE - 1].updated_at, found[PAGE - 1].id) if len(found) > PAGE else None
    return [_context(project.path) for project in found[:PAGE]], following


def _of_project(call: Call, place: Place) -> list[Listed]:
    listed = [_context(place.path)]
    if place.current_session_id is not None:
        listed.append(_session(place.path, place.current_session_id))
    if place.project_id is not None:
        frozen = list_snapshots(caller=call.caller, project_id=place.project_id, limit=SNAPSHOTS)[:SNAPSHOTS]
        listed += [_handoff(place.path, snapshot.number) for snapshot in frozen]
    return listed


def _address(path: str, rest: str) -> str:
    return f"stillhere://project/{quote(path, safe='')}/{rest}"


def _context(path: str) -> Listed:
    return Listed(_address(path, "context"), f"Context of {path}", TEMPLATES[0][2])


def _handoff(path: str, number: int) -> Listed:
    return Listed(_address(path, f"handoff/{number}"), f"Handoff {number}", TEMPLATES[1][2])


def _session(path: str, session_id: uuid.UUID) -> Listed:
    return Listed(_address(path, f"session/{session_id}"), "Current session", TEMPLATES[2][2])
