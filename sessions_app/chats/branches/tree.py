"""Changes of the tree of a session's messages.

A session without branches has no tree: each message follows the one before it. The first branch gives the messages after
it a link (`under`) to the live message that they follow, and takes them off the path (`aside`). The messages before it are
the *trunk*: they have no link and are on the path to every head. So a change costs in proportion to the messages that it
puts on the path or takes off it, and a read of the path is the same index scan with and without branches.

Of a live message, `under` names a live message with a lower position. It differs from `parent_id` while the parent is not
there: not saved yet, or removed. As soon as it is there, the message moves under it.
"""

from collections.abc import Sequence
from itertools import batched

from sessions_app.chats.branches.nodes import AT_ONCE, END, Node, Nodes
from sessions_app.chats.locking import LockedSession
from sessions_app.core.storage.sql import execute, write_later

_UPDATE = "UPDATE sessions_app_message SET {} WHERE session_id = %s AND epoch = %s AND "
_MOVE = "UPDATE sessions_app_message SET position = %s, rev = %s WHERE id = %s"
# The live message before each, on the path.
_BEFORE = (
    "coalesce((SELECT p.message_id FROM sessions_app_message p WHERE p.session_id = sessions_app_message.session_id "
    "AND p.epoch = sessions_app_message.epoch AND p.removed = '' AND p.aside IS NULL "
    "AND p.position < sessions_app_message.position ORDER BY p.position DESC LIMIT 1), '')"
)

# Links to the message before each on the path. They are computed before any row is written: SQLite's subqueries would see
# the rows that the same statement has changed.
_LINK = (
    "UPDATE sessions_app_message SET parent_id = coalesce(parent_id, found.before_id), under = found.before_id, rev = %s{} FROM ("
    "SELECT id AS row_id, under AS linked, coalesce(lag(message_id) OVER (ORDER BY position), %s) AS before_id "
    "FROM sessions_app_message WHERE session_id = %s AND epoch = %s AND removed = '' AND aside IS NULL AND position > %s"
    ") AS found WHERE sessions_app_message.id = found.row_id AND found.linked IS NULL"
)


class Tree:
    """The tree of a locked session. Changes are counted as `rev`, but the session is not stored: the caller does that."""

    def __init__(self, session: LockedSession, *, rev: int | None = None) -> None:
        self.session, self.rev = session, session.rev if rev is None else rev
        self.nodes = Nodes(session.id, session.live)
        # Messages that are stored, but not placed yet: nothing can follow them.
        self.unplaced = set[str]()
        self.cuts = 0

    def begin(self) -> None:
        """Give a session without branches a head."""
        if self.session.head is None:
            self._lead_to_newest()

    def move_to(self, message_id: str) -> bool:
        """Make a live message the head. False if there is none with this id, or it is the head."""
        node = self.nodes.find(message_id)
        if node is None or not node.live or node.message_id == self._head():
            return False
        self.begin()
        self._show(message_id)
        return True

    def place(self, message_id: str, *, beside: bool = True, again: bool = False) -> None:
        """Place a live message that has a parent of its own or none, and those that wait for it; then move the head.

        It becomes the head if it follows the head or, with `beside`, any other message of the path. Its row is `aside`. `again`:
        it was elsewhere. So those that wait for it do not say where it belongs, and what was removed after it comes along.
        """
        self.unplaced.discard(message_id)
        waiting, cuts = self.nodes.awaiting(message_id, besides=self.unplaced), self.cuts
        node = self._get(message_id)
        under = self._place_for(node, [] if again else waiting)
        self._attach(message_id, under)
        if self.cuts > cuts:  # Those that waited in the trunk have links now.
            waiting = self.nodes.awaiting(message_id, besides=self.unplaced)
        if again:
            self._move_behind(message_id)
        if not node.parent_id and node.parent_id != under:
            self._set("parent_id = %s", "message_id = %s", under, message_id)
        found = [waiter for waiter in waiting if self._take_in(waiter, message_id)]
        if any(waiter.on_path for waiter in found):
            self._mark_again()
        elif under == self.session.head or (beside and self._on_path(under)):
            self._show(message_id)

    def reparent(self, message_id: str) -> None:
        """The `parent_id` of a live message was changed: move it there with all that follows it."""
        node = self._get(message_id)
        wanted = node.parent_id
        if wanted is None or wanted == message_id:
            return
        parent = self.nodes.find(wanted) if wanted else None
        if wanted and (parent is None or not parent.live or self.nodes.follows(wanted, message_id)):
            return  # Not there (yet), or it would follow itself: it stays where it is.
        if node.under is None:
            if wanted == self.nodes.id_on_path(node.position - 1):
                return
            self.begin()
            self._cut(0)
            node = self._get(message_id)
        if node.under != wanted:
            self._attach(message_id, self._fork_at(wanted))
            self._mark_again()

    def remove(self, removed: Sequence[tuple[str, str | None, int]]) -> None:
        """These were removed (id, `under`, position): what followed them follows the live message before them."""
        links = {message_id: (under, position) for message_id, under, position in removed}
        for child in self.nodes.children(list(links)):
            if child.message_id not in links:
                self._set("under = %s", "message_id = %s", self._live_before(child.under or "", links), child.message_id)
        self._lead_to_newest()

    def restore(self, message_id: str) -> None:
        """A removed message of this epoch is live again: under what it followed, with what waits for it."""
        node = self._get(message_id)
        if node.under is None:
            before = self.nodes.id_on_path(node.position - 1)
            if self.nodes.trunk_end(END) != node.position or not self.nodes.children([before]):
                for waiter in self.nodes.awaiting(message_id):
                    self._take_in(waiter, message_id)
                return self._lead_to_newest()
            # What followed it in the trunk has links by now, past it: it stands beside that.
            self._set("parent_id = coalesce(parent_id, %s), under = %s", "message_id = %s", before, before, message_id)
        self._set("aside = TRUE", "message_id = %s", message_id)
        return self.place(message_id, beside=False)

    def put_first(self, message_id: str) -> None:
        """A live message of no other place, before all with links, is of the trunk: at its end, what followed that follows it."""
        position = self._get(message_id).position
        if self.nodes.trunk_end(END) == position:
            under = self.nodes.id_on_path(position - 1)
            self._set("under = %s", "under = %s AND under IS NOT NULL AND removed = ''", message_id, under)
        self._lead_to_newest()

    def join(self, boundary: int, back: Sequence[str] = ()) -> None:
        """The messages after a position continue those before it: both were sessions of their own. `back`: messages of the later
        one that are before it, because they came back from the earlier one, in their order."""
        if not self.nodes.has_branches():
            self.session.head = None
            return
        loose = self._back_in_trunk(boundary, back)
        for message_id in loose:
            self._back_in_place(message_id)
        under = self.nodes.id_on_path(boundary)
        if self.nodes.has_branches(boundary):
            self._cut(boundary)
        orphans = (
            "position > %s AND under IS NOT NULL AND removed = '' AND (under = '' OR NOT EXISTS (SELECT 1 FROM "
            "sessions_app_message p WHERE p.session_id = sessions_app_message.session_id AND p.epoch = "
            "sessions_app_message.epoch AND p.message_id = sessions_app_message.under AND p.removed = '' "
            "AND p.position > %s))"  # Before it may be another message with this id.
        )
        self._set("under = %s", orphans, under, boundary, boundary)
        self._lead_to_newest()
        self._part(boundary, under)
        if loose:
            self._mark_again()

    def _part(self, boundary: int, under: str) -> None:
        """Of the messages after a position several may follow the one before it, as what was between them was not joined: then
        they stand beside each other, and one of them is on the path."""
        found = self.nodes.children([under])
        if any(node.position > boundary for node in found):
            self._fork_at(under)
            if sum(node.on_path for node in self.nodes.children([under])) > 1:
                self._mark_again()

    def _back_in_trunk(self, boundary: int, back: Sequence[str]) -> list[str]:
        """Those that came back where no message has a link take their place by position. Returns the others, off the path."""
        if not back:
            return []
        for message_id in back:
            self._set("under = '', aside = TRUE, rev = %s", "message_id = %s", self.rev, message_id)
        end = self.nodes.trunk_end(boundary, besides=frozenset(back))
        loose = [message_id for message_id in back if self._get(message_id).position > end]
        for message_id in back[: len(back) - len(loose)]:
            self._set("under = NULL, aside = NULL", "message_id = %s", message_id)
        return loose

    def _back_in_place(self, message_id: str) -> None:
        """Under its parent or, if that is not there, the message before it, with what waits for it. It stays off the path."""
        node = self._get(message_id)
        parent = self.nodes.find(node.parent_id) if node.parent_id else None
        above = self.nodes.find(self.nodes.nearest_live(parent.message_id)) if parent is not None else None
        if node.parent_id != "" and (above is None or above.position > node.position):
            above = self.nodes.newest_on_path(node.position)
        under = above.message_id if above is not None else ""
        self._attach(message_id, self._fork_at(under))
        for waiter in self.nodes.awaiting(message_id) if node.live else ():
            self._take_in(waiter, message_id)

    def _place_for(self, node: Node, waiting: list[Node]) -> str:
        """What a message follows: its parent or, if it is not there, the place of the first that waits for it, or the head."""
        named = node.parent_id
        if named == "":
            return self._fork_at("")
        if named is not None and named != node.message_id and named not in self.unplaced:
            parent = self.nodes.find(named)
            if parent is not None and parent.position != node.position:
                return self._fork_at(self.nodes.nearest_live(named, besides={*self.unplaced, node.message_id}))
        return (waiting[0].under or "") if waiting else self.session.head or ""

    def _take_in(self, waiter: Node, parent: str) -> bool:
        """Move a waiting message under its parent, unless the parent follows it."""
        if self.nodes.follows(parent, waiter.message_id):
            return False
        self._attach(waiter.message_id, parent)
        return True

    def _attach(self, message_id: str, under: str) -> None:
        self._set("under = %s, rev = %s", "message_id = %s", under, self.rev, message_id)
        above = self.nodes.find(under) if under else None
        if above is not None and above.position > self._get(message_id).position:
            self._move_behind(message_id)

    def _move_behind(self, message_id: str) -> None:
        """New positions, behind all others, for a message and all that follows it."""
        moved = []
        for pk, *_ in self.nodes.subtree(message_id):
            self.session.last_position += 1
            moved.append([self.session.last_position, self.rev, pk])
        write_later(_MOVE, moved)

    def _fork_at(self, under: str) -> str:
        """Make sure that a message can follow this one: the trunk ends here."""
        node = self.nodes.find(under) if under else None
        if node is None or node.under is None:
            self._cut(node.position if node is not None else 0)
        return under

    def _cut(self, position: int, *, take_off: bool = False) -> None:
        """The trunk ends at a position: give the messages after it, removed ones too, their links.

        With `take_off` those that are live leave the path: in the same statement, as writing a row costs the most.
        """
        self.cuts += 1
        # First: what was removed follows a message of the path as it is now.
        removed = "removed <> '' AND under IS NULL AND position > %s"
        self._set(f"parent_id = coalesce(parent_id, {_BEFORE}), under = {_BEFORE}", removed, position)
        key, first = self.nodes.key, self.nodes.id_on_path(position)
        # With a new `rev`, as a read shows the parent that is filled in.
        execute(_LINK.format(", aside = TRUE" if take_off else ""), [self.rev, first, *key, position])

    def _show(self, message_id: str) -> None:
        """Put a live message and what it follows on the path, and everything else after their common beginning off it."""
        *_, target = chain = self.nodes.chain(message_id, to_path=True)
        common = chain[0] if chain[0].on_path else None
        position = common.position if common is not None else 0
        if common is None and chain[0].under:  # Damaged link: what it names is not there.
            self._set("under = ''", "message_id = %s", chain[0].message_id)
        if common is None or common.under is None:
            self._cut(position, take_off=True)
        off = "removed = '' AND aside IS NULL AND under IS NOT NULL AND position > %s"
        self._set("aside = TRUE, rev = %s", off, self.rev, position)
        self._put_on_path([node.message_id for node in chain if node is not common])
        self.session.head = target.message_id

    def _put_on_path(self, ids: list[str]) -> None:
        for some in batched(ids, AT_ONCE):
            marks = ", ".join(["%s"] * len(some))
            self._set("aside = NULL, rev = %s", f"message_id IN ({marks})", self.rev, *some)

    def _mark_again(self) -> None:
        """Mark the path to the head from its beginning."""
        head = self._head()
        self._set("aside = TRUE, rev = %s", "removed = '' AND aside IS NULL AND under IS NOT NULL", self.rev)
        if head:
            self._show(head)

    def _lead_to_newest(self) -> None:
        newest = self.nodes.newest_on_path()
        self.session.head = newest.message_id if newest is not None else ""

    def _head(self) -> str | None:
        if self.session.head is not None:
            return self.session.head
        newest = self.nodes.newest_on_path()
        return newest.message_id if newest is not None else None

    def _on_path(self, message_id: str) -> bool:
        node = self.nodes.find(message_id) if message_id else None
        return not message_id or (node is not None and node.on_path)

    def _live_before(self, message_id: str, links: dict[str, tuple[str | None, int]]) -> str:
        while (place := links.get(message_id)) is not None and place[0]:
            message_id = place[0]
        if place is None:
            return self.nodes.nearest_live(message_id) if message_id else ""
        return self.nodes.id_on_path(place[1]) if place[0] is None else ""

    def _get(self, message_id: str) -> Node:
        node = self.nodes.find(message_id)
        if node is None:
            raise AssertionError("a message to place is in its session")
        return node

    def _set(self, values: str, where: str, *parameters: object) -> None:
        """`parameters`: those of the values, then those of the condition."""
        count = values.count("%s")
        execute(_UPDATE.format(values) + where, [*parameters[:count], *self.nodes.key, *parameters[count:]])
