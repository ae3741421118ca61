"""Eight clients that go on saving while something large happens, and how long their saves took."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from tests.support.machine_speed import percentile_99
from tests.support.server_process import ServerProcess
from tests.support.suite import is_patient

SAVERS, EVERY_SECONDS = 8, 0.1
# For saves with nothing beside them: a hundred of them, or more where there is time.
BEFORE_SECONDS = 3 if is_patient() else 1.5


@dataclass
class Saves:
    took: list[float] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def p99(self) -> float:
        """Seconds."""
        return percentile_99(self.took)


@contextmanager
def eight_savers(server: ServerProcess) -> Iterator[Saves]:
    """They save for as long as the block lasts; each has a session of its own."""
    saves, stop = Saves(), threading.Event()
    api = server.api(server.key("ben"))
    sessions = [api.session(f"/savers/{number}")[1] for number in range(SAVERS)]
    threads = [threading.Thread(target=_save, args=(server, session, saves, stop)) for session in sessions]
    for thread in threads:
        thread.start()
    try:
        yield saves
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        api.close()


def _save(server: ServerProcess, session: str, saves: Saves, stop: threading.Event) -> None:
    with httpx.Client(headers={"Authorization": f"Bearer {server.key('ben')}"}, timeout=60) as http:
        number = 0
        while not stop.wait(EVERY_SECONDS):
            number += 1
            ops = [{"op": "upsert", "id": f"m{number}", "role": "user", "text": f"said {number} " * 50}]
            began = time.monotonic()
            url = f"{server.url}/api/v1/sessions/{session}/changes"
            answer = http.post(url, json={"epoch": 1, "writer_id": "w", "seq": number, "ops": ops})
            saves.took.append(time.monotonic() - began)
            if answer.status_code != 200:
                saves.refused.append(f"{answer.status_code} {answer.text[:200]}")
