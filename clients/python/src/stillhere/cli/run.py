"""The run of a process that serves one agent: it holds the lease of the project's memory while the process works."""

import sys
import threading
from types import TracebackType
from typing import Any, Self

from stillhere.client import Client
from stillhere.connection import Operation, Request
from stillhere.errors import StillhereError

BEAT_SECONDS = 10.0
_GONE = {404, 410}
READER = "stillhere: another run writes the memory of this project; this one reads it, and saves conversations."


class Run:
    """`id`: None while the server is away, or if the key may only read."""

    def __init__(self, client: Client, agent: str) -> None:
        self.id: str | None = None
        self._client, self._agent = client, agent
        self._mode: str | None = None
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="stillhere-run", daemon=True)

    def __enter__(self) -> Self:
        self._begin()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ending.set()
        self._thread.join()
        if self.id is not None:
            self._ask(f"/{self.id}/end", {})

    def _beat(self) -> None:
        while not self._ending.wait(BEAT_SECONDS):
            if self.id is None:
                self._begin()
            else:
                self._ask(f"/{self.id}/heartbeat", {})

    def _begin(self) -> None:
        self._ask("", {"agent": self._agent})

    def _ask(self, path: str, body: dict[str, Any]) -> None:
        """A lease that is not renewed ends by itself, so nothing here ends the process."""
        try:
            answer = self._client.connection.run(_posted(path, body))
        except StillhereError as error:
            if error.status in _GONE:
                self.id = None
            return
        if "mode" in answer:
            self.id = answer["run_id"]
            # What ends is a reader as well, with nobody else who writes.
            if answer["mode"] == "reader" and self._mode != "reader" and not self._ending.is_set():
                print(READER, file=sys.stderr, flush=True)
            self._mode = answer["mode"]


def _posted(path: str, body: dict[str, Any]) -> Operation[dict[str, Any]]:
    answer: dict[str, Any] = yield Request("POST", f"/projects/{{project}}/runs{path}", body, repeatable=False)
    return answer
