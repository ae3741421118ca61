"""A question that a server answers by itself."""

import time
from collections.abc import Callable
from typing import Any

from tests.support.server_process import Api

PATIENCE_SECONDS = 40


class Asked:
    """One answer of a session of its own."""

    def __init__(self, api: Api, path: str, question: str, **body: Any) -> None:
        self.api = api
        _, self.session = api.session(path)
        self.now = api.call("POST", f"/sessions/{self.session}/generations", {"message": {"text": question}, **body})

    def step(self, name: str) -> None:
        self.now = self.api.call("POST", f"/sessions/{self.session}/generations/{self.now['generation']}/{name}")

    def read(self) -> Any:
        """The message of the answer."""
        return self.api.call("GET", f"/sessions/{self.session}/messages/{self.now['message']}")

    def wait(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert time.monotonic() < until, (self.now, self.read())
            time.sleep(0.05)

    def ended(self) -> str:
        """The state in which it ended."""

        def has_ended() -> bool:
            self.now = self.api.call("GET", f"/sessions/{self.session}/generations/{self.now['generation']}")
            return self.now["ended_at"] is not None

        self.wait(has_ended)
        return str(self.now["state"])
