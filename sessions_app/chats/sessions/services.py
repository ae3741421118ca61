"""Creating sessions, choosing the current one, naming, labelling and archiving them."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Coalesce

from sessions_app.chats.branches.tree import Tree
from sessions_app.chats.locking import LockedSession, lock_project_and_current, lock_session
from sessions_app.chats.reading.live_windows import marked
from sessions_app.chats.reading.sessions import (
    SessionDeleted,
    SessionNotFound,
    SessionRow,
    get_session,
    get_session_by_external_id,
)
from sessions_app.core.errors import Conflict, Invalid, PreconditionFailed
from sessions_app.core.id_parsing import refuse_dots
from sessions_app.core.limits import quotas
from sessions_app.core.storage.transactions import write
from sessions_app.core.web.preconditions import named
from sessions_app.events import event_log
from sessions_app.models import Caller, ChatSession, Project
from sessions_app.models.event import EventType
from sessions_app.models.times import now
from sessions_app.projects.queries import get_project
from sessions_app.projects.services import ensure_project


class SessionExists(PreconditionFailed):
    code, message = "session_exists", "A session with this id exists. Save to it, or take another id."


class ExternalIdTaken(Conflict):
    code, message = "external_id_taken", "This project has a session with this external_id: see details."


@dataclass(frozen=True, slots=True)
class NewSession:
    """`metadata`, `tags`: as stored. `current`: whether it becomes the project's current session."""

    title: str = ""
    opening_step: str = ""
    external_id: str | None = None
    metadata: str | None = None
    tags: str | None = None
    pinned: bool = False
    current: bool = True


def create_session(*, caller: Caller, project_id: uuid.UUID, new: NewSession) -> SessionRow:
    """A new session in one of the caller's projects; if it becomes the current one, the previous one is archived."""

    return write(lambda: create_in(caller=caller, project_id=project_id, session_id=uuid.uuid4(), new=new))


def create_session_of_form(*, caller: Caller, project_id: uuid.UUID, form: uuid.UUID) -> SessionRow:
    """As `create_session`. The same form sent again gets the session that it made, as long as nothing was written in it."""
    made = uuid.uuid5(form, f"{caller.user_id} {project_id}")

    def work() -> SessionRow:
        project = lock_project_and_current(caller=caller, project_id=project_id)
        former = ChatSession.objects.visible_to(caller).filter(id=made).first()
        if former is None:
            return create_locked(caller, project, made, NewSession())
        if former.rev == 0 and former.deleted_at is None and project.current_session_id == made:
            return get_session(caller=caller, session_id=made)
        return create_locked(caller, project, uuid.uuid4(), NewSession())

    return write(work)


def create_in(*, caller: Caller, project_id: uuid.UUID, session_id: uuid.UUID, new: NewSession) -> SessionRow:
    """As `create_session`, inside the caller's transaction and with a given id."""
    project = lock_project_and_current(caller=caller, project_id=project_id)
    return create_locked(caller, project, session_id, new)


def create_session_under_id(*, caller: Caller, session_id: uuid.UUID, path: str, new: NewSession) -> SessionRow:
    """As `create_session`, under the client's own id, in the project at `path`, which is created if needed."""

    def work() -> SessionRow:
        project, _ = ensure_project(caller=caller, path=path)
        project = lock_project_and_current(caller=caller, project_id=project.id)
        if ChatSession.objects.visible_to(caller).filter(id=session_id).exists():
            raise SessionExists
        return create_locked(caller, project, session_id, new)

    return write(work)


def get_by_external_id(*, caller: Caller, project_id: uuid.UUID, external_id: str) -> SessionRow:
    """The project's session with this external id; unknown → 404, in the trash → 410."""
    try:
        return get_session_by_external_id(caller=caller, project_id=project_id, external_id=external_id)
    except (SessionNotFound, SessionDeleted):
        get_project(caller=caller, project_id=project_id)  # If it is the project that is missing, that is said.
        raise


def ensure_by_external_id(*, caller: Caller, project_id: uuid.UUID, new: NewSession) -> tuple[SessionRow, bool]:
    """The project's session with `new.external_id`, and whether it was created. An existing one is not changed."""
    external_id = new.external_id or ""
    found = _by_external_id(get_project(caller=caller, project_id=project_id), external_id)
    if found is not None:
        return get_session(caller=caller, session_id=found), False

    def work() -> tuple[SessionRow, bool]:
        project = lock_project_and_current(caller=caller, project_id=project_id)
        # Under the project's lock: of several requests one creates it, and the others find it here.
        if (made := _by_external_id(project, external_id)) is not None:
            return get_session(caller=caller, session_id=made), False
        return create_locked(caller, project, uuid.uuid4(), new), True

    return write(work)


def ensure_current(*, caller: Caller, project_id: uuid.UUID) -> SessionRow:
    """The project's current session, created if there is none."""
    current = get_project(caller=caller, project_id=project_id).current_session_id
    if current is not None:
        return get_session(caller=caller, session_id=current)

    def work() -> SessionRow:
        project = lock_project_and_current(caller=caller, project_id=project_id)
        if project.current_session_id is not None:  # Another request was first.
            return get_session(caller=caller, session_id=project.current_session_id)
        return create_locked(caller, project, uuid.uuid4(), NewSession())

    return write(work)


class TitleChanged(PreconditionFailed):
    code = "title_changed"

    def __init__(self, title: str) -> None:
        named = f"the title “{title}”" if title else "no title any more"
        super().__init__(f"It was renamed meanwhile: it has {named}. Rename it again to replace that.", details={"title": title})


class UnknownHead(Invalid):
    code, message = "unknown_message", "`head` names no message of this session. Read the session again."


def update_session(
    *, caller: Caller, session_id: uuid.UUID, fields: dict[str, Any], if_match: str = "", if_title: str | None = None
) -> SessionRow:
    """Title, opening step, `pinned`, `archived`, `head`, `current: true`; fields not in `fields` stay. An archived session is not
    current. `metadata` and `tags` are functions of the locked session's row that return what to store. `if_match`: the ETag as
    the caller knows it; `if_title`: the title that a rename replaces. Raises PreconditionFailed, TitleChanged, UnknownHead.
    """

    def work() -> SessionRow:
        row = get_session(caller=caller, session_id=session_id)
        project = lock_project_and_current(caller=caller, project_id=row.project_id, also=session_id)
        session = lock_session(caller=caller, session_id=session_id)
        _check_match(session, if_match)
        _check_title(caller, session_id, if_title, fields)
        at = now()
        changed: dict[str, Any] = {name: fields[name] for name in ("title", "opening_step") if name in fields}
        changed |= _labels(caller, session_id, fields)
        if "head" in fields:
            changed |= _moved_head(session, fields["head"], to_end=fields.get("to_end", False))
        if "archived" in fields:
            changed |= dict.fromkeys(("archived_at", "archive_requested_at"), at if fields["archived"] else None)
        if fields.get("archived") and not fields.get("current") and project.current_session_id == session_id:
            # An archived session is not resumed.
            project.current_session_id = None
            project.save(update_fields=["current_session"])
        if fields.get("current"):
            changed |= {"archived_at": None, "archive_requested_at": None}
            _make_current(caller, project, session_id, at)
        if fields.keys() - {"current", "to_end"}:  # A session that is only opened keeps its place in lists by change.
            changed["updated_at"] = at
        ChatSession.objects.filter(id=session_id).update(**changed, rev=F("rev") + 1)
        _tell(caller, EventType.SESSION_UPDATED, project.id, session_id, session.epoch, session.rev + 1)
        return get_session(caller=caller, session_id=session_id)

    return write(work)


def _check_match(session: LockedSession, if_match: str) -> None:
    if if_match and not named(if_match, session.etag, marked(session.etag, streaming=True)):
        raise PreconditionFailed(details={"etag": session.etag})


def _check_title(caller: Caller, session_id: uuid.UUID, seen: str | None, fields: dict[str, Any]) -> None:
    if seen is None:
        return
    title = get_session(caller=caller, session_id=session_id).title  # Read again, under the session's lock.
    if title not in {seen, fields.get("title", seen)}:
        raise TitleChanged(title)


def _moved_head(session: LockedSession, head: str, *, to_end: bool) -> dict[str, Any]:
    tree = Tree(session, rev=session.rev + 1)
    node = tree.nodes.find(head)
    if node is None or not node.live:
        raise UnknownHead(details={"field": "head", "message": head[:64]})
    tree.move_to(tree.nodes.newest_below(head) if to_end else head)
    return {"head": session.head}


def _labels(caller: Caller, session_id: uuid.UUID, fields: dict[str, Any]) -> dict[str, Any]:
    changed: dict[str, Any] = {"pinned": fields["pinned"] or None} if "pinned" in fields else {}
    computed: dict[str, Callable[[SessionRow], str | None]] = {
        name: fields[name] for name in ("metadata", "tags") if name in fields
    }
    if computed:
        row = get_session(caller=caller, session_id=session_id)  # Read again, under the session's lock.
        changed |= {name: compute(row) for name, compute in computed.items()}
    return changed


def create_locked(caller: Caller, project: Project, session_id: uuid.UUID, new: NewSession) -> SessionRow:
    """As `create_in`, in a project that is locked. Raises QuotaExceeded, DotsAsId, ExternalIdTaken, SessionExists."""
    quotas.check_sessions(caller.user_id)
    at = now()
    refuse_dots(external_id=new.external_id)
    refuse_taken(project, new.external_id)
    try:
        with transaction.atomic():
            ChatSession.objects.create(
                id=session_id,
                project=project,
                external_id=new.external_id,
                title=new.title,
                opening_step=new.opening_step,
                metadata=new.metadata,
                tags=new.tags,
                pinned=new.pinned or None,
                created_at=at,
                updated_at=at,
            )
    except IntegrityError:
        refuse_taken(project, new.external_id)  # An import published it meanwhile, which does not wait for the project's lock.
        # The id is another user's: random ids never collide, and the error does not reveal the owner.
        raise SessionExists from None
    welcome(caller=caller, project=project, session_id=session_id, at=at, current=new.current)
    return get_session(caller=caller, session_id=session_id)


def welcome(*, caller: Caller, project: Project, session_id: uuid.UUID, at: datetime, rev: int = 0, current: bool = True) -> None:
    """Announce a new session in its first epoch and make it current, inside the caller's transaction."""
    if current:
        _make_current(caller, project, session_id, at)
    _tell(caller, EventType.SESSION_CREATED, project.id, session_id, 1, rev)


def refuse_taken(project: Project, external_id: str | None) -> None:
    if external_id is None:
        return
    if (taken := _by_external_id(project, external_id)) is not None:
        raise ExternalIdTaken(details={"session": str(taken)})


def _by_external_id(project: Project, external_id: str) -> uuid.UUID | None:
    return ChatSession.objects.filter(project=project, external_id=external_id).values_list("id", flat=True).first()


def _make_current(caller: Caller, project: Project, session_id: uuid.UUID, at: datetime) -> None:
    """Make it the session that is resumed; the previous one is archived, and its listeners are notified."""
    former = project.current_session_id
    if former == session_id:
        return
    if former is not None:
        archived = ChatSession.objects.filter(id=former, archived_at=None, deleted_at=None)
        if archived.update(archived_at=at, rev=F("rev") + 1):
            epoch, rev = ChatSession.objects.values_list(F("epoch") + Coalesce("epochs_ahead", 0), "rev").get(id=former)
            _tell(caller, EventType.SESSION_UPDATED, project.id, former, epoch, rev)
    project.current_session_id = session_id
    project.updated_at = at
    project.save(update_fields=["current_session", "updated_at"])


def _tell(caller: Caller, kind: EventType, project_id: uuid.UUID, session_id: uuid.UUID, epoch: int, rev: int) -> None:
    event_log.publish(project_id=project_id, type=kind, caller=caller, session_id=session_id, epoch=epoch, rev=rev)
