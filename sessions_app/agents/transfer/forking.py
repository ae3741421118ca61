"""Forks: a copy of a session up to one message.

The hidden copy is made in batches, concurrently with other saves. The last transaction holds the source's lock, adds what
changed meanwhile, and gives the copy to its owner. So a fork is the source as of the moment in which it appears; if the
source was cleared meanwhile, as of the clear. What a killed process leaves behind is removed by the pruning, or by a
retry of the same request.
"""

import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

import orjson
from django.db.models import Sum

from sessions_app.agents.transfer.fork_copying import FIRST, Copying, Progress, TakenOver
from sessions_app.agents.transfer.message_copies import rule_between
from sessions_app.agents.transfer.state_copies import copy_states
from sessions_app.chats.branches.nodes import END, Nodes
from sessions_app.chats.lifecycle.erasing.rows import drop_staged
from sessions_app.chats.locking import LockedSession, lock_project_and_current, lock_session
from sessions_app.chats.reading.sessions import SessionRow, get_session
from sessions_app.chats.saving import receipts
from sessions_app.chats.saving.receipts import Answer, Request
from sessions_app.chats.session_cap import drop_oldest
from sessions_app.chats.sessions.services import welcome
from sessions_app.core.errors import Invalid, Unavailable
from sessions_app.core.limits import quotas
from sessions_app.core.storage.paced_writes import run_paced
from sessions_app.core.storage.transactions import write
from sessions_app.models import Caller, ChatSession, Message, Project
from sessions_app.models.session import TITLE_LENGTH
from sessions_app.models.times import now
from sessions_app.projects.services import ensure_project

# A fork without progress for this long was aborted: a retry of the same request may take it over.
STILL_FOR = timedelta(seconds=15)
# A retry sent while the first request is still running waits for it.
PATIENCE_SECONDS, LOOK_EVERY_SECONDS = 10.0, 0.1


class UnknownMessage(Invalid):
    code, message = "unknown_message", "`up_to` names no message of this session. Reload the session."


@dataclass(frozen=True, slots=True)
class Fork:
    """`up_to`: the last message to copy (None: all). `project`: the path of another project, created if it does not exist.

    `request`: identifies the request, so that a retry is idempotent; without it every request makes another fork.
    `current`: whether it becomes the project's current session.
    """

    up_to: str | None = None
    project: str | None = None
    request: Request | None = None
    current: bool = True


def fork_session(*, caller: Caller, session_id: uuid.UUID, fork: Fork) -> Answer:
    """A new session with the messages up to one; streaming messages become interrupted. 201 with the session.

    Raises NotFound, Gone, UnknownMessage, SourceChanged, Unavailable, QuotaExceeded.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        begun = write(lambda: _begin(caller, session_id, fork))
        if isinstance(begun, Answer):
            return begun
        if begun is not None:
            with suppress(TakenOver):
                return _complete(caller, session_id, fork, begun)
        if time.monotonic() > until:
            raise Unavailable(retry_after=1)
        time.sleep(LOOK_EVERY_SECONDS)


def _complete(caller: Caller, session_id: uuid.UUID, fork: Fork, copying: Copying) -> Answer:
    try:
        run_paced(copying.steps())
        return write(lambda: _publish(caller, session_id, fork, copying))
    except TakenOver:
        raise
    except BaseException:
        with suppress(Exception):  # If this fails too, the pruning deletes the copy.
            run_paced(copying.discard())
        raise


def _answered(fork: Fork) -> Answer | None:
    return None if fork.request is None else receipts.find(fork.request)


def _begin(caller: Caller, session_id: uuid.UUID, fork: Fork) -> Copying | Answer | None:
    """None: the same request is already running."""
    row = get_session(caller=caller, session_id=session_id)
    if (answered := _answered(fork)) is not None:  # First: the project may be deleted by now; do not recreate it.
        return answered
    source = lock_session(caller=caller, session_id=session_id)
    if (answered := _answered(fork)) is not None:
        return answered
    last, end, branch = _end_of(source, fork.up_to)
    project = (
        Project.objects.get(id=row.project_id) if fork.project is None else ensure_project(caller=caller, path=fork.project)[0]
    )
    rule = rule_between(source, project)
    target_id, staged = _place_for(fork.request)
    at = now()
    if staged is None:
        quotas.check_sessions(caller.user_id)
        _check_room(caller, source, last)
        nobodys = Project.objects.create(owner=None, path=project.path)
        ChatSession.objects.create(id=target_id, project=nobodys, created_at=at, updated_at=at)
    elif staged.updated_at > at - STILL_FOR:
        return None
    else:
        ChatSession.objects.filter(id=target_id).update(updated_at=at)
    return Copying(
        source.id, target_id, source.live.epoch, last, rule, source.opening_step, Progress(source.rev, at), end, branch
    )


def _check_room(caller: Caller, source: LockedSession, last: int) -> None:
    """Raises QuotaExceeded. The size of a part is only counted where the whole session has no room."""
    try:
        quotas.check_bytes(caller.user_id, source.size_bytes)
    except quotas.QuotaExceeded:
        if last == END:
            raise
        part = Message.objects.filter(session_id=source.id, epoch=source.live.epoch, removed="", position__lte=last)
        quotas.check_bytes(caller.user_id, part.aggregate(size=Sum("size_bytes"))["size"] or 0)


def _end_of(source: LockedSession, up_to: str | None) -> tuple[int, str, bool]:
    """The last position to copy and, in a session with branches, the last message, and whether it is off the path."""
    if up_to is None:
        return END, source.head or "", False
    node = Nodes(source.id, source.live).find(up_to)
    if node is None or not node.live:
        raise UnknownMessage(details={"up_to": up_to[:64]})
    return node.position, up_to, not node.on_path


def _place_for(request: Request | None) -> tuple[uuid.UUID, ChatSession | None]:
    """The id of the session to create, and that session if the same request has already started it."""
    if request is None:
        return uuid.uuid4(), None
    number = 0
    while True:  # Created with this id long ago: a request is remembered for a day.
        number += 1
        made_id = uuid.uuid5(request.session_id, f"{request.writer_id} {request.seq} {number}")
        found = ChatSession.objects.select_related("project").filter(id=made_id).first()
        if found is None or (found.project.owner_id is None and found.project.import_id is None):
            return made_id, found


def _publish(caller: Caller, session_id: uuid.UUID, fork: Fork, copying: Copying) -> Answer:
    row = get_session(caller=caller, session_id=session_id)
    project_id = row.project_id if fork.project is None else ensure_project(caller=caller, path=fork.project)[0].id
    project = lock_project_and_current(caller=caller, project_id=project_id, also=session_id, also_project=row.project_id)
    source = lock_session(caller=caller, session_id=session_id)
    if _answered(fork) is not None:
        raise TakenOver
    done = copying.finish(source, project)
    _give(caller, project, row, source, copying, done, current=fork.current)
    copy_states(source.id, copying.target_id)
    made = get_session(caller=caller, session_id=copying.target_id)
    answer = Answer(201, orjson.dumps(made.as_json()), made.etag)
    return answer if fork.request is None else receipts.keep(fork.request, answer)


def _give(
    caller: Caller,
    project: Project,
    row: SessionRow,
    source: LockedSession,
    copying: Copying,
    done: Progress,
    *,
    current: bool,
) -> None:
    """Makes the copy a session of this project, with the source's metadata and tags, and the current one if wanted."""
    at, rev = now(), FIRST if done.count else 0
    mine = ChatSession.objects.filter(id=copying.target_id, updated_at=done.heartbeat, project__owner=None)
    staged = list(mine.values_list("project_id", flat=True))
    values = {
        "project_id": project.id,
        "title": f"{row.title} (fork)"[:TITLE_LENGTH] if row.title else "",
        "metadata": row.metadata,
        "tags": row.tags,
        "opening_step": source.opening_step if source.live.epoch == copying.epoch else copying.opening_step,
        "created_at": at,
        "updated_at": at,
        "rev": rev,
        "last_position": min(copying.last, source.last_position),
        "message_count": done.count,
        "size_bytes": done.size_bytes,
    }
    if not mine.update(**values):
        raise TakenOver
    drop_staged(staged)
    if done.count:
        target = lock_session(caller=caller, session_id=copying.target_id)
        drop_oldest(target)
        target.write()
    welcome(caller=caller, project=project, session_id=copying.target_id, at=at, rev=rev, current=current)
