"""The messages of a fork, copied in batches into a hidden session: its project has no owner.

The source stays in use meanwhile. A message changed there after the copy began has a higher rev and is copied again: first
in batches, the rest at the end under the source's lock. The copy keeps the source's message ids to compare both.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sessions_app.agents.transfer.message_copies import guard_rows, rule_between
from sessions_app.chats.branches.nodes import END, Nodes
from sessions_app.chats.lifecycle.erasing.rows import drop_staged, erase_sessions
from sessions_app.chats.locking import LockedSession
from sessions_app.chats.reading.messages import ON_PATH
from sessions_app.core.errors import Conflict, Unavailable
from sessions_app.core.storage.paced_writes import Pace
from sessions_app.core.storage.sql import db_time, db_uuid, execute, fetch_row, fetch_rows, on_postgresql
from sessions_app.core.storage.transactions import write
from sessions_app.models import ChatSession, Message, Project
from sessions_app.models.message import Status
from sessions_app.models.project import OFF
from sessions_app.models.times import now

# Of the copy: its epoch, and the rev of all its messages.
FIRST = 1
_CONTENT = "message_id, role, text, parts, metadata, format, raw, parent_id, flagged, size_bytes, created_at, position"
_LIVE = "sessions_app_message WHERE session_id = %s AND epoch = %s AND {}"
_STATUS = f"CASE status WHEN '{Status.STREAMING.value}' THEN '{Status.INTERRUPTED.value}' ELSE status END"
_COPY = (
    f"INSERT INTO sessions_app_message ({_CONTENT}, status, session_id, epoch, rev, updated_at, ver, writer_seq, removed, "  # noqa: S608
    f"words_due) SELECT {_CONTENT}, {_STATUS}, %s, {FIRST}, {FIRST}, %s, 1, 0, '', %s FROM {_LIVE} AND "
)
_PIECE_ENDS = f"SELECT position FROM {_LIVE} AND position > %s AND position <= %s ORDER BY position LIMIT 1 OFFSET %s"  # noqa: S608
_COUNT = f"SELECT count(*) FROM {_LIVE} AND position <= %s"  # noqa: S608
_SIZE = f"SELECT count(*), COALESCE(SUM(size_bytes), 0) FROM {_LIVE} AND "  # noqa: S608
# The messages that one of a branch follows, and itself.
_BRANCH = (
    "removed = '' AND (under IS NULL OR message_id IN (WITH RECURSIVE walk (message_id, position, under) AS ("
    "SELECT message_id, position, under FROM sessions_app_message WHERE session_id = %s AND epoch = %s AND message_id = %s "
    "UNION ALL SELECT m.message_id, m.position, m.under FROM walk JOIN sessions_app_message m ON m.session_id = %s "
    "AND m.epoch = %s AND m.message_id = walk.under AND m.position < walk.position) SELECT message_id FROM walk))"
)
_CHANGED = (
    "SELECT rev, position, message_id FROM sessions_app_message WHERE session_id = %s AND epoch = %s AND rev >= %s "
    "AND (rev > %s OR position > %s) ORDER BY rev, position LIMIT %s"
)


class SourceChanged(Conflict):
    code = "changed_meanwhile"
    message = "While the session was copied, it was cleared and restored, or its project's settings changed. Fork it again."


class TakenOver(Unavailable):
    """A retry of the same request took over this fork, because it had made no progress for a while."""


@dataclass(frozen=True, slots=True)
class Progress:
    """`copied_to`: a position. `rev`, `place`: of the last change that is in the copy. `count`, `size_bytes`: of the copy.

    `heartbeat`: the value of `updated_at` of the copy, as long as nobody else has taken over.
    """

    rev: int
    heartbeat: datetime
    place: int = END
    copied_to: int = 0
    count: int = 0
    size_bytes: int = 0


@dataclass(slots=True)
class Copying:
    """`epoch`: of the source's messages. `last`: the last position to copy, or END. `rule`: what to do about secrets.

    `opening_step`: the source's, as the copy began. `end`: in a source with branches, the last message to copy, which is on the
    path to its head or, with `branch`, was not.
    """

    source_id: uuid.UUID
    target_id: uuid.UUID
    epoch: int
    last: int
    rule: str
    opening_step: str
    progress: Progress
    end: str = ""
    branch: bool = False
    _pace: Pace = field(default_factory=lambda: Pace(50, hidden=True))

    def steps(self) -> Iterator[bool]:
        """Copies everything that exists by now; one step per batch. Raises TakenOver."""
        yield from self._erase_rows()
        while self.progress.copied_to < self.last:
            yield self._step(self._copy_piece)
        while self._changes():
            yield self._step(self._copy_changes)

    def finish(self, source: LockedSession, target: Project) -> Progress:
        """The rest, inside a transaction that holds both locks. Raises SourceChanged."""
        progress = self.progress
        while (further := self._copy_changes(progress)) != progress:
            progress = further
        [there] = fetch_row(_COUNT.format(self._rows), [*self._source, self.last])
        if there != progress.count or self._left_path(source) or rule_between(source, target) != self.rule:
            raise SourceChanged
        return progress

    def discard(self) -> Iterator[bool]:
        """Deletes the copy; one step per batch. Raises TakenOver."""
        yield from self._erase_rows()
        yield self._step(self._erase_session)

    def _step(self, work: Callable[[Progress], Progress]) -> bool:
        def piece() -> Progress:
            self._pace.begin()
            mine = ChatSession.objects.filter(id=self.target_id, updated_at=self.progress.heartbeat, project__owner=None)
            at = now()
            if not mine.update(updated_at=at):
                raise TakenOver
            return replace(work(self.progress), heartbeat=at)

        self.progress = write(piece)
        self._pace.end()
        return True

    def _copy_piece(self, progress: Progress) -> Progress:
        bounds = [progress.copied_to, self.last]
        found = fetch_row(_PIECE_ENDS.format(self._rows), [*self._source, *bounds, self._pace.rows - 1])
        bounds = [progress.copied_to, self.last if found is None else found[0]]
        # A message changed since may have another position by now: it is copied with the changes, so only once.
        count, size = self._copy("position > %s AND position <= %s", bounds, "AND rev <= %s", [progress.rev])
        return replace(progress, copied_to=bounds[1], count=progress.count + count, size_bytes=progress.size_bytes + size)

    def _changes(self, progress: Progress | None = None) -> list[tuple[int, int, str]]:
        seen = progress or self.progress
        return fetch_rows(_CHANGED, [db_uuid(self.source_id), self.epoch, seen.rev, seen.rev, seen.place, self._pace.rows])

    def _copy_changes(self, progress: Progress) -> Progress:
        """Copies one batch of messages that were changed, added or removed since."""
        changes = self._changes(progress)
        if not changes:
            return progress
        ids = [message_id for _, _, message_id in changes]
        where = f"message_id IN ({', '.join(['%s'] * len(ids))}) AND position <= %s"
        count, size = self._size(where, [*ids, END])
        rows = Message.objects.filter(session_id=self.target_id, message_id__in=ids)
        rows._raw_delete(rows.db)
        count_now, size_now = self._copy(where, [*ids, self.last])
        rev, place, _ = changes[-1]
        count, size = progress.count - count + count_now, progress.size_bytes - size + size_now
        return replace(progress, rev=rev, place=place, count=count, size_bytes=size)

    def _copy(self, where: str, parameters: list[Any], only: str = "", bounds: Sequence[Any] = ()) -> tuple[int, int]:
        """`only`, `bounds`: a condition for rows of the source. Returns how many messages and bytes were copied."""
        place = [db_uuid(self.target_id), db_time(now()), on_postgresql() or None]
        execute(f"{_COPY.format(self._rows)}{where} {only}", [*place, *self._source, *parameters, *bounds])
        if self.rule != OFF:
            rows = Message.objects.filter(session_id=self.target_id)
            guard_rows(rows.extra(where=[where], params=parameters), self.rule)  # noqa: S610 - our own SQL
        return self._size(where, parameters)

    def _size(self, where: str, parameters: list[Any]) -> tuple[int, int]:
        count, size = fetch_row(_SIZE.format(ON_PATH) + where, [db_uuid(self.target_id), FIRST, *parameters])
        return count, int(size)

    @property
    def _rows(self) -> str:
        return _BRANCH if self.branch else ON_PATH

    @property
    def _source(self) -> list[Any]:
        """The parameters of `_rows`."""
        key = [db_uuid(self.source_id), self.epoch]
        return [*key, *key, self.end, *key] if self.branch else key

    def _left_path(self, source: LockedSession) -> bool:
        """Whether the path that was copied is no longer that of the source's head."""
        if self.branch or not self.end or source.live.epoch != self.epoch:
            return False
        node = Nodes(source.id, source.live).find(self.end)
        return node is not None and node.live and not node.on_path

    def _erase_rows(self) -> Iterator[bool]:
        """Deletes the copy's rows, whether of an earlier aborted try or of this one."""
        rows = Message.objects.filter(session_id=self.target_id)

        def erase_some(progress: Progress) -> Progress:
            some = rows.filter(pk__in=rows.order_by("pk").values_list("pk", flat=True)[: self._pace.rows])
            some._raw_delete(some.db)
            return progress

        while rows.exists():
            yield self._step(erase_some)

    def _erase_session(self, progress: Progress) -> Progress:
        projects = Project.objects.filter(owner=None, sessions=self.target_id)
        staged = list(projects.values_list("pk", flat=True))
        erase_sessions([self.target_id])
        drop_staged(staged)
        return progress
