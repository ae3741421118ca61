"""Rows of assistant-ui: messages of a thread with the content that its pages sent."""

import json
import uuid
from dataclasses import dataclass
from typing import Any

import orjson

from sessions_app.chats.reading.branches import with_links
from sessions_app.chats.reading.frameworks.conversion import stored_value
from sessions_app.chats.reading.messages import Page, find_message, page_of_all, position_of
from sessions_app.chats.reading.sessions import SessionRow
from sessions_app.chats.saving.services import Changes, save_changes
from sessions_app.core.errors import Invalid, NotFound, TooLarge
from sessions_app.core.serialization.json_text import fingerprint
from sessions_app.core.web.schemas import BIGGEST
from sessions_app.frontends.assistant_ui.content import content_of, fields_of, format_of
from sessions_app.models import Caller
from sessions_app.models.message import MESSAGE_ID_LENGTH

READ_AT_ONCE = 200


class MessageNotFound(NotFound):
    kind, message = "message", "This thread has no such message."


class NotStored(Invalid):
    """`details.reason`: as saves name it."""

    code = "not_stored"


class ContentTooLarge(TooLarge):
    message = "This message is larger than the server stores. Keep files in a storage of their own."


@dataclass(frozen=True, slots=True)
class NewMessage:
    """`own_id`: the page's id for it. `parent`: the message that it follows."""

    format: str
    content: dict[str, Any]
    own_id: str | None
    parent: str | None


def list_rows(*, thread: SessionRow, form: str | None, after: str | None, limit: int) -> list[dict[str, Any]]:
    """Messages of all branches, newest first, each with the one that it follows. `form`: only those that can be read in it."""
    own, live = thread.id, thread.live
    before = BIGGEST if after is None else (position_of(session_id=own, live=live, message_id=after) or 0)
    rows: list[dict[str, Any]] = []
    left_out: dict[str, str | None] = {}
    while True:
        page = with_links(page_of_all(session_id=own, live=live, before=before, limit=READ_AT_ONCE), session_id=own, live=live)
        for item in reversed(page.items):
            if (row := _row(item, form)) is None:
                left_out[item["id"]] = item["follows"]
            else:
                rows.append(row)
        if len(rows) >= limit or not page.more or not page.items:
            break
        before = page.items[0]["position"]
    shown = {row["id"] for row in rows}
    for row in rows[:limit]:
        row["parent_id"] = _shown_parent(thread, row["parent_id"], form, shown, left_out)
    return rows[:limit]


def _shown_parent(
    thread: SessionRow, parent: str | None, form: str | None, shown: set[str], left_out: dict[str, str | None]
) -> str | None:
    """The nearest message before it that is a row too: a page refuses rows whose parent it does not get."""
    while parent is not None and parent not in shown:
        if parent in left_out:
            parent = left_out[parent]
            continue
        item = find_message(session_id=thread.id, live=thread.live, message_id=parent)
        if item is None:
            return None
        with_links(Page([item], [], more=False), session_id=thread.id, live=thread.live)
        if content_of(item, form) is not None:
            return parent
        parent = left_out[parent] = item["follows"]
    return parent


def create_message(*, caller: Caller, thread: SessionRow, new: NewMessage) -> str:
    """Its id. The same id again replaces the content, so that a repeated request stores nothing twice."""
    message_id = _message_id(thread, new.own_id) if new.own_id else str(uuid.uuid4())
    parent = _message_id(thread, new.parent) if new.parent else None
    op = {"op": "upsert", "parent_id": parent, **fields_of(new.format, new.content)}
    if not _save(caller, thread, {**op, "id": message_id}):
        message_id = str(uuid.uuid4())  # A removed message had the id: it does not come back.
        _save(caller, thread, {**op, "id": message_id})
    return message_id


def update_message(*, caller: Caller, thread: SessionRow, message_id: str, content: dict[str, Any]) -> None:
    """Another content in the same format, at the same place."""
    found = _find(thread, message_id)
    kept = {"metadata": stored_value(found["metadata"])} if "metadata" in found else {}
    fields = fields_of(format_of(found.get("format")), content)
    _save(caller, thread, {"op": "upsert", "id": message_id, **kept, **fields})


def delete_messages(*, caller: Caller, thread: SessionRow, ids: list[str]) -> None:
    _save(caller, thread, *[{"op": "delete", "id": message_id} for message_id in ids])


def keep_feedback(*, caller: Caller, thread: SessionRow, message_id: str, feedback: dict[str, Any]) -> str:
    """Stored in the message's metadata, the newest one only. Returns an id for it."""
    found = _find(thread, message_id)
    stored = stored_value(found["metadata"]) if "metadata" in found else {}
    metadata = {**(stored if isinstance(stored, dict) else {}), "feedback": feedback}
    _save(caller, thread, {"op": "patch", "id": message_id, "metadata": metadata})
    return str(uuid.uuid5(thread.id, message_id))


def _message_id(thread: SessionRow, own_id: str) -> str:
    """A page's id, or what stands for one that is too long for a message: the same each time."""
    return own_id if len(own_id) <= MESSAGE_ID_LENGTH else str(uuid.uuid5(thread.id, own_id))


def _find(thread: SessionRow, message_id: str) -> dict[str, Any]:
    found = find_message(session_id=thread.id, live=thread.live, message_id=message_id)
    if found is None:
        raise MessageNotFound
    return found


def _row(item: dict[str, Any], form: str | None) -> dict[str, Any] | None:
    made = content_of(item, form)
    if made is None:
        return None
    name, content = made
    return {
        "id": item["id"],
        "parent_id": item["follows"],
        "height": item["position"],
        "format": name,
        "content": content if isinstance(content, orjson.Fragment) else orjson.Fragment(orjson.dumps(content)),
        "created_at": item["created_at"],
        "updated_at": item["updated_at"],
    }


def _save(caller: Caller, thread: SessionRow, *ops: dict[str, Any]) -> bool:
    """False if a removed message has the id. The newest request wins: a page knows no revisions, so none is refused for them."""
    changes = Changes(
        epoch=None,
        writer_id=f"assistant-ui:{uuid.uuid4()}",
        seq=1,
        body_sha256=fingerprint(list(ops)),
        base_rev=BIGGEST,
        ops=list(ops),
    )
    done = json.loads(save_changes(caller=caller, session_id=thread.id, changes=changes).body)
    for refused in done["rejected"]:
        if refused["reason"] == "too_large":
            raise ContentTooLarge(details={"reason": refused["reason"]})
        raise NotStored(refused["message"], details={"reason": refused["reason"]})
    return all(ignored["reason"] != "removed" for ignored in done["ignored"])
