"""What is stored of a session beside its events: in the metadata of ours."""

import json
import uuid
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

from stillhere.adk.scopes import digest
from stillhere.connection import Operation
from stillhere.errors import StillhereError
from stillhere.http.json_texts import fits_json
from stillhere.operations.projects import session_path, without_none
from stillhere.operations.records import Saved, Session
from stillhere.operations.saving import once, pieces
from stillhere.operations.sessions import find_session, list_all_sessions, read_message

TAG = MEMBER = "adk"
LONGEST_EXTERNAL_ID, MOST_KNOWN = 128, 1_000
# Metadata has 16 KB. A longer state is a message of its own.
MOST_IN_METADATA, STATE_MESSAGE, STATE_FORMAT = 12_000, "adk-state", "adk.state"


class Record(NamedTuple):
    """`revision`: another one after each event. `updated_at`: seconds since 1970. `state`: the session's own."""

    app_name: str
    user_id: str
    id: str
    revision: str
    updated_at: float
    state: dict[str, Any]


class Place(NamedTuple):
    """Which session of ours has a record, and at which `rev`."""

    session: str
    rev: int
    record: Record


class Records:
    """`project`: that of the connection. It knows the places that it saw last, so that an event is one request."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._known: OrderedDict[str, Place] = OrderedDict()

    def known(self, revision: str | None) -> Place | None:
        return None if revision is None else self._known.get(revision)

    def create(self, record: Record) -> Operation[Place]:
        """Raises StillhereError with `external_id_taken`."""
        name = external_id(record.app_name, record.user_id, record.id)
        create = {"project": self._project, "external_id": name, "current": False}
        return (yield from self.store(Place(str(uuid.uuid4()), 0, record), [], create))

    def store(self, place: Place, ops: Sequence[dict[str, Any]], create: dict[str, Any] | None = None) -> Operation[Place]:
        """The record comes with the last of the operations. Raises StillhereError: `rev_changed` if `place` is an old one."""
        ops, fields = [*ops, *_state_op(place.record)], _fields(place.record)
        requests, rev = list(pieces(ops)), place.rev
        for number, some in enumerate(requests, start=1):
            body = without_none(create=create, session=fields if number == len(requests) else None)
            body |= {"if_rev": rev, "base_rev": rev, "ops": some}
            saved = Saved.of((yield once(f"{session_path(place.session)}/changes", body)))
            if saved.rejected:
                raise StillhereError(422, "rejected", saved.rejected[0]["message"], {"rejected": saved.rejected})
            rev, create = saved.rev, None
        return self._remember(place._replace(rev=rev))

    def find(self, app_name: str, user_id: str, own_id: str) -> Operation[Place | None]:
        session = yield from find_session(external_id(app_name, user_id, own_id))
        record = None if session is None else (yield from _record_of(session))
        return None if session is None or record is None else self._remember(Place(session.id, session.rev, record))

    def all_with(self, tags: Sequence[str]) -> Operation[list[Record]]:
        found: list[Record] = []
        for session in (yield from list_all_sessions([TAG, *tags])):
            record = yield from _record_of(session)
            found += [] if record is None else [record]
        return found

    def _remember(self, place: Place) -> Place:
        self._known[place.record.revision] = place
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)
        return place


def new_revision() -> str:
    return uuid.uuid4().hex


def external_id(app_name: str, user_id: str, own_id: str) -> str:
    readable = f"{TAG}:{json.dumps([app_name, user_id, own_id], ensure_ascii=False)}"
    return readable if len(readable) <= LONGEST_EXTERNAL_ID else f"{TAG}:{digest(app_name, user_id, own_id)}"


def tag_of(kind: str, *names: str) -> str:
    return f"{kind}:{digest(*names).removeprefix('sha256:')}"


def _fields(record: Record) -> dict[str, Any]:
    """Of the session, in the same transaction as the event. A text, because metadata are merged and a state is replaced."""
    kept = record._replace(state={}) if _is_long(record) else record
    tags = [TAG, tag_of("app", record.app_name), tag_of("user", record.app_name, record.user_id)]
    return {"metadata": {MEMBER: json.dumps([*kept, _is_long(record)])}, "tags": tags}


def _state_op(record: Record) -> list[dict[str, Any]]:
    if not _is_long(record):
        return []
    raw = record.state if fits_json(record.state) else [json.dumps(record.state)]
    shown = {"role": "system", "text": "State of the session"}
    return [{"op": "upsert", "id": STATE_MESSAGE, "format": STATE_FORMAT, "raw": raw, **shown}]


def _is_long(record: Record) -> bool:
    return len(json.dumps(json.dumps(record.state))) > MOST_IN_METADATA


def _record_of(session: Session) -> Operation[Record | None]:
    text = session.metadata.get(MEMBER)
    if not isinstance(text, str):
        return None
    *fields, is_long = json.loads(text)
    record = Record(*fields)
    if not is_long:
        return record
    message = yield from read_message(session.id, STATE_MESSAGE)
    if message is None:
        return None
    return record._replace(state=json.loads(message.raw[0]) if isinstance(message.raw, list) else message.raw)
