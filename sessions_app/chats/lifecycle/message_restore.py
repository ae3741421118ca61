"""Restores removed messages of any epoch into the current one."""

from dataclasses import dataclass
from datetime import datetime
from itertools import batched

from django.db.models import Count, F, Max, Min, QuerySet, Sum, Value
from django.db.models.expressions import Combinable

from sessions_app.chats.branches.tree import Tree
from sessions_app.chats.locking import LockedSession
from sessions_app.core.id_parsing import is_dots
from sessions_app.models import Clearing, Message
from sessions_app.models.live import POSITIONS_A_REV, Live, restored_rev, revs_to_restore
from sessions_app.models.message import MESSAGE_ID_LENGTH, Removal

# Ids in one statement.
AT_ONCE = 500
# Temporary epoch of a row between two updates.
_NO_EPOCH = 0


@dataclass(frozen=True, slots=True)
class RestoredMessages:
    """How many were restored, and which of them under another id: `{from, to}`."""

    count: int
    renamed: list[dict[str, str]]


def restore_messages(session: LockedSession, messages: QuerySet[Message], at: datetime, came_from: int = 0) -> RestoredMessages:
    """Make messages live again in the current epoch, without a writer; a taken id is replaced by a new one. They get
    `session.rev`; if there are many, also the revs after it, which are taken for them.

    Positions stay: they grow through all epochs, so older messages sort before newer ones without renumbering.
    `messages`: rows of this session, none of them live; they are not read, so a long chat is restored at once. Changes the
    session's counters, but does not store them.
    """
    found = messages.aggregate(count=Count("pk"), size_bytes=Sum("size_bytes"))
    present = Message.objects.filter(session_id=session.id, epoch=session.live.epoch)
    taken = _in_both(messages.exclude(epoch=session.live.epoch), present)
    to = _end(messages)
    _take_revs(session, _end(messages, first=True), to)
    renamed = _make_way(session, messages, taken, at, came_from, to)
    rev = _restored_rev(session.rev, to, POSITIONS_A_REV)
    messages.update(epoch=session.live.epoch, rev=rev, removed=Removal.NONE, writer_id=None, writer_seq=0, updated_at=at)
    session.message_count += found["count"]
    session.size_bytes += found["size_bytes"] or 0
    return RestoredMessages(found["count"], renamed)


def take_up(session: LockedSession, clearing: Clearing, at: datetime) -> RestoredMessages:
    """Restore all cleared messages, with the result of `restore_messages`; here the session continues under the cleared epoch.

    So no cleared message is written, however many there are: the messages written since move. Only if those are more, the
    cleared ones move. Changes the session's counters, but does not store them.
    """
    filed = Message.objects.filter(session_id=session.id, epoch=clearing.messages_epoch)
    since = Message.objects.filter(session_id=session.id, epoch=session.live.epoch)
    live, end = filed.filter(removed=Removal.NONE), _end(filed)
    back = list(since.filter(position__lte=end).order_by("position").values_list("message_id", flat=True))
    if since.count() > clearing.message_count:
        restored = restore_messages(session, live, at, clearing.epoch)
        return _joined(session, clearing, end, back, restored)
    left, here = session.live.epoch, clearing.messages_epoch
    count, size_bytes = _size(live, clearing)
    taken = _in_both(since, filed)
    start, revived_to = _end(live, first=True), _end(live)
    revs = _take_revs(session, min(start, _end(since, first=True) or start), revived_to)
    renamed = _make_way(session, live, taken, at, clearing.epoch, revived_to)
    # A message removed before the clear whose id was used again since yields to the later row.
    aside = [pk for some in batched(taken, AT_ONCE) for pk in filed.filter(message_id__in=some).values_list("pk", flat=True)]
    _file(aside, _NO_EPOCH)
    # As reported until now. Messages among the restored positions count as restored too: reporting them again is harmless.
    was = session.live
    rev = _restored_rev(was.revived_rev, was.revived_to, was.span)
    since.filter(position__lte=was.revived_to, rev__lt=was.revived_rev).update(rev=rev, writer_id=None, writer_seq=0)
    since.update(epoch=here)
    _file(aside, left)
    session.live = Live(here, session.rev, revived_to, revs)
    session.message_count += count
    session.size_bytes += size_bytes
    return _joined(session, clearing, end, back, RestoredMessages(count, renamed))


def _end(messages: QuerySet[Message], *, first: bool = False) -> int:
    """The last position among these messages, or the first one. Each alone: together they would read every row."""
    found: int | None = messages.aggregate(end=(Min if first else Max)("position"))["end"]
    return found or 0


def _take_revs(session: LockedSession, first: int, to: int) -> int:
    """The number of revs that it takes to restore these positions. The caller has taken one of them already."""
    revs = revs_to_restore(first, to)
    session.rev += revs - 1
    return revs


def _restored_rev(rev: int, to: int, span: int) -> Combinable:
    """`restored_rev` as SQL."""
    return Value(rev) - (Value(to) - F("position")) / Value(span)


def _joined(
    session: LockedSession, clearing: Clearing, end: int, back: list[str], restored: RestoredMessages
) -> RestoredMessages:
    """If either had branches: the messages written since follow the restored ones. `back`: those restored before, one by one."""
    if session.head is not None or clearing.head is not None:
        Tree(session).join(end, back)
    return restored


def _size(live: QuerySet[Message], clearing: Clearing) -> tuple[int, int]:
    """Number of messages and their bytes: those of the clearing, unless some were restored one by one."""
    if live.count() == clearing.message_count:
        return clearing.message_count, clearing.size_bytes
    found = live.aggregate(count=Count("pk"), size_bytes=Sum("size_bytes"))
    return found["count"], found["size_bytes"] or 0


def _file(pks: list[int], epoch: int) -> None:
    for some in batched(pks, AT_ONCE):
        Message.objects.filter(pk__in=some).update(epoch=epoch)


def _in_both(fewer: QuerySet[Message], more: QuerySet[Message]) -> list[str]:
    """Ids in both, looked up one by one: with outdated statistics the database would compare all with all."""
    ids = list(fewer.values_list("message_id", flat=True))
    found = (more.filter(message_id__in=some).values_list("message_id", flat=True) for some in batched(ids, AT_ONCE))
    return [message_id for some in found for message_id in some]


def _make_way(
    session: LockedSession, messages: QuerySet[Message], taken: list[str], at: datetime, came_from: int, to: int
) -> list[dict[str, str]]:
    """New ids for messages whose id is taken by now. `came_from`: their epoch as clients know it; 0: the stored epoch. `to`: the
    position of the last message that is restored with them."""
    renamed, fields = [], ("position", "pk", "message_id", "epoch")
    clashing = [row for some in batched(taken, AT_ONCE) for row in messages.filter(message_id__in=some).values_list(*fields)]
    for position, pk, message_id, epoch in sorted(clashing):
        fresh = free_id(session, message_id, epoch, came_from or epoch)
        rev = restored_rev(session.rev, to, position, POSITIONS_A_REV)
        nobodys = {"writer_id": None, "writer_seq": 0, "rev": rev, "updated_at": at}
        Message.objects.filter(pk=pk).update(message_id=fresh, **nobodys)
        for link in ("under", "parent_id"):
            links = Message.objects.filter(session_id=session.id, epoch=epoch, under__isnull=False, **{link: message_id})
            links.update(**{link: fresh})
        _rename_parent_of_next(session, epoch, position, message_id, fresh)
        renamed.append({"from": message_id, "to": fresh})
    return renamed


def _rename_parent_of_next(session: LockedSession, epoch: int, position: int, former: str, fresh: str) -> None:
    """Before a session's first branch each message follows the one before it, and no index has the parents that they name."""
    later = Message.objects.filter(session_id=session.id, epoch=epoch, position__gt=position, removed=Removal.NONE, aside=None)
    following = later.order_by("position").values_list("pk", "parent_id", "under").first()
    if following is not None and following[1:] == (former, None):
        Message.objects.filter(pk=following[0]).update(parent_id=fresh)


def free_id(session: LockedSession, message_id: str, epoch: int, came_from: int) -> str:
    """The id itself if it is free in the current epoch and under `epoch`, else with its epoch and a counter appended. So are `.`
    and `..`, which no new message has."""
    for number in range(1 if is_dots(message_id) else 0, 10_000):
        ending = ("", f"~{came_from}")[number] if number < 2 else f"~{came_from}.{number}"
        fresh = message_id[: MESSAGE_ID_LENGTH - len(ending)] + ending
        if not Message.objects.filter(session_id=session.id, epoch__in={session.live.epoch, epoch}, message_id=fresh).exists():
            return fresh
    raise AssertionError("ten thousand messages cannot share one id")
