"""A backup under load and its restore: what was acknowledged before it began is in it, and a client with
later acknowledged saves is notified, reads again and saves them again. No text is lost without notice."""

import itertools
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.scale.logged_writers import PATIENCE_SECONDS, Ack, Writer, all_messages, problems
from tests.support.databases import ON_POSTGRESQL
from tests.support.server_process import ServerProcess
from tests.support.stores import Store
from tests.support.suite import is_patient

pytestmark = pytest.mark.scale
WRITERS = 6
QUIET = 3
BACKUP_SECONDS = 30
# As many messages as a client says again in one request.
AT_ONCE = 200


@pytest.fixture
def server(store: Store) -> Iterator[ServerProcess]:
    with ServerProcess(store) as process:
        yield process


@dataclass
class Reader:
    """Reads on while the server comes and goes."""

    client: httpx.Client
    url: str

    def call(self, method: str, path: str, **query: Any) -> Any:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                answer = self.client.request(method, f"{self.url}/api/v1{path}", params=query)
            except httpx.TransportError:
                answer = httpx.Response(503)
            if answer.status_code == 200:
                return answer.json()
            assert time.monotonic() < deadline, answer.text
            time.sleep(0.02)


@dataclass
class Persistent(Writer):
    """Told that the chat it writes to is another one by now, it reads it and says again what is missing there."""

    epoch: int = 1
    seq: int = 0
    told: int = 0
    mended: list[str] = field(default_factory=list)

    def _save(self, client: httpx.Client, number: int) -> None:
        texts = {f"{self.name}-{half}-{number // 10}": self.text(number) for half in "ab"}
        while (answer := self.send(client, texts)).status_code == 409:
            self.told += 1
            self.read_again(client, answer.json()["error"])
        if answer.status_code != 200:
            self.refused.append(f"{number}: {answer.status_code} {answer.text[:200]}")
            return
        self.acks.append(Ack(number, answer.json()["rev"]))

    def send(self, client: httpx.Client, texts: dict[str, str]) -> httpx.Response:
        self.seq += 1
        ops = [{"op": "upsert", "id": name, "role": "assistant", "text": text} for name, text in texts.items()]
        body = {"epoch": self.epoch, "writer_id": self.writer_id, "seq": self.seq, "ops": ops}
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            try:
                answer = client.post(f"{self.url}/api/v1/sessions/{self.session}/changes", json=body)
            except httpx.TransportError:
                time.sleep(0.02)
                continue
            if answer.status_code != 503:
                return answer
            time.sleep(0.02)
        return httpx.Response(504, text="nobody answered")

    def read_again(self, client: httpx.Client, error: Any) -> None:
        assert error["code"] == "stale_epoch"
        stored = {name: message["text"] for name, message in all_messages(Reader(client, self.url), self.session).items()}
        self.epoch = error["details"]["epoch"]
        # As of what was acknowledged: the newest words of each message.
        known = {f"{self.name}-{half}-{ack.number // 10}": self.text(ack.number) for ack in self.acks for half in "ab"}
        lost = {name: text for name, text in known.items() if stored.get(name) != text}
        for some in itertools.batched(lost.items(), AT_ONCE):
            if self.send(client, dict(some)).status_code == 200:
                self.mended += dict(some)
        # Its revs start again as well.
        self.acks = [Ack(ack.number, 0, ack.at) for ack in self.acks]

    def until(self, moment: float) -> Writer:
        """With what had been acknowledged by then."""
        acks = [ack for ack in self.acks if ack.at <= moment]
        return Writer(self.url, self.key, self.session, self.name, acks=acks)


class Round:
    """Writers at work, a backup beneath them, a restore, and the writers go on."""

    def __init__(self, server: ServerProcess, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.key = server.key("ana")
        self.api = server.api(self.key)
        self.sessions = [self.api.session(f"/busy/{number}")[1] for number in range(WRITERS // 2)]
        self.quiet = [self.api.session(f"/quiet/{number}")[1] for number in range(QUIET)]
        for session in self.quiet:
            for number in range(30 if is_patient() else 10):
                self.api.save(session, f"m{number}", text=f"quiet words {number}")
        self.writers = [
            Persistent(server.url, self.key, self.sessions[number % len(self.sessions)], f"w{number}")
            for number in range(WRITERS)
        ]

    def play(self, times: int) -> None:
        stop = threading.Event()
        threads = [threading.Thread(target=writer.run, args=(stop,)) for writer in self.writers]
        for thread in threads:
            thread.start()
        try:
            for _ in range(times):
                self.once()
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.check()
        self.api.close()

    def check(self) -> None:
        stored = {session: all_messages(self.api, session) for session in self.sessions}
        assert problems([*self.writers], stored) == []
        assert all(writer.told for writer in self.writers)
        assert sum(len(writer.mended) for writer in self.writers) > 0

    def once(self) -> None:
        time.sleep(0.3)
        quiet = {session: texts(self.api, session) for session in self.quiet}
        etags = self.etags()
        with self.server.at_once("backup") as run:
            began = time.monotonic()
            backup = Path(run())
            assert time.monotonic() - began <= BACKUP_SECONDS
        assert backup.stat().st_mode & 0o777 == 0o600
        time.sleep(0.3)
        self.server.stop()
        in_backup = [writer.until(began) for writer in self.writers]
        assert sum(len(writer.acks) for writer in self.writers) > sum(len(writer.acks) for writer in in_backup)
        said = self.server.manage("restore", str(backup), "--discard")
        assert said.startswith("Restored, as incarnation")
        if not ON_POSTGRESQL:
            assert sound(self.folder / "stillhere.sqlite3")
        backup.unlink()
        self.server.start()
        stored = {session: all_messages(self.api, session) for session in self.sessions}
        assert problems(in_backup, stored) == []
        assert {session: texts(self.api, session) for session in self.quiet} == quiet
        assert not set(etags) & set(self.etags())

    def etags(self) -> list[str]:
        headers = {"Authorization": f"Bearer {self.key}"}
        return [httpx.get(f"{self.server.url}/api/v1/sessions/{one}", headers=headers).headers["ETag"] for one in self.quiet]


def texts(api: Any, session: str) -> list[tuple[str, str, int, str]]:
    messages = api.call("GET", f"/sessions/{session}")["messages"]
    return [(message["id"], message["text"], message["ver"], message["updated_at"]) for message in messages]


def sound(file: Path) -> bool:
    import sqlite3

    connection: Any = sqlite3.connect(file)
    try:
        return bool(connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)])
    finally:
        connection.close()


def test_backups_under_load_hold_what_was_acknowledged_and_lose_nobody(server: ServerProcess, tmp_path: Path) -> None:
    Round(server, tmp_path).play(1)


@pytest.mark.prove
def test_a_hundred_backups_and_restores_under_load_lose_nobody(server: ServerProcess, tmp_path: Path) -> None:
    Round(server, tmp_path).play(100)
