"""What docs/protocol.md says of branches, as a plain program: every live message has a link, and the path is walked from the
head. It knows nothing of trunks, rows and indexes, which the server has for its speed.

A session without branches has no links: its messages follow each other in their order.
"""

from dataclasses import dataclass, field
from typing import Any

Op = dict[str, Any]


@dataclass
class Node:
    """`follows`: '' = it begins a branch. Of a removed message: what it followed."""

    order: int
    parent: str | None
    follows: str = ""
    live: bool = True


@dataclass
class Request:
    """What the ops of one save did so far. `cut`: truncated by it. `kept`: what the server did not let it change."""

    kept: set[str]
    path: list[str]
    new: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    cut: set[str] = field(default_factory=set)
    # Truncated and said again: the parent that is named.
    lifted: dict[str, str | None] = field(default_factory=dict)
    moved: list[str] = field(default_factory=list)


class Reference:
    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        # None: no branches. '': the path is empty.
        self.head: str | None = None
        self.last = 0
        self.unplaced: set[str] = set()

    # What a client reads.

    def live(self) -> list[str]:
        return sorted((name for name, node in self.nodes.items() if node.live), key=lambda name: self.nodes[name].order)

    def above(self, name: str) -> list[str]:
        """A message and those that it follows, oldest first."""
        found = list[str]()
        while name:
            found.append(name)
            name = self.nodes[name].follows
        return found[::-1]

    def path(self) -> list[str]:
        return self.live() if self.head is None else self.above(self.head)

    def tree(self) -> dict[str, str]:
        if self.head is None:
            names = self.live()
            return dict(zip(names, ["", *names], strict=False))
        return {name: self.nodes[name].follows for name in self.live()}

    def nearest_live(self, name: str) -> str:
        while name and not self.nodes[name].live:
            name = self.nodes[name].follows
        return name

    # A save.

    def save(self, ops: list[Op], kept: set[str]) -> None:
        """`kept`: the ids that the answer lists as spared or in conflict."""
        request = Request(kept, self.path())
        for op in ops:
            getattr(self, f"_{op['op']}")(op, request)
        if self.head is None and self._in_line(request):
            return
        self._place_all(request)

    def _next(self) -> int:
        self.last += 1
        return self.last

    def _upsert(self, op: Op, request: Request) -> None:
        name, node = op["id"], self.nodes.get(op["id"])
        named = (op["parent_id"] or "") if "parent_id" in op else None
        if node is None:
            self.nodes[name] = Node(self._next(), named, self.head or "")
            request.new.append(name)
            request.path.append(name)
        elif node.live:
            if named and named != node.parent and name not in request.kept:
                node.parent = named
                if name in request.lifted:
                    request.lifted[name] = named
                else:
                    request.moved.append(name)
        elif name in request.cut:
            request.cut.discard(name)
            request.path.append(name)
            node.live, node.order = True, self._next()
            if name not in request.new:
                request.removed.remove(name)
                request.lifted[name] = named or None
                if named and named != node.parent and self.head is None:
                    request.moved.append(name)
            node.parent = named or node.parent

    def _patch(self, op: Op, request: Request) -> None:
        if op["id"] in self.nodes and self.nodes[op["id"]].live:
            self._upsert(op, request)
        elif op["id"] in self.nodes:
            self.nodes[op["id"]].parent = op["parent_id"]

    def _delete(self, op: Op, request: Request) -> None:
        if op["id"] not in self.nodes:
            self.nodes[op["id"]] = Node(self._next(), None, self.head or "", live=False)
        elif self.nodes[op["id"]].live and op["id"] not in request.kept:
            self._take(op["id"], request)

    def _truncate(self, op: Op, request: Request) -> None:
        after = op["after"]
        if after and (after not in self.nodes or not self.nodes[after].live):
            return
        if not after or after in request.path:
            names = request.path[request.path.index(after) + 1 if after else 0 :]
        else:
            names = [name for name in self.live() if name not in request.path and after in self.above(name)[:-1]]
        for name in [name for name in names if name not in request.kept]:
            self._take(name, request)
            request.cut.add(name)

    def _pop(self, op: Op, request: Request) -> None:
        for name in request.path[-op["n"] :]:
            self._take(name, request)

    def _take(self, name: str, request: Request) -> None:
        self.nodes[name].live = False
        request.removed.append(name)
        if name in request.path:
            request.path.remove(name)
        request.lifted.pop(name, None)

    # Places.

    def _in_line(self, request: Request) -> bool:
        """Whether each names the message before it, if it names one: then the session has no branches yet."""
        names = self.live()
        new = [name for name in names if name in request.new]
        before = names[len(names) - len(new) - 1] if len(names) > len(new) else ""
        if request.moved:
            return not new and not any(self._moves(name) for name in request.moved)
        for name in new:
            if self.nodes[name].parent not in {None, before}:
                return False
            before = name
        return True

    def _moves(self, name: str) -> bool:
        """Whether it names a parent that is there and is not the message before it, in a session without branches."""
        names, parent = ["", *self.live()], self.nodes[name].parent
        return name in names and parent in names and parent not in {"", name, names[names.index(name) - 1]}

    def _begin(self) -> None:
        """The first branch: all get links, in their order."""
        if self.head is not None:
            return
        before = ""
        for name in sorted(self.nodes, key=lambda name: self.nodes[name].order):
            node = self.nodes[name]
            if name in self.unplaced:
                continue
            # Where there were branches until an undo, what was removed has its link.
            node.follows = before if node.live else node.follows or before
            node.parent = before if node.parent is None else node.parent
            before = name if node.live else before
        self.head = before

    def _place_all(self, request: Request) -> None:
        if self.head is None:
            request.lifted.clear()
        again = [name for name in request.lifted if self.nodes[name].live]
        new = [name for name in self.live() if name in request.new or name in again]
        self.unplaced = set(new)
        self._begin()
        self._bridge([name for name in [*request.removed, *again] if name not in request.new or name in again])
        for name in new:
            if name in again:
                self.nodes[name].parent = request.lifted[name]
            self._place(name, again=name in again)
        for name in request.moved:
            if self.nodes[name].live:
                self._reparent(name)

    def _bridge(self, gone: list[str]) -> None:
        """What followed them follows the one before them; a head that is gone is the one before it."""
        at = self.head or ""
        while at and (at in self.unplaced or not self.nodes[at].live):
            at = self.nodes[at].follows
        self.head = at
        links = {name: self.nodes[name].follows for name in gone}
        for name in self.live():
            under = self.nodes[name].follows
            if under in links and name not in self.unplaced:
                while under in links or (under and not self.nodes[under].live):
                    under = links.get(under, self.nodes[under].follows)
                self.nodes[name].follows = under

    def _place(self, name: str, *, again: bool = False, beside: bool = True) -> None:
        node, path = self.nodes[name], self.path()
        self.unplaced.discard(name)
        waiting = self._waiting(name)
        node.follows = self._place_for(name, [] if again else waiting)
        node.parent = node.follows if node.parent is None else node.parent
        taken = [waiter for waiter in waiting if waiter not in self.above(name)]
        for waiter in taken:
            self.nodes[waiter].follows = name
        if not set(taken) & set(path) and (node.follows == self.head or (beside and node.follows in {"", *path})):
            self.head = name

    def _waiting(self, name: str) -> list[str]:
        """Those that name it as their parent, but are elsewhere because it was not there."""
        others = (other for other in self.live() if other != name and other not in self.unplaced)
        return [other for other in others if self.nodes[other].parent == name and self.nodes[other].follows != name]

    def _place_for(self, name: str, waiting: list[str]) -> str:
        named = self.nodes[name].parent
        if named == "":
            return ""
        if named is not None and named != name and named not in self.unplaced and named in self.nodes:
            near = named
            while near and (not self.nodes[near].live or near in {*self.unplaced, name}):
                near = self.nodes[near].follows
            return near
        return self.nodes[waiting[0]].follows if waiting else self.head or ""

    def _reparent(self, name: str) -> None:
        wanted = self.nodes[name].parent or ""
        if wanted in self.nodes and self.nodes[wanted].live and name not in self.above(wanted):
            self.nodes[name].follows = wanted

    # Others.

    def restore(self, name: str) -> None:
        self.nodes[name].live = True
        if self.head is not None:
            self._place(name, beside=False)

    def move(self, name: str) -> None:
        if name != (self.live()[-1] if self.head is None else self.head):
            self._begin()
            self.head = name
