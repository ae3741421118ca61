"""Requests that the server holds until there is something to answer."""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self

import httpx

from tests.support.server_process import ServerProcess

# For a wait to be held before the next step: a change that comes earlier is answered as well.
HELD_SECONDS = 0.4


class HeldRequest:
    """One request in a thread of its own."""

    def __init__(self, pool: ThreadPoolExecutor, server: ServerProcess, key: str, address: str) -> None:
        self.began, self.took = time.monotonic(), 0.0
        self._answer: Future[httpx.Response] = pool.submit(self._ask, server, key, address)

    def _ask(self, server: ServerProcess, key: str, address: str) -> httpx.Response:
        answer = httpx.get(f"{server.url}/api/v1{address}", headers={"Authorization": f"Bearer {key}"}, timeout=70)
        self.took = time.monotonic() - self.began
        return answer

    def held(self) -> Self:
        time.sleep(HELD_SECONDS)
        assert not self._answer.done()
        return self

    def answer(self, status: int = 200) -> Any:
        answer = self._answer.result(70)
        assert answer.status_code == status, answer.text
        return answer.json()
