"""Saves of one writer: docs/protocol.md."""

import itertools
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

from stillhere.connection import Operation, Request
from stillhere.errors import StillhereError
from stillhere.http.forks import renew_in_forks
from stillhere.http.json_texts import as_json
from stillhere.operations.projects import get_project, session_path, without_none
from stillhere.operations.recent import Recent
from stillhere.operations.records import Cleared, Message, Project, Resumed, Saved, Session
from stillhere.operations.sessions import get_session

# Below the server's 5 MB, with room for the rest of the body.
MOST_OPS, MOST_BYTES = 500, 4_000_000
# A `base_rev`: whatever others stored meanwhile, this counts.
SEEN_ALL = 2**53 - 1
_LISTS = ("applied", "ignored", "conflicts", "spared", "dropped", "popped")
type Op = Mapping[str, Any]


class Writer:
    """Numbers the saves of one process, and knows the epochs of its sessions. Threads may share it."""

    def __init__(self) -> None:
        self._epochs = Recent[int]()
        self.renew()
        renew_in_forks(self)

    def renew(self) -> None:
        """In a forked process, which is another writer."""
        self.id = str(uuid.uuid4())
        self._numbers = itertools.count(1)

    def knows(self, session: Session) -> Session:
        self._epochs[session.id] = session.epoch
        return session

    def change(
        self, session: str, ops: Sequence[Op], *, base_rev: int, if_rev: int | None, fields: Mapping[str, Any] | None
    ) -> Operation[Saved]:
        """More than 500 operations, or 4 MB, are several requests; each is done completely or not at all."""
        requests = list(pieces(ops))  # All of them before the first is sent: one may be no JSON.
        epoch = yield from self._epoch(session)
        saved: list[Saved] = []
        for some in requests:
            condition = saved[-1].rev if saved and if_rev is not None else if_rev
            body = {"epoch": epoch, "writer_id": self.id, "seq": next(self._numbers), "base_rev": base_rev, "ops": some}
            body |= without_none(if_rev=condition, session=None if saved else fields)
            saved.append(Saved.of((yield from self._sent(session, "changes", body))))
        return reduce(together, saved)

    def clear(self, session: str) -> Operation[Cleared]:
        epoch = yield from self._epoch(session)
        body = {"epoch": epoch, "writer_id": self.id, "seq": next(self._numbers)}
        answer = yield from self._sent(session, "clear", body)
        self._epochs[session] = answer["epoch"]
        return Cleared(epoch=answer["epoch"], rev=answer["rev"], ended=answer["of"], cleared=answer["cleared"])

    def _sent(self, session: str, what: str, body: dict[str, Any]) -> Operation[Any]:
        try:
            return (yield Request("POST", f"{session_path(session)}/{what}", body))
        except StillhereError as error:
            if error.code == "stale_epoch":  # The next save is for the present one.
                self._epochs[session] = error.details["epoch"]
            raise

    def _epoch(self, session: str) -> Operation[int]:
        known = self._epochs.get(session)
        return self.knows((yield from get_session(session))).epoch if known is None else known


def change_once(
    session: str, ops: Sequence[Op], *, base_rev: int = 0, if_rev: int | None = None, fields: Mapping[str, Any] | None = None
) -> Operation[Saved]:
    """A save without a writer, for the present epoch whatever it is: many processes may add to one session so."""
    saved: list[Saved] = []
    for some in list(pieces(ops)):
        condition = saved[-1].rev if saved and if_rev is not None else if_rev
        body = {"base_rev": base_rev, "ops": some, **without_none(if_rev=condition, session=None if saved else fields)}
        saved.append(Saved.of((yield once(f"{session_path(session)}/changes", body))))
    return reduce(together, saved)


def clear_once(session: str) -> Operation[None]:
    yield once(f"{session_path(session)}/clear", {})


def once(path: str, body: dict[str, Any]) -> Request:
    """A request that may be sent again, because its key is stored with its answer."""
    return Request("POST", path, body, headers={"Idempotency-Key": str(uuid.uuid4())})


def resume(*, quiet: bool = False, format: str | None = None) -> Operation[Resumed | None]:
    """The project's current session with everything to continue from; None: nothing is saved. `quiet`: without telling the
    project's other listeners. `format`: the messages as the objects of a framework."""
    project = yield from get_project()
    query = without_none(project=project.path, optional="1", quiet="1" if quiet else None)
    answer = yield Request("GET", "/resume", query={**query, **({"as": format} if format else {})})
    if answer is None:
        return None
    same = ("more", "agent_state", "ai_states", "handoff", "app_state", "event_cursor")
    return Resumed(
        project=Project.of(answer["project"]),
        session=Session.of(answer["session"]),
        messages=answer["messages"] if format else [Message.of(each) for each in answer["messages"]],
        **{name: answer[name] for name in same},
    )


def upserts(messages: Sequence[Op]) -> list[Op]:
    """Each with an id of its own, if it has none. Raises TypeError for what is no list, and for a message that is no object."""
    if isinstance(messages, Mapping | str | bytes) or not isinstance(messages, Iterable):
        raise TypeError("Pass a list of messages: [{…}].")
    messages = list(messages)
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise TypeError(f"messages[{number}] is no object, but {type(message).__name__}.")
    return [{"op": "upsert", **({} if "id" in message else {"id": str(uuid.uuid4())}), **message} for message in messages]


def pieces(ops: Sequence[Op]) -> Iterator[list[Op]]:
    """As many as one request takes; of no operations one empty piece. Raises ValueError for NaN and infinity."""
    some: list[Op] = []
    size = 0
    for number, op in enumerate(ops):
        length = len(as_json(op, f"ops[{number}]"))
        if some and (len(some) == MOST_OPS or size + length > MOST_BYTES):
            yield some
            some, size = [], 0
        some.append(op)
        size += length
    yield some


def together(first: Saved, second: Saved) -> Saved:
    """`rejected` has indexes in its own request, so those of later ones are left out."""
    lists = {name: [*getattr(first, name), *getattr(second, name)] for name in _LISTS}
    rejected = [*first.rejected, *({**each, "index": None} for each in second.rejected)]
    return Saved(
        session=first.session,
        epoch=second.epoch,
        prev_rev=first.prev_rev,
        rev=second.rev,
        saved_at=second.saved_at,
        rejected=rejected,
        **lists,
    )
