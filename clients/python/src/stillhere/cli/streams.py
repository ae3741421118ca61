"""Standard input and output, whatever the program was started with."""

import io
import os
import signal
import sys


def use_streams() -> None:
    """Closed ones become empty ones, before a connection gets their number. Input is UTF-8, as JSON is, and other bytes are
    refused; of the output, characters that its encoding does not have are escaped."""
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115 - as long as the process
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="strict")
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(errors="backslashreplace")


def end_of_reader() -> int:
    """The exit code if nobody reads the output any more, as `head` after its lines: that of the signal. Python would complain of
    what is left to write when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + getattr(signal, "SIGPIPE", 13)
