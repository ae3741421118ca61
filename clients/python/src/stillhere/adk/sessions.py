"""Sessions of ADK as sessions of a project, their events as messages."""

import uuid
from typing import Any

from google.adk.errors._stale_session_error import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.platform import time as platform_time
from google.adk.platform import uuid as platform_uuid
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from google.adk.sessions.session import Session

from stillhere.adk.events import FORMAT, as_event, as_ops
from stillhere.adk.records import Place, Record, Records, external_id, new_revision, tag_of
from stillhere.adk.scopes import Delta, Shared, Store, puts_of
from stillhere.client import Client
from stillhere.connection import Operation
from stillhere.errors import StillhereError
from stillhere.operations.long_objects import FIELDS, objects_in
from stillhere.operations.sessions import MOST_READ, erase_by_external, read_all_items, read_items

ATTEMPTS = 5
# Of a session that was made by hand, from times that were written and read again.
SECONDS_OF_ROUNDING = 0.001


class StillhereSessionService(BaseSessionService):
    """Each session is one of the project, found by app, user and id. An event and the state that it leaves are one request and
    one transaction; a writer with an old state gets StaleSessionError. State of apps and users is in the project's memory,
    written after the event. A delete erases for good. The arguments are those of `stillhere.Client`; `client` is used instead
    of a new one."""

    def __init__(
        self, url: str | None = None, key: str | None = None, project: str | None = None, *, client: Client | None = None
    ) -> None:
        self.client = client or Client(url, key, project)
        self._shared_state = Store(self.client.connection)
        self._records = Records(self.client.connection.project)

    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        own_id = (session_id or "").strip() or platform_uuid.new_uuid()
        session = await self._run(self._create(app_name, user_id, own_id, Delta.of(state)))
        self._records.told(session._storage_update_marker)
        return session

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        return await self._read(self._get(app_name, user_id, session_id.strip(), config))

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        return ListSessionsResponse(sessions=await self._read(self._list(app_name, user_id)))

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        await self._run(erase_by_external(external_id(app_name, user_id, session_id.strip())))

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        shared = await self._read(self._shared_state.shared(app_name, user_id))
        return shared.users.get(user_id, {})

    async def append_event(self, session: Session, event: Event) -> Event:
        """An event that is appended again is one. Another one with the same id is stored beside it."""
        same_id = [each for each in session.events if each.id == event.id]
        if event.partial or event in same_id:
            return event
        ops = as_ops(event, str(uuid.uuid4()) if same_id else event.id)
        place = await self._run(self._append(session, event, ops))
        self._records.told(place.record.revision)
        session.last_update_time, session._storage_update_marker = event.timestamp, place.record.revision
        return await super().append_event(session=session, event=event)

    # Connections of an event loop would end with it, and ADK's runner makes a new one each time.

    async def _read[T](self, operation: Operation[T]) -> T:
        return await self.client.connection.run_in_any_loop(operation)

    async def _run[T](self, operation: Operation[T]) -> T:
        return await self.client.connection.run_in_thread(operation)

    def _create(self, app_name: str, user_id: str, own_id: str, delta: Delta) -> Operation[Session]:
        shared = puts_of(app_name, user_id, delta)
        record = Record(app_name, user_id, own_id, new_revision(), platform_time.get_time(), delta.session)
        try:
            place = yield from self._records.create(record)
        except StillhereError as error:
            if error.code != "external_id_taken":
                raise
            found = yield from self._records.find(app_name, user_id, own_id)  # If it is in the trash, that is said.
            if found is None or found.record.state != delta.session or not self._records.is_stored(found, []):
                raise AlreadyExistsError(f"Session with id {own_id} already exists.") from None
            place = found
        yield from self._shared_state.change(shared)
        return _session(place.record, (yield from self._shared_state.shared(app_name, user_id)), [])

    def _get(self, app_name: str, user_id: str, own_id: str, config: GetSessionConfig | None) -> Operation[Session | None]:
        place = yield from self._records.find(app_name, user_id, own_id)
        if place is None:
            return None
        events = yield from _events(place.session, config.num_recent_events if config else None)
        if config and config.after_timestamp:
            events = [event for event in events if event.timestamp >= config.after_timestamp]
        return _session(place.record, (yield from self._shared_state.shared(app_name, user_id)), events)

    def _list(self, app_name: str, user_id: str | None) -> Operation[list[Session]]:
        """The oldest update first."""
        tags = [tag_of("app", app_name)] if user_id is None else [tag_of("user", app_name, user_id)]
        records = yield from self._records.all_with(tags)
        shared = yield from self._shared_state.shared(app_name, user_id)
        records.sort(key=lambda record: (record.updated_at, record.user_id, record.id))
        return [_session(record, shared, []) for record in records]

    def _append(self, session: Session, event: Event, ops: list[dict[str, Any]]) -> Operation[Place]:
        delta = Delta.of(event.actions.state_delta if event.actions else None)
        shared = puts_of(session.app_name, session.user_id, delta)
        place = self._records.known(session._storage_update_marker) or (yield from self._place_now(session, ops))
        stored: Place | None = None
        for _ in range(ATTEMPTS):
            if self._records.is_stored(place, ops):
                stored = place
                break
            state = {**place.record.state, **delta.session}
            record = place.record._replace(revision=new_revision(), updated_at=event.timestamp, state=state)
            try:
                stored = yield from self._records.store(place._replace(record=record), ops)
                break
            except StillhereError as error:
                if error.code != "rev_changed" and error.status not in {404, 410}:
                    raise
            # Somebody changed the session: its events, or only its title.
            place = yield from self._place_now(session, ops)
        if stored is None:
            raise stale()
        yield from self._shared_state.change(shared)
        return stored

    def _place_now(self, session: Session, ops: list[dict[str, Any]]) -> Operation[Place]:
        """Raises StaleSessionError if there are events that this session has not, and others than these; SessionNotFoundError if
        it is gone."""
        place = yield from self._records.find(session.app_name, session.user_id, session.id)
        if place is None:
            raise SessionNotFoundError(f"Session {session.id} not found.")
        marker = session._storage_update_marker
        late = place.record.updated_at > session.last_update_time + SECONDS_OF_ROUNDING
        if (late if marker is None else marker != place.record.revision) and not self._records.is_stored(place, ops):
            raise stale()
        return place


def stale() -> StaleSessionError:
    return StaleSessionError("The session has been modified in storage since it was loaded. Reload it before you append events.")


def _session(record: Record, shared: Shared, events: list[Event]) -> Session:
    made = Session(
        app_name=record.app_name,
        user_id=record.user_id,
        id=record.id,
        state=shared.merged(record.user_id, record.state),
        events=events,
        last_update_time=record.updated_at,
    )
    made._storage_update_marker = record.revision
    return made


def _events(session: str, newest: int | None) -> Operation[list[Event]]:
    if newest is None:
        return [as_event(raw) for raw in objects_in((yield from read_all_items(session, fields=FIELDS)), FORMAT)]
    found: list[dict[str, Any]] = []
    before: str | None = None
    while newest > 0:
        page = yield from read_items(session, limit=min(MOST_READ, newest + 1), before=before, fields=FIELDS)
        found, before = [*page["items"], *found], page["next"]
        events = list(objects_in(found, FORMAT))
        if before is None or len(events) >= newest:
            return [as_event(raw) for raw in events[-newest:]]
    return []
