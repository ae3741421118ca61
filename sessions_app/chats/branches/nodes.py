"""Reading the tree of a session's messages, by index: no statement reads more than the part that it is about."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from itertools import batched
from typing import Any

from sessions_app.core.storage.sql import db_uuid, fetch_row, fetch_rows
from sessions_app.models.live import Live

# Greater than every position.
END = 2**63 - 1
AT_ONCE = 500
_COLUMNS = "message_id, position, under, removed, aside, parent_id"
_FROM = "sessions_app_message WHERE session_id = %s AND epoch = %s"
_PATH = "removed = '' AND aside IS NULL"
# A link leads to a lower position, so a walk ends even in a damaged tree.
_UP = (
    "WITH RECURSIVE walk (message_id, position, under, removed, aside, parent_id) AS ("  # noqa: S608
    f"SELECT {_COLUMNS} FROM {_FROM} AND message_id = %s UNION ALL "
    "SELECT m.message_id, m.position, m.under, m.removed, m.aside, m.parent_id FROM walk "
    "JOIN sessions_app_message m ON m.session_id = %s AND m.epoch = %s AND m.message_id = walk.under "
    "AND m.position < walk.position WHERE {going}) SELECT * FROM walk ORDER BY position"
)
_DOWN = (
    "WITH RECURSIVE walk (id, message_id, position, removed) AS ("  # noqa: S608
    f"SELECT id, message_id, position, removed FROM {_FROM} AND message_id = %s UNION ALL "
    "SELECT m.id, m.message_id, m.position, m.removed FROM walk "
    "JOIN sessions_app_message m ON m.session_id = %s AND m.epoch = %s AND m.under = walk.message_id "
    "AND m.position > walk.position) SELECT id, message_id, position, removed FROM walk ORDER BY position"
)


@dataclass(frozen=True, slots=True)
class Node:
    """A message's place. `under`: the live message that it follows, '' = none; None: it belongs to the trunk."""

    message_id: str
    position: int
    under: str | None
    removed: str
    aside: bool | None
    parent_id: str | None

    @property
    def live(self) -> bool:
        return not self.removed

    @property
    def on_path(self) -> bool:
        return self.live and not self.aside


class Nodes:
    """The messages of one session and epoch."""

    def __init__(self, session_id: uuid.UUID, live: Live) -> None:
        self.key: list[Any] = [db_uuid(session_id), live.epoch]

    def find(self, message_id: str) -> Node | None:
        return self._one(f"SELECT {_COLUMNS} FROM {_FROM} AND message_id = %s", message_id)  # noqa: S608

    def newest_on_path(self, upto: int = END) -> Node | None:
        """The last message of the path, of those at or before a position."""
        return self._one(
            f"SELECT {_COLUMNS} FROM {_FROM} AND {_PATH} AND position <= %s ORDER BY position DESC LIMIT 1",  # noqa: S608
            upto,
        )

    def id_on_path(self, upto: int) -> str:
        """The id of the last message of the path at or before a position; '' if there is none."""
        found = self.newest_on_path(upto)
        return found.message_id if found is not None else ""

    def awaiting(self, message_id: str, *, besides: Collection[str] = ()) -> list[Node]:
        """The live messages that name this one as parent, but are elsewhere because it was not there."""
        found = fetch_rows(
            f"SELECT {_COLUMNS} FROM {_FROM} AND parent_id = %s AND under IS NOT NULL AND under <> parent_id "  # noqa: S608
            "AND removed = '' AND message_id <> parent_id ORDER BY position",
            [*self.key, message_id],
        )
        return [node for node in (Node(*row) for row in found) if node.message_id not in besides]

    def follows(self, message_id: str, other: str) -> bool:
        """Whether a message is this other one, or follows it."""
        return any(node.message_id == other for node in self.chain(message_id))

    def children(self, of: list[str]) -> list[Node]:
        """The live messages under these."""
        found = list[Node]()
        for some in batched(of, AT_ONCE):
            marks = ", ".join(["%s"] * len(some))
            sql = f"SELECT {_COLUMNS} FROM {_FROM} AND under IN ({marks}) AND under IS NOT NULL AND removed = ''"  # noqa: S608
            found += [Node(*row) for row in fetch_rows(sql, [*self.key, *some])]
        return found

    def chain(self, message_id: str, *, to_path: bool = False) -> list[Node]:
        """A message and those that it follows, oldest first: to the trunk or, with `to_path`, to the first one on the path."""
        going = "walk.aside IS NOT NULL" if to_path else "walk.under IS NOT NULL"
        rows = fetch_rows(_UP.replace("{going}", going), [*self.key, message_id, *self.key])
        return [Node(*row) for row in rows]

    def nearest_live(self, message_id: str, *, besides: Collection[str] = ()) -> str:
        """The message itself or, if it was removed or is one of `besides`, the nearest live one that it followed; '' if there is
        none."""
        chain = self.chain(message_id)
        for node in reversed(chain):
            if node.live and node.message_id not in besides:
                return node.message_id
        if not chain or chain[0].under is not None:
            return ""
        return self.id_on_path(chain[0].position)

    def subtree(self, message_id: str) -> list[tuple[int, str, int, str]]:
        """`(pk, id, position, removed)` of a message and all that follow it, in their order."""
        return fetch_rows(_DOWN, [*self.key, message_id, *self.key])

    def newest_below(self, message_id: str) -> str:
        """The newest message of the branch that begins with this one."""
        node = self.find(message_id)
        if node is not None and node.under is None:  # Whatever is newer follows it.
            where = ("aside IS NULL", "aside IS NOT NULL")
            sql = f"SELECT position, message_id FROM {_FROM} AND removed = '' AND {{}} ORDER BY position DESC LIMIT 1"  # noqa: S608
            newest = [tuple(row) for rows in where for row in fetch_rows(sql.format(rows), self.key)]
            return str(max(newest)[1])
        live = [found for _, found, _, removed in self.subtree(message_id) if not removed]
        return live[-1] if live else message_id

    def has_branches(self, upto: int = END) -> bool:
        found = fetch_row(
            f"SELECT 1 FROM {_FROM} AND under IS NOT NULL AND removed = '' AND position <= %s LIMIT 1",  # noqa: S608
            [*self.key, upto],
        )
        return found is not None

    def trunk_end(self, boundary: int, *, besides: frozenset[str] = frozenset()) -> int:
        """The position of the last message of the trunk up to a boundary; the boundary if only those of `besides` have a link."""
        linked = f"SELECT message_id FROM {_FROM} AND under IS NOT NULL AND removed = '' AND position <= %s LIMIT %s"  # noqa: S608
        found = fetch_rows(linked, [*self.key, boundary, len(besides) + 1])
        if besides.issuperset(message_id for (message_id,) in found):
            return boundary
        trunk = "under IS NULL AND removed = '' AND position <= %s ORDER BY position DESC LIMIT 1"
        last = self._one(f"SELECT {_COLUMNS} FROM {_FROM} AND {trunk}", boundary)  # noqa: S608
        return last.position if last is not None else 0

    def _one(self, sql: str, *parameters: Any) -> Node | None:
        row = fetch_row(sql, [*self.key, *parameters])
        return None if row is None else Node(*row)
