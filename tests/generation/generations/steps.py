"""Steps of a generation without a runner, for tests."""

from typing import Any

from generation_app.generations.claims import LEASE, LeaseWatch, claim, end_abandoned
from generation_app.models import Generation
from tests.support.chat import Chat


def ask(chat: Chat, text: str = "why?", **body: Any) -> Any:
    return chat.post_plain("generations", {"message": {"text": text, **body.pop("message", {})}, **body})


def started(chat: Chat, text: str = "why?", **body: Any) -> Any:
    answer = ask(chat, text, **body)
    assert answer.status_code == 202, answer.content
    return answer.json()


def step(chat: Chat, generation: Any, name: str) -> Any:
    return chat.post_plain(f"generations/{generation['generation']}/{name}", {})


class Looking:
    """A worker that looks at what others left, by a clock that the test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._watch = LeaseWatch(lambda: self.seconds)

    def look(self) -> int:
        """How many it ended."""
        return end_abandoned(worker="other", watch=self._watch, only_worker=False)

    def look_for(self, seconds: float = LEASE.total_seconds()) -> int:
        """Every second, so long."""
        ended = self.look()
        for _ in range(int(seconds)):
            self.seconds += 1
            ended += self.look()
        return ended


def claimed(worker: str = "w", **running: Any) -> Generation:
    found = claim(worker=worker, running=running.get("running", {}), share=running.get("share", 8))
    assert found is not None
    return found
