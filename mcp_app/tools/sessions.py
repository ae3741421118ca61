"""Tools of conversations: resume, read, save, search."""

import json
import uuid
from typing import Annotated, Any

from pydantic import Field

from mcp_app.core.calls import Call
from mcp_app.core.message_text import around_within, newest_within
from mcp_app.core.outcomes import Outcome, answered, stored
from mcp_app.core.places import ALL_PROJECTS, NoSession, UnknownProject, find_place, known_session, session_to_write
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
from sessions_app.chats.reading.messages import find_message, live_window, page_after, page_before, position_of
from sessions_app.chats.reading.sessions import SessionRow
from sessions_app.chats.saving.services import Changes, save_changes
from sessions_app.chats.search.services import places, search
from sessions_app.core.errors import Invalid, NotFound
from sessions_app.core.serialization.json_text import fingerprint
from sessions_app.frontends.app_state.queries import DEFAULT_CLIENT
from sessions_app.frontends.resume.queries import find_resume
from sessions_app.frontends.resume.services import announce_restored

PAGE, NEIGHBOURS = 20, 100
MOST_MESSAGES = 500
REASONS_SHOWN = 5
# Part of a budget that messages get beside states and handoff.
MESSAGES_SHARE = 0.7


class NoMessage(NotFound):
    kind, message = "message", "This session has no such message. Read it without `around`: its newest messages have ids."


class RepeatedId(Invalid):
    code = "repeated_id"
    message = "Two messages of this call have the same `id`. Give each its own. Nothing was saved."


class ResumeArguments(Arguments):
    project: ProjectName = None
    budget: Budget = DEFAULT_TOKENS


class ReadArguments(Arguments):
    session_id: SessionName = None
    around: Annotated[str | None, Field(max_length=64, description="Id of a message; left out: the newest ones.")] = None
    budget: Budget = DEFAULT_TOKENS
    project: ProjectName = None


class SaveArguments(Arguments):
    messages: Annotated[
        list[dict[str, Any]],
        Field(
            min_length=1,
            max_length=MOST_MESSAGES,
            description=(
                "Each `{id?, role: user|assistant, text}`, or `parts` in place of `text`. With an `id` of your own a repeated "
                "call saves a message once; choose ids that no other agent and no later conversation uses again. `if_ver`: the "
                "`ver` in `applied` of the call that saved this message, to change its text."
            ),
        ),
    ]
    session_id: SessionName = None
    project: ProjectName = None


class SearchArguments(Arguments):
    query: Annotated[str, Field(min_length=1, max_length=200, description="Found anywhere, in upper or lower case.")]
    project: Annotated[
        str | None, Field(max_length=512, description="Path; left out: the project of this connection; `*`: all of yours.")
    ] = None
    cursor: Cursor = None


def session_resume(call: Call, given: ResumeArguments) -> Outcome:
    place = find_place(call, given.project)
    if place.project_id is None:
        raise UnknownProject
    if place.current_session_id is None:
        raise NoSession
    found = find_resume(caller=call.caller, path=place.path, client=DEFAULT_CLIENT)
    bundle = json.loads(found.body().content)
    room = given.budget * BYTES_A_TOKEN
    messages, left_out = newest_within(bundle["messages"], int(room * MESSAGES_SHARE))
    content: dict[str, Any] = {"session": bundle["session"], "messages": messages, "omitted": []}
    room -= len(json.dumps(content))
    for name in ("agent_state", "ai_states", "handoff"):
        size = len(json.dumps(bundle[name]))
        if size <= room:
            content[name], room = bundle[name], room - size
        else:
            content["omitted"].append(name)
    more = left_out or bundle["more"]
    announce_restored(caller=call.caller, resume=found, has_plan=bool((bundle["agent_state"] or {}).get("plan")))
    said = f"{len(messages)} of {found.session.message_count} messages"
    return stored(f"{said}; `session_read` has older ones." if more else f"{said}.", content | {"more": more})


def session_read(call: Call, given: ReadArguments) -> Outcome:
    session = known_session(call, given.session_id, given.project)
    room = given.budget * BYTES_A_TOKEN
    head = {"session": str(session.id), "title": session.title, "message_count": session.message_count}
    if given.around is None:
        page = live_window(session_id=session.id, live=session.live)
        messages, left_out = newest_within(page.items, room)
        edges = {"older": left_out or page.more, "newer": False}
    else:
        messages, older, newer = _around(session, given.around, room)
        edges = {"older": older, "newer": newer}
    advice = " Pass the first or last id as `around` for more." if any(edges.values()) else ""
    said = f"{len(messages)} of {session.message_count} messages.{advice}"
    return stored(said, {**head, "messages": messages, **edges})


def _around(session: SessionRow, message_id: str, room: int) -> tuple[list[dict[str, Any]], bool, bool]:
    chosen = find_message(session_id=session.id, live=session.live, message_id=message_id)
    position = position_of(session_id=session.id, live=session.live, message_id=message_id)
    if chosen is None or position is None:
        raise NoMessage
    before = page_before(session_id=session.id, live=session.live, position=position, limit=NEIGHBOURS)
    after = page_after(session_id=session.id, live=session.live, position=position, limit=NEIGHBOURS)
    messages, older, newer = around_within(before.items, chosen, after.items, room)
    return messages, older or before.more, newer or after.more


def session_save(call: Call, given: SaveArguments) -> Outcome:
    """Saves as a new writer each time. Agents share keys, and a process has many conversations, so no other call is surely of the
    same author: under a used id only a longer answer is written, or what names the version that its author was told."""
    named = [message["id"] for message in given.messages if isinstance(message.get("id"), str)]
    if len(set(named)) < len(named):
        raise RepeatedId
    session = session_to_write(call, given.session_id, given.project)
    ops = [{"id": f"mcp-{uuid.uuid4()}", **message, "op": "upsert"} for message in given.messages]
    changes = Changes(epoch=None, writer_id=f"mcp:{uuid.uuid4()}", seq=1, body_sha256=fingerprint(ops), ops=ops)
    done = json.loads(save_changes(caller=call.caller, session_id=session.id, changes=changes).body)
    outcome = {name: done[name] for name in ("rev", "applied", "rejected", "normalized", "redacted")}
    conflicts = [{"id": conflict["id"], "copy_id": conflict["copy_id"]} for conflict in done["conflicts"]]
    ignored = [{"id": one["id"], "reason": one["reason"]} for one in done["ignored"]]
    said = _said(outcome["applied"], outcome["rejected"], ignored, conflicts, of=len(ops))
    return answered(said, session=str(session.id), **outcome, ignored=ignored, conflicts=conflicts)


def _said(applied: list[Any], rejected: list[Any], ignored: list[dict[str, Any]], conflicts: list[Any], *, of: int) -> str:
    said = f"Saved {len(applied)} of {of} messages."
    if rejected:
        reasons = "; ".join(f"`{str(one['id'])[:64]}`: {one['message']}" for one in rejected[:REASONS_SHOWN])
        said += f" {len(rejected)} were rejected: {reasons}"
    if conflicts:
        said += (
            f" {len(conflicts)} have ids of messages that other calls saved: those stay, and these are kept as copies, see "
            "`conflicts`. Save a new message under a new id. Only to change your own, pass `if_ver`."
        )
    if known := sum(one["reason"] in {"same", "stale"} for one in ignored):
        said += f" {known} are there already, with the same or a longer text."
    if removed := sum(one["reason"] == "removed" for one in ignored):
        said += f" {removed} have ids of removed messages, which stay removed: text that they did not have is kept as a copy."
    return said


def session_search(call: Call, given: SearchArguments) -> Outcome:
    """Titles, messages, handoffs, memory and errors; each kind that is done is reported as progress."""
    project = None if given.project == ALL_PROJECTS else _searched_project(call, given.project)
    kinds = tuple(places())
    call.progress(0, 1, f"Searching {', '.join(kinds)}")
    found = search(caller=call.caller, text=given.query, within=kinds, project=project, cursor=given.cursor, limit=PAGE)
    call.progress(1, 1, f"{len(found.hits)} hits")
    items = [{name: value for name, value in hit.as_json().items() if name != "link"} for hit in found.hits]
    more = " There may be more: pass `next` as `cursor`." if found.next else ""
    return stored(f"{len(items)} hits.{more}", {"items": items}, following=found.next)


def _searched_project(call: Call, named: str | None) -> str | None:
    """None: all of the caller's."""
    if named is None and not call.project:
        return None
    place = find_place(call, named)
    if place.project_id is None:
        raise UnknownProject
    return str(place.project_id)


SESSION_TOOLS = (
    Tool(
        name="session_resume",
        title="Resume the conversation",
        description=(
            "Take up the project's current session where it ended: its newest messages, the plan, each AI's state and the "
            "handoff. Call it when a user wants to go on with earlier work."
        ),
        arguments=ResumeArguments,
        output=marked_schema("`session`, `messages` (oldest first), `agent_state`, `ai_states`, `handoff`, `omitted`, `more`."),
        run=session_resume,
    ),
    Tool(
        name="session_read",
        title="Read messages",
        description=(
            "Read messages of any session: the newest ones, or those around a message that `session_search` found. Long texts "
            "are cut to the budget and marked `cut`."
        ),
        arguments=ReadArguments,
        output=marked_schema("`session`, `title`, `message_count`, `messages` (oldest first), `older`, `newer`."),
        run=session_read,
    ),
    Tool(
        name="session_save",
        title="Save messages",
        description=(
            "Save messages of this conversation, at most 500 in a call, so that it can be resumed and searched later. Without "
            "`session_id` they are added to the project's current session, which is made if there is none. Nothing that another "
            "call saved is overwritten: other text under its id becomes a copy, which `conflicts` names."
        ),
        arguments=SaveArguments,
        output=schema(
            session="string",
            rev="integer",
            applied="array",
            rejected="array",
            ignored="array",
            conflicts="array",
            normalized="array",
            redacted="object",
        ),
        run=session_save,
        scope=WRITE,
        repeatable=False,
    ),
    Tool(
        name="session_search",
        title="Search",
        description=(
            "Search for words in titles, messages, handoffs, memory and errors. Call it before you ask a user about something "
            "that may have been said or decided earlier. `session_read` with `around` shows what stands beside a hit."
        ),
        arguments=SearchArguments,
        output=marked_schema("`items`: hits with `kind`, `project`, `session`, `message`, `before`, `hit`, `after`."),
        run=session_search,
    ),
)
