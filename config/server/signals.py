"""A signal ends a backup, a restore or a start as an error does: what is unfinished is taken away."""

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Never

ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Raises SystemExit within the block. A second signal does not interrupt the tidying up."""
    usual = {number: signal.getsignal(number) for number in ENDING}
    heard = [number for number in ENDING if usual[number] is not signal.SIG_IGN]  # `nohup` ignores SIGHUP.

    def end(number: int, _: Any) -> Never:
        for one in heard:
            signal.signal(one, signal.SIG_IGN)
        raise SystemExit(128 + number)

    for number in heard:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, usual[number])


def run_child(command: Sequence[str], **options: Any) -> tuple[int, str]:
    """Runs a program, which is killed if a signal ends this one. Returns its exit code and what it wrote to standard error."""
    with ended_by_signals():
        former = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options) as child:  # noqa: S603 - the caller's own words
                try:
                    # Before it is known here, a signal would leave it alone.
                    signal.pthread_sigmask(signal.SIG_SETMASK, former)
                    _, said = child.communicate()
                except BaseException:
                    child.kill()
                    raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, former)
    return child.returncode, said
