"""Server side of the Markdown process: one child, started with the first text and ended when idle."""

import atexit
import json
import logging
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from io import BufferedReader

from django.conf import settings

COMMAND = (sys.executable, "-m", "sessions_app.core.rendering.markdown_process")
# The child limits its own CPU time; this is for an overloaded machine.
ANSWER_SECONDS, END_SECONDS = 10, 1
# Cost charged for a text that ended the child: its own time, and the start of the next child.
KILLED_CPU_SECONDS = 0.6
# Environment passed to the child. Nothing else: it needs no secret.
ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "LANG")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UserText:
    """What a user wrote: it keeps its lines and blanks."""

    text: str


# Markdown, or what a user wrote.
type Source = str | UserText


@dataclass(frozen=True, slots=True)
class Answer:
    """`html` None: the text takes too long. `final`: a retry would too."""

    html: str | None
    cpu: float
    final: bool = True


class MarkdownProcess:
    """Used by one thread at a time."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._lines: BufferedReader | None = None
        atexit.register(self.stop)

    def render(self, source: Source) -> Answer:
        asked = [source.text, True] if isinstance(source, UserText) else [source, False]
        try:
            found = json.loads(self._answer(json.dumps(asked).encode() + b"\n"))
        except (OSError, ValueError):
            ended = self._ended()
            logger.warning("the process that renders Markdown ended (%s): a text is shown as it is", ended)
            return Answer(None, KILLED_CPU_SECONDS, final=ended == -signal.SIGVTALRM)
        return Answer(found["html"], found["cpu"])

    def stop(self) -> None:
        self._ended()

    def _answer(self, line: bytes) -> bytes:
        if self._channel is None or self._lines is None:
            self._channel = self._start()
            self._lines = self._channel.makefile("rb")
        self._channel.sendall(line)
        if not (answer := self._lines.readline()):
            raise ConnectionError
        return answer

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        ours.settimeout(ANSWER_SECONDS)
        environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        with theirs:
            # Its own session: Ctrl-C in a terminal goes only to the server, which ends the child when it is done.
            self._child = subprocess.Popen(  # noqa: S603 - a constant
                COMMAND,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=settings.BASE_DIR,
                env=environment,
                start_new_session=True,
            )
        return ours

    def _ended(self) -> int | None:
        """End the child and return its exit status."""
        child, channel, lines = self._child, self._channel, self._lines
        self._child = self._channel = self._lines = None
        for end in (lines, channel):
            if end is not None:
                end.close()
        if child is None:
            return None
        try:
            return child.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            return child.wait()
