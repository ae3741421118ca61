"""Many clients for a while, and then all at once: no client gets "locked" or a server error."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.scale.load.test_floods import memory_bytes
from tests.support.databases import ON_POSTGRESQL
from tests.support.machine_speed import allowed, percentile_99
from tests.support.server_process import ServerProcess
from tests.support.stores import Store
from tests.support.suite import is_patient

pytestmark = [pytest.mark.scale, pytest.mark.timed]
CLIENTS, READERS, EVERY_SECONDS = 50, 10, 2.0
BURST = 200
P99_SECONDS = 0.5
MEMORY_GROWTH = 1.1
WAL_BYTES = 64 * 1024**2


@pytest.fixture
def server(store: Store) -> Iterator[ServerProcess]:
    with ServerProcess(store) as process:
        yield process


class Crowd:
    """Clients with a session each, and readers of these sessions. Keeps what was answered, and how fast saves were."""

    def __init__(self, server: ServerProcess) -> None:
        key = server.key("ana")
        api = server.api(key)
        self.sessions = [api.session(f"/crowd/{number}")[1] for number in range(CLIENTS)]
        api.close()
        self.http = httpx.Client(
            base_url=f"{server.url}/api/v1/sessions",
            headers={"Authorization": f"Bearer {key}"},
            # Connections end from this side first, as in any client that wants no reset in the middle of a save.
            limits=httpx.Limits(max_connections=BURST, max_keepalive_connections=BURST, keepalive_expiry=30),
            timeout=20,
        )
        self.answers: Counter[int] = Counter()
        self.faults: list[str] = []
        self.took: list[float] = []
        self.saved: Counter[int] = Counter()

    def save(self, client: int, number: int) -> httpx.Response:
        ops = [{"op": "upsert", "id": f"m{number}", "role": "user", "text": f"said {number} " * 50}]
        body = {"epoch": 1, "writer_id": f"c{client}", "seq": number, "ops": ops}
        began = time.monotonic()
        answer = self.http.post(f"/{self.sessions[client % CLIENTS]}/changes", json=body)
        self.took.append(time.monotonic() - began)
        return self.note(answer)

    def read(self, client: int) -> httpx.Response:
        return self.note(self.http.get(f"/{self.sessions[client]}"))

    def note(self, answer: httpx.Response) -> httpx.Response:
        self.answers[answer.status_code] += 1
        if answer.status_code != 200 or "locked" in answer.text:
            self.faults.append(f"{answer.status_code} {answer.text[:200]}")
        return answer

    def run(self, seconds: float) -> None:
        """Everybody at their own beat until the time is over."""
        stop = threading.Event()

        def writer(client: int) -> None:
            stop.wait(EVERY_SECONDS * client / CLIENTS)
            while not stop.is_set():
                self.saved[client] += 1
                self.save(client, self.saved[client])
                stop.wait(EVERY_SECONDS)

        def reader(client: int) -> None:
            while not stop.wait(0.2):
                self.read(client)

        with ThreadPoolExecutor(CLIENTS + READERS) as pool:
            done = [pool.submit(writer, client) for client in range(CLIENTS)]
            done += [pool.submit(reader, client) for client in range(READERS)]
            time.sleep(seconds)
            stop.set()
            for one in done:
                one.result()

    def burst(self) -> list[httpx.Response]:
        with ThreadPoolExecutor(BURST) as pool:
            return list(pool.map(lambda number: self.save(number, 1_000_000 + number), range(BURST)))


def keep_on(server: ServerProcess, folder: Path, *, seconds: float) -> None:
    crowd = Crowd(server)
    # Everybody comes once before the memory is measured.
    first = max(EVERY_SECONDS, seconds / 4)
    crowd.run(first)
    early = memory_bytes(server)
    crowd.run(seconds - first)
    assert memory_bytes(server) <= early * MEMORY_GROWTH
    assert crowd.faults == []
    assert crowd.answers[200] >= CLIENTS * seconds / EVERY_SECONDS * 0.8
    assert percentile_99(crowd.took) <= allowed(P99_SECONDS)
    turned_away = [answer for answer in crowd.burst() if answer.status_code != 200]
    assert all(answer.status_code == 503 and int(answer.headers["Retry-After"]) >= 1 for answer in turned_away)
    assert len(turned_away) <= BURST // 100
    crowd.http.close()
    if not ON_POSTGRESQL:
        assert (folder / "stillhere.sqlite3-wal").stat().st_size <= WAL_BYTES
    assert "is locked" not in server.whole_log()


def test_fifty_clients_and_ten_readers_get_no_error(server: ServerProcess, tmp_path: Path) -> None:
    keep_on(server, tmp_path, seconds=12 if is_patient() else 6)


@pytest.mark.prove
@pytest.mark.timeout(1800)
def test_fifty_clients_and_ten_readers_get_no_error_for_ten_minutes(server: ServerProcess, tmp_path: Path) -> None:
    keep_on(server, tmp_path, seconds=600)
