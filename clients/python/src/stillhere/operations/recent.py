"""What is known of sessions, of which a program may see millions while it runs."""

from contextlib import suppress

MOST_KNOWN = 10_000


class Recent[V](dict[str, V]):
    """Forgets what was set first. Threads may share one."""

    def __setitem__(self, name: str, value: V) -> None:
        super().__setitem__(name, value)
        if len(self) > MOST_KNOWN:
            with suppress(KeyError, RuntimeError, StopIteration):  # Another thread was faster.
                del self[next(iter(self))]
