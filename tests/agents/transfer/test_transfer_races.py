"""Transfers while both sides are written: no todo is lost, no request hangs, no valid request is refused."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User

from sessions_app.accounts import api_keys
from sessions_app.core.callers import caller_of_user
from tests.support.live_server import LiveServer

SHOP, OTHER = "/home/alice/shop", "/home/alice/other"
# So many rounds a carrier for every todo a saver saves. Without an end, savers on a slow machine could lose every race.
ROUNDS = 4


@dataclass
class Crowd:
    """Clients with a connection each. `acked`: todos that were answered; `surprises`: what nobody should have been answered."""

    url: str
    secret: str
    sessions: dict[str, str] = field(default_factory=dict)
    acked: set[str] = field(default_factory=set)
    surprises: list[str] = field(default_factory=list)
    rounds: int = ROUNDS
    over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        with self.client() as http:
            for path in (SHOP, OTHER):
                project = http.post("/projects", json={"path": path}).json()["id"]
                self.sessions[path] = http.post(f"/projects/{project}/sessions", json={}).json()["id"]

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=f"{self.url}/api/v1", headers={"Authorization": f"Bearer {self.secret}"}, timeout=30)

    def state(self, path: str) -> str:
        return f"/sessions/{self.sessions[path]}/ai-states/claude"

    def save(self, path: str, name: str, number: int) -> None:
        """Adds todos one after the other, each over the version that was read last."""
        with self.client() as http:
            for each in range(number):
                while not self.saved(http, path, f"{name} {each}"):
                    pass
                self.acked.add(f"{name} {each}")

    def saved(self, http: httpx.Client, path: str, content: str) -> bool:
        read = http.get(self.state(path))
        todos = read.json().get("todos", []) if read.status_code == 200 else []
        only = {"If-Match": read.headers["ETag"]} if read.status_code == 200 else {"If-None-Match": "*"}
        body = {"todos": [*todos, {"content": content, "status": "pending"}]}
        answer = http.put(self.state(path), json=body, headers=only)
        self.expect(answer, {200, 201, 412})
        return answer.status_code != 412

    def turns(self) -> Iterator[int]:
        """Again and again, until everybody has saved, or it was enough."""
        for turn in range(1, self.rounds + 1):
            if self.over.is_set():
                return
            yield turn

    def transfer(self, source: str, target: str, *, move: bool) -> None:
        with self.client() as http:
            for seq in self.turns():
                body: dict[str, Any] = {"to_session": self.sessions[target], "on_conflict": "merge"}
                if move:
                    body |= {"mode": "move", "epoch": 1, "writer_id": f"mover to {target}", "seq": seq}
                self.expect(http.post(f"/sessions/{self.sessions[source]}/transfer", json=body), {200})

    def rehearse(self, source: str, target: str) -> None:
        """Only ever asks what would happen: what it wrote meanwhile is rolled back beside the others' saves."""
        with self.client() as http:
            for _ in self.turns():
                body = {"to_session": self.sessions[target], "on_conflict": "overwrite", "mode": "move", "dry_run": True}
                self.expect(http.post(f"/sessions/{self.sessions[source]}/transfer", json=body), {200})

    def scatter(self, source: str, target: str) -> None:
        """New sessions in each other's projects, by transfer and by fork: other locks in other orders."""
        with self.client() as http:
            for _ in self.turns():
                address = f"/sessions/{self.sessions[source]}"
                self.expect(http.post(f"{address}/transfer", json={"to_project": target}), {201})
                self.expect(http.post(f"{address}/fork", json={"project": target}), {201})

    def expect(self, answer: httpx.Response, statuses: set[int]) -> None:
        if answer.status_code not in statuses:
            self.surprises.append(f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {answer.text[:300]}")

    def run(self, savers: int, number: int) -> None:
        self.rounds = ROUNDS * number
        saving = [
            threading.Thread(target=self.save, args=(path, f"{path} {saver}", number))
            for path in (SHOP, OTHER)
            for saver in range(savers)
        ]
        carrying = [
            threading.Thread(target=self.transfer, args=(SHOP, OTHER), kwargs={"move": False}),
            threading.Thread(target=self.transfer, args=(OTHER, SHOP), kwargs={"move": False}),
            threading.Thread(target=self.transfer, args=(SHOP, OTHER), kwargs={"move": True}),
            threading.Thread(target=self.rehearse, args=(OTHER, SHOP)),
            threading.Thread(target=self.scatter, args=(SHOP, OTHER)),
            threading.Thread(target=self.scatter, args=(OTHER, SHOP)),
        ]
        for thread in saving + carrying:
            thread.start()
        for thread in saving:
            thread.join()
        self.over.set()
        for thread in carrying:
            thread.join()

    def kept(self) -> set[str]:
        found = set()
        with self.client() as http:
            for path in (SHOP, OTHER):
                found |= {todo["content"] for todo in http.get(self.state(path)).json().get("todos", [])}
        return found


@pytest.mark.parametrize("number", [5, pytest.param(40, marks=pytest.mark.prove)])
def test_transfers_under_concurrent_saves_lose_no_todo(server: LiveServer, alice: User, number: int) -> None:
    crowd = Crowd(server.url, api_keys.create_key(caller=caller_of_user(alice)).secret)
    crowd.run(savers=2, number=number)
    assert crowd.surprises == []
    assert len(crowd.acked) == 4 * number
    assert crowd.acked - crowd.kept() == set()
