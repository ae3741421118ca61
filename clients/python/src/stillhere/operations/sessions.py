from collections.abc import Mapping, Sequence
from typing import Any

from stillhere.connection import Operation, Request
from stillhere.errors import StillhereError
from stillhere.http.addresses import quoted
from stillhere.operations.projects import checked_id, session_path, without_none
from stillhere.operations.records import Changes, Converted, Message, Messages, Page, Session

_SESSIONS = "/projects/{project}/sessions"
_IN_TRASH = "The session {} is in the trash. Restore it on its page, or use another id."
# What one request reads at most.
MOST_READ = 500
# That the server takes of a session.
MOST_TAGS = 20


def create_session(
    *, title: str = "", metadata: Mapping[str, Any] | None = None, tags: Sequence[str] = (), current: bool = True
) -> Operation[Session]:
    """A new one. Not sent again if its answer is lost: `open_session` is. `current`: it becomes the one that resumes."""
    body = {"title": title, "metadata": metadata or {}, "tags": list(tags), "current": current}
    return Session.of((yield Request("POST", _SESSIONS, body, repeatable=False)))


def open_session(
    external_id: str,
    *,
    title: str = "",
    metadata: Mapping[str, Any] | None = None,
    tags: Sequence[str] = (),
    current: bool = True,
) -> Operation[Session]:
    """The project's session with your own id for it, created from the other arguments if there is none. Several callers at the
    same time create one."""
    body = {"title": title, "metadata": metadata or {}, "tags": list(tags), "current": current}
    return Session.of((yield Request("PUT", by_external(external_id), body)))


def find_session(external_id: str) -> Operation[Session | None]:
    try:
        return Session.of((yield Request("GET", by_external(external_id))))
    except StillhereError as error:
        if error.status in {404, 410}:
            return None
        raise


def find_usable(external_id: str, name: str) -> Operation[Session | None]:
    """The same for an adapter, whose framework calls it `name`. Raises StillhereError if it is in the trash: it would look empty,
    but could not be continued."""
    try:
        return Session.of((yield Request("GET", by_external(external_id))))
    except StillhereError as error:
        if error.status == 404:
            return None
        raise in_trash(error, name) from error


def in_trash(error: StillhereError, name: str) -> StillhereError:
    """Says so, if this is why it was raised. Else the same error."""
    if error.code != "session_deleted":
        return error
    return StillhereError(error.status, error.code, _IN_TRASH.format(name), error.details)


def get_session(session: str) -> Operation[Session]:
    """Without its messages. 404, in the trash 410."""
    answer = yield Request("GET", session_path(session), query={"messages": "0"})
    return Session.of(answer["session"])


def list_sessions(*, limit: int = 50, cursor: str | None = None, **filters: Any) -> Operation[Page[Session]]:
    """The newest first. `filters`: external_id, tag (one or a list), agent, state, pinned, since, until, q, has, sort.
    `cursor`: `next` of the page before."""
    answer = yield Request("GET", _SESSIONS, query=without_none(limit=limit, cursor=cursor, **filters))
    return Page(items=[Session.of(each) for each in answer["items"]], next=answer["next"])


def update_session(session: str, **fields: Any) -> Operation[Session]:
    """`fields`: title, metadata (a JSON Merge Patch), tags, pinned, archived, current, head."""
    return Session.of((yield Request("PATCH", session_path(session), fields)))


def list_all_sessions(tags: Sequence[str], *, state: str | None = None) -> Operation[list[Session]]:
    """Those that have all of these tags, in this state. None: in any but the trash."""
    found: list[Session] = []
    cursor: str | None = None
    while True:
        page = yield from list_sessions(tag=list(tags), state=state, limit=MOST_READ, cursor=cursor)
        found += page.items
        cursor = page.next
        if cursor is None:
            return found


def tags_with(own: Sequence[str], present: Sequence[str]) -> list[str] | None:
    """All that a session is to have whose tags are `present`: those of people stay. None: it has its own, or no room for them."""
    both = [*present, *(tag for tag in own if tag not in present)]
    return both if len(present) < len(both) <= MOST_TAGS else None


def erase_session(session: str) -> Operation[None]:
    """For good, with all that it had. It cannot be undone."""
    try:
        yield Request("DELETE", session_path(session), query={"purge": "1"})
    except StillhereError as error:
        if error.status != 404:  # An answer was lost, or somebody else erased it.
            raise


def erase_by_external(external_id: str) -> Operation[None]:
    """The same for the session with this id of your own, in the trash too. Nothing if there is none."""
    try:
        found: str = (yield Request("GET", by_external(external_id)))["id"]
    except StillhereError as error:
        if error.status == 404:
            return
        if error.code != "session_deleted":
            raise
        found = error.details["session"]
    yield from erase_session(found)


def delete_session(session: str) -> Operation[None]:
    """To the trash, for 30 days. One that is there already stays there."""
    try:
        yield Request("DELETE", session_path(session))
    except StillhereError as error:
        if error.status != 410:
            raise


def read_messages(
    session: str,
    *,
    limit: int = 50,
    before: str | None = None,
    after: str | None = None,
    branches: bool = False,
) -> Operation[Messages]:
    """The newest ones, or those before or after a message. `branches`: of all branches, each with what it `follows`."""
    query = without_none(limit=limit, before=before, after=after, branches="1" if branches else None)
    answer = yield Request("GET", f"{session_path(session)}/messages", query=query)
    items = [Message.of(each) for each in answer["items"]]
    return Messages(items=items, next=answer["next"], skipped=answer["skipped"])


def read_all_messages(session: str, *, newest: int | None = None) -> Operation[list[Message]]:
    """All of them, or the `newest` ones, oldest first."""
    return [Message.of(each) for each in (yield from read_all_items(session, newest=newest))]


def read_all_items(session: str, *, newest: int | None = None, fields: Sequence[str] = ()) -> Operation[list[dict[str, Any]]]:
    """The same as the API has them: hundreds are read in two thirds of the time. `fields`: of each only these, and its id."""
    found: list[list[dict[str, Any]]] = []
    left, before = newest, None
    while left is None or left > 0:
        page = yield from read_items(session, limit=min(MOST_READ, left or MOST_READ), before=before, fields=fields)
        found.append(page["items"])
        before = page["next"]
        if before is None:
            break
        left = None if left is None else left - len(page["items"])
    return [message for some in reversed(found) for message in some]


def read_items(session: str, *, limit: int, before: str | None = None, fields: Sequence[str] = ()) -> Operation[dict[str, Any]]:
    """A page: `{items, next}`. `fields`: of each item only its id and these of role, text, parts, metadata, format and raw."""
    query = without_none(limit=limit, before=before, fields=",".join(fields) or None)
    page: dict[str, Any] = yield Request("GET", f"{session_path(session)}/messages", query=query)
    return page


def read_message(session: str, message: str) -> Operation[Message | None]:
    try:
        return Message.of((yield Request("GET", f"{session_path(session)}/messages/{quoted(message)}")))
    except StillhereError as error:
        if error.details.get("kind") == "message":
            return None
        raise


def read_as(
    session: str, format: str, *, limit: int = 50, before: str | None = None, repair: bool = False
) -> Operation[Converted]:
    """The messages as the objects of a framework: `openai.chat`, `anthropic`, … `repair`: calls of tools that have no output get
    one, so that a model accepts them."""
    query = {"as": format, **without_none(limit=limit, before=before, repair="1" if repair else None)}
    return Converted.of((yield Request("GET", f"{session_path(session)}/messages", query=query)))


def changes_since(session: str, rev: int, *, wait: int = 0) -> Operation[Changes]:
    """What changed after `rev`. `wait`: up to so many seconds (at most 50) until something does."""
    query = {"since_rev": rev, **({"wait": wait} if wait else {})}
    answer = yield Request("GET", f"{session_path(session)}/messages", query=query)
    items = [Message.of(each) for each in answer["items"]]
    return Changes(items=items, **{name: answer[name] for name in ("removed", "epoch", "rev", "more")})


def by_external(external_id: str) -> str:
    """Raises as `checked_id` does."""
    return f"{_SESSIONS}/by-external/{quoted(checked_id(external_id))}"
