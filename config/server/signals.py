"""A signal ends a backup, a restore or a start as an error does: what is unfinished is taken away."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Never

from django.conf import settings

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


def run_manage(*arguments: str, lock: int, aloud: str = "") -> str:
    """Runs `manage.py` with the settings of this process, in a process of its own, which is killed if a signal ends this one.
    Returns why it failed: the last line that it wrote to standard error. Empty: it did not.

    It has `lock` too: where this process is killed, the next start waits for its end.
    `aloud`: a line that is passed on when it is written.
    """
    # In the folder of this process, by which paths of the settings may be meant.
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]
    last = ""
    with ended_by_signals():
        former = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, pass_fds=[lock]) as child:  # noqa: S603 - our own words
                try:
                    # Before it is known here, a signal would leave it alone.
                    signal.pthread_sigmask(signal.SIG_SETMASK, former)
                    for line in child.stderr or ():
                        last = line.strip() or last
                        if aloud and aloud in line:
                            sys.stderr.write(line)
                    code = child.wait()
                except BaseException:
                    child.kill()
                    raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, former)
    if code < 0:
        return f"`manage.py {arguments[0]}` was ended by signal {-code}."
    return (last or "no reason given") if code else ""
