"""Which of a session's messages are live, and at which rev they count as written."""

from typing import NamedTuple


class Live(NamedTuple):
    """The messages stored under `epoch` that are not removed. Those up to the position `revived_to` were restored by an undo of
    a clear: they count as written at `revived_rev`, without a writer, unless written later."""

    epoch: int
    revived_rev: int = 0
    revived_to: int = 0

    def revived(self, rev: int, position: int) -> bool:
        """True if a message of this rev and position is unchanged since the undo restored it."""
        return position <= self.revived_to and rev < self.revived_rev
