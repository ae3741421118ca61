"""What is stored of a session beside its events: in the metadata of ours."""

import json
import uuid
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

from stillhere.adk.scopes import digest
from stillhere.connection import Operation
from stillhere.errors import StillhereError
from stillhere.operations.long_objects import read_object, upserts_of
from stillhere.operations.projects import get_project, without_none
from stillhere.operations.records import Session
from stillhere.operations.saving import pieces
from stillhere.operations.sessions import find_usable, get_session, list_all_sessions, tags_with
from stillhere.operations.whole_saves import save_whole

TAG = MEMBER = "adk"
LONGEST_EXTERNAL_ID, MOST_KNOWN = 128, 1_000
# Metadata has 16 KB. A longer state is a message of its own, above 900 KB several.
MOST_IN_METADATA, STATE_MESSAGE, STATE_FORMAT = 12_000, "adk-state", "adk.state"
STATE_MISSING = f"A message {STATE_MESSAGE} with the state of this session was removed. Restore it on the session's page."
STATE_TOO_LONG = "The state of a session has at most about 3.5 MB. Nothing was stored."


class Record(NamedTuple):
    """`revision`: another one after each event. `updated_at`: seconds since 1970. `state`: the session's own."""

    app_name: str
    user_id: str
    id: str
    revision: str
    updated_at: float
    state: dict[str, Any]


class Place(NamedTuple):
    """Which session of ours has a record, and at which `rev`; and with which tags."""

    session: str
    rev: int
    record: Record
    tags: Sequence[str]


class Records:
    """`project`: that of the connection. It knows the places that it saw last, so that an event is one request, and what may be
    stored although its caller does not know: the same call is recognised then."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._known: OrderedDict[str, Place] = OrderedDict()
        # By the record's revision, what was sent with it.
        self._unknown: OrderedDict[str, str] = OrderedDict()

    def known(self, revision: str | None) -> Place | None:
        return None if revision is None else self._known.get(revision)

    def create(self, record: Record) -> Operation[Place]:
        """Raises StillhereError with `external_id_taken`."""
        name = external_id(record.app_name, record.user_id, record.id)
        create = {"project": self._project, "external_id": name, "current": False}
        new = Place(str(uuid.uuid4()), 0, record, [])
        try:
            return (yield from self.store(new, [], create))
        except StillhereError as error:
            if error.details.get("kind") != "project":
                raise
        yield from get_project()  # It was erased. This creates it again, if its path is known.
        return (yield from self.store(new, [], create))

    def store(self, place: Place, ops: Sequence[dict[str, Any]], create: dict[str, Any] | None = None) -> Operation[Place]:
        """The record comes with the last of the operations. Raises StillhereError: `rev_changed` if `place` is an old one, and
        before anything is stored `state_too_long`; `rejected`, and of this request nothing is stored."""
        state = _state_ops(place.record)
        _keep(self._unknown, place.record.revision, _print_of(place.record, ops))
        tags = tags_with(_tags_of(place.record), place.tags)
        fields, requests, rev = _fields(place.record, len(state), tags), _requests(ops, state), place.rev
        for number, some in enumerate(requests, start=1):
            body = without_none(create=create, session=fields if number == len(requests) else None)
            body |= {"if_rev": rev, "base_rev": rev}
            rev, create = (yield from save_whole(place.session, some, body)).rev, None
        return self._remember(place._replace(rev=rev, tags=tags or place.tags))

    def is_stored(self, place: Place, ops: Sequence[dict[str, Any]]) -> bool:
        """Did an earlier call leave this, with the same operations, whose caller does not know?"""
        sent = self._unknown.get(place.record.revision)
        return sent is not None and sent == _print_of(place.record, ops)

    def told(self, revision: str | None) -> None:
        """The caller knows that it is stored."""
        self._unknown.pop(revision or "", None)

    def find(self, app_name: str, user_id: str, own_id: str) -> Operation[Place | None]:
        """Raises StillhereError with `state_missing` if a person removed the message that has its state, `session_deleted` if the
        session is in the trash."""
        session = yield from find_usable(external_id(app_name, user_id, own_id), own_id)
        record = None if session is None else (yield from _record_of(session))
        return None if session is None or record is None else self._remember(Place(session.id, session.rev, record, session.tags))

    def all_with(self, tags: Sequence[str]) -> Operation[list[Record]]:
        """Without those whose state is missing, and copies that people made: those have no external id of ours."""
        found: list[Record] = []
        for session in (yield from list_all_sessions([TAG, *tags])):
            try:
                record = yield from _record_of(session)
            except StillhereError as error:
                if error.status not in {404, 410}:
                    raise
                continue
            if record is not None and session.external_id == external_id(record.app_name, record.user_id, record.id):
                found.append(record)
        return found

    def _remember(self, place: Place) -> Place:
        _keep(self._known, place.record.revision, place)
        return place


def _keep[V](known: OrderedDict[str, V], revision: str, value: V) -> None:
    known[revision] = value
    if len(known) > MOST_KNOWN:
        known.popitem(last=False)


def _print_of(record: Record, ops: Sequence[dict[str, Any]]) -> str:
    """Of an event, or where there is none of the state with which a session begins."""
    return digest(json.dumps(list(ops) or record.state, sort_keys=True))


def new_revision() -> str:
    return uuid.uuid4().hex


def external_id(app_name: str, user_id: str, own_id: str) -> str:
    readable = f"{TAG}:{json.dumps([app_name, user_id, own_id], ensure_ascii=False)}"
    return readable if len(readable) <= LONGEST_EXTERNAL_ID else f"{TAG}:{digest(app_name, user_id, own_id)}"


def tag_of(kind: str, *names: str) -> str:
    return f"{kind}:{digest(*names).removeprefix('sha256:')}"


def _requests(ops: Sequence[dict[str, Any]], state: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The whole state is in the last one, with the record: they change together, or not at all. Raises StillhereError."""
    if len(list(pieces(state))) > 1:
        raise StillhereError(413, "state_too_long", STATE_TOO_LONG, {})
    *first, last = pieces(ops)
    return [*first, *([[*last, *state]] if len(list(pieces([*last, *state]))) == 1 else [last, state])]


def _fields(record: Record, messages: int, tags: Sequence[str] | None) -> dict[str, Any]:
    """Of the session, in the same transaction as the event. A text, because metadata are merged and a state is replaced.
    `messages`: how many the state has of its own. `tags`: None if they stay."""
    kept = record._replace(state={}) if messages else record
    return without_none(metadata={MEMBER: json.dumps([*kept, messages])}, tags=tags)


def _tags_of(record: Record) -> list[str]:
    return [TAG, tag_of("app", record.app_name), tag_of("user", record.app_name, record.user_id)]


def _state_ops(record: Record) -> list[dict[str, Any]]:
    if len(json.dumps(json.dumps(record.state))) <= MOST_IN_METADATA:
        return []
    shown = {"role": "system", "text": "State of the session"}
    return upserts_of({"id": STATE_MESSAGE, "format": STATE_FORMAT, "raw": record.state, **shown})


def _record_of(session: Session) -> Operation[Record | None]:
    text = session.metadata.get(MEMBER)
    if not isinstance(text, str):
        return None
    *fields, messages = json.loads(text)
    record = Record(*fields)
    if not messages:
        return record
    state: dict[str, Any] = {}
    failure: Exception | None = None
    try:
        state = yield from read_object(session.id, STATE_MESSAGE, STATE_FORMAT, messages)
    except (LookupError, ValueError) as error:
        failure = error
    if messages > 1:
        # They are read one by one, so they may be of two states.
        now = yield from get_session(session.id)
        if now.rev != session.rev:
            return (yield from _record_of(now))
    if failure is not None:
        raise StillhereError(410, "state_missing", STATE_MISSING, {"session": session.id}) from failure
    return record._replace(state=state)
