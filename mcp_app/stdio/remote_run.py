"""The run of a process that serves one agent from a remote server: begun, kept alive and ended by the server's API."""

import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import httpx

from mcp_app.stdio.reader_notice import reader_notice
from sessions_app.core.errors import AppError

API = "/api/v1"
# Of one request. The process must end soon after its client did, whether or not the server answers.
SECONDS = 5.0
# The run is unknown there (a restored backup) or has ended.
GONE = frozenset({httpx.codes.NOT_FOUND, httpx.codes.GONE})
logger = logging.getLogger(__name__)


class RemoteRefused(AppError):
    """The server refuses this key or this project: to try again would not help."""


class RemoteRun:
    """`with RemoteRun(http, path) as run:` makes the project if there is none. While the server is away there is no run; it is
    begun as soon as the server answers. `say(text)` is told when this process becomes a reader or the writer.

    `beat_seconds`: time between heartbeats, less than the lease. Raises RemoteRefused at its start, and later not at all.
    """

    def __init__(
        self, http: httpx.Client, path: str, agent: str = "", *, beat_seconds: float, say: Callable[[str], None]
    ) -> None:
        self._http, self._path, self._agent, self._say = http, path, agent, say
        self._beat_seconds = beat_seconds
        self._run: str | None = None
        self._address = ""
        self.writer: dict[str, Any] | None = None
        self.may_write = True
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    @property
    def id(self) -> str | None:
        """None: there is no run now."""
        return self._run

    def __enter__(self) -> Self:
        try:
            self._begin()
        except httpx.HTTPError as error:
            self._say(f"The server does not answer ({type(error).__name__}). This process goes on and tries again.")
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ending.set()
        self._thread.join()
        if self._run is None:
            return
        try:
            self._post(f"{self._address}/{self._run}/end", {})
        except (AppError, httpx.HTTPError) as failure:
            logger.warning("the run could not be ended, its lease ends by itself: %s", type(failure).__name__)

    def _begin(self) -> None:
        """Raises RemoteRefused, httpx.HTTPError."""
        answer = self._post("/projects", {"path": self._path})
        if answer is None:  # The key may not write, so it needs no run.
            self.may_write = False
            return
        self._address = f"/projects/{answer['id']}/runs"
        self._take(self._post(self._address, {"agent": self._agent}))

    def _beat(self) -> None:
        while not self._ending.wait(self._beat_seconds):
            if not self.may_write:
                continue
            try:
                self._beat_once()
            except (AppError, httpx.HTTPError) as failure:
                logger.warning("a heartbeat failed: %s", type(failure).__name__)

    def _beat_once(self) -> None:
        if self._run is not None:
            state = self._post(f"{self._address}/{self._run}/heartbeat", {}, gone=None)
            if state is not None:
                self._take(state)
                return
            self._run = None
        self._begin()

    def _take(self, state: dict[str, Any] | None) -> None:
        if state is None:
            return
        before, self.writer = self.writer, state["holder"] if state["mode"] == "reader" else None
        was_known, self._run = self._run is not None, state["run_id"]
        if was_known and (before is None) != (self.writer is None):
            self._say(reader_notice(self.writer, named=True) or "This process is the writer of the project's memory now.")

    def _post(self, address: str, body: dict[str, Any], **instead: None) -> dict[str, Any] | None:
        """The answer; None if the key may not write, or, with `gone`, if there is nothing at this address."""
        answer = self._http.post(API + address, json=body)
        if answer.is_success:
            found: dict[str, Any] = answer.json()
            return found
        if answer.status_code >= httpx.codes.INTERNAL_SERVER_ERROR or answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
            answer.raise_for_status()
        if "gone" in instead and answer.status_code in GONE:
            return None
        code, message = refusal_of(answer)
        if code == "missing_scope":
            return None
        raise RemoteRefused(message)


def refusal_of(answer: httpx.Response) -> tuple[str, str]:
    """Code and message of a refusal in the API's shape, or of any other answer."""
    try:
        error = answer.json()["error"]
        return str(error["code"]), str(error["message"])
    except (ValueError, KeyError, TypeError):
        return "", f"The server answered {answer.status_code}. Is this the address of a Stillhere server?"
