"""Which of a session's messages are live, and at which rev they count as written."""

from typing import NamedTuple

# An undo can restore a hundred thousand messages. Those of so many positions share a rev, so that a client can read what
# came back page by page.
POSITIONS_A_REV = 100


class Live(NamedTuple):
    """The messages stored under `epoch` that are not removed. Those up to the position `revived_to` were restored by an undo of
    a clear: they count as written by the undo, without a writer, unless written later.

    The undo took `revived_revs` revs. The newest of these messages have the last one, `revived_rev`; those before them the one
    before; and so on.
    """

    epoch: int
    revived_rev: int = 0
    revived_to: int = 0
    revived_revs: int = 1

    def revived(self, rev: int, position: int) -> bool:
        """True if a message of this rev and position is unchanged since the undo restored it."""
        return position <= self.revived_to and rev < self.revived_rev

    def rev_of(self, rev: int, position: int) -> int:
        """The rev at which a message counts as written. `rev`: the stored one."""
        return restored_rev(self.revived_rev, self.revived_to, position, self.span) if self.revived(rev, position) else rev

    @property
    def span(self) -> int:
        """How many positions share a rev."""
        return POSITIONS_A_REV if self.revived_revs > 1 else self.revived_to + 1

    @property
    def rev_before(self) -> int:
        """The session's rev before the undo."""
        return self.revived_rev - self.revived_revs

    def positions_between(self, rev: int, last: int) -> tuple[int, int]:
        """The first and the last position at which restored messages count as written after `rev` and not after `last`."""
        first = self.revived_to - (self.revived_rev - max(rev, self.rev_before)) * self.span + 1
        return first, self.revived_to - max(self.revived_rev - last, 0) * self.span


def restored_rev(rev: int, to: int, position: int, span: int) -> int:
    """The rev of a restored message. `rev`, `to`: those of the newest one."""
    return rev - (to - position) // span


def revs_to_restore(first: int, to: int) -> int:
    """How many revs it takes to restore the messages between two positions."""
    return (to - first) // POSITIONS_A_REV + 1
