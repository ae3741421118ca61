"""CPU time limits for a unit of work, in a process whose main thread does nothing else.

Two timers of the kernel count the process's own CPU time, so other load on the machine does not shorten it. The first one
raises `OutOfTime`, which also interrupts a regular expression while it is matching. The second one ends the process: it works
for code that does not return to the interpreter.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# The signal repeats after the limit: a first one can get lost in code that ignores exceptions.
REPEAT_SECONDS = 0.02


class OutOfTime(BaseException):
    """Not an `Exception`, so that no library catches it as one of its own."""


def _raise(_signal: int, _frame: FrameType | None) -> None:
    raise OutOfTime


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raises `OutOfTime` where the block takes more. Not nested, main thread only."""
    signal.signal(signal.SIGPROF, _raise)
    try:
        try:
            signal.setitimer(signal.ITIMER_PROF, seconds, REPEAT_SECONDS)
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except OutOfTime:
        # The signal may have been repeated before the timer was off.
        signal.setitimer(signal.ITIMER_PROF, 0)
        raise


def end_process_after(seconds: float) -> None:
    """The kernel ends this process after so much CPU time from now on; 0: no longer."""
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
