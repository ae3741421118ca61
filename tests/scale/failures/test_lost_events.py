"""Events are hints: whatever is dropped on the way or missed while away, a listener ends with what a fresh reader sees."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from math import inf
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from websockets.sync.client import connect

from sessions_app.events import hub, listener
from tests.support.live_server import LiveServer
from tests.support.sockets import Socket
from tests.support.suite import is_patient

pytestmark = pytest.mark.scale
SAVES = 40
# The number of the last save's event, behind which none comes that would tell of its loss. The first one is the session's own.
# One save writes a message that was deleted: its event tells of a conflict copy.
LAST = SAVES + 1
SAME_WITHIN_SECONDS = 30


@pytest.fixture
def lossy(transactional_db: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveServer]:
    """A server that drops every fifth push and always the last, and of what waits for a socket keeps next to nothing."""
    settings.HEARTBEAT_SECONDS = 1
    whole = hub._push
    monkeypatch.setattr(hub, "_push", lambda item: None if item[1] == LAST or random.random() < 0.2 else whole(item))
    monkeypatch.setattr(listener, "MOST_WAITING", 3)
    with LiveServer() as live:
        yield live


class Mirror:
    """A page's copy of one session: fed by events alone, over sockets that break off again and again, but never while silent."""

    def __init__(self, server: LiveServer, http: httpx.Client, secret: str, path: str, session: str) -> None:
        self._address = f"ws://{server.host}/ws/events/?project={path}"
        self._headers = {"Authorization": f"Bearer {secret}"}
        self._http, self._session = http, session
        self.heard, self.rev = 0, 0
        # Unknown until the writer is done.
        self.newest: float = inf
        self.texts: dict[str, str] = {}

    def follow(self, seconds: float) -> None:
        """Until the newest event was heard; each socket lives for a few frames."""
        deadline = time.monotonic() + seconds
        while self.heard < self.newest and time.monotonic() < deadline:
            address = f"{self._address}&since={self.heard}"
            with connect(address, additional_headers=self._headers, compression=None, close_timeout=2) as connection:
                self._listen(Socket(connection), deadline)

    def _listen(self, socket: Socket, deadline: float) -> None:
        lives_for = random.randint(3, 15)
        while lives_for and self.heard < self.newest:
            frame = socket.next(max(0.01, deadline - time.monotonic()))
            if frame["type"] == "SESSION_SAVED":
                assert frame["event_seq"] == self.heard + 1
                self._fetch()
                lives_for -= 1
            self.heard = frame["event_seq"]

    def _fetch(self) -> None:
        changed = self._http.get(f"/sessions/{self._session}/messages", params={"since_rev": self.rev, "limit": 500}).json()
        self.texts.update({message["id"]: message["text"] for message in changed["items"]})
        for gone in changed["removed"]:
            self.texts.pop(gone, None)
        self.rev = changed["rev"]


def save_on(http: httpx.Client, project: str, session: str, mirror: Mirror) -> None:
    for number in range(1, SAVES + 1):
        op: dict[str, Any] = {"op": "upsert", "id": f"m{number % 7}-{number // 14}", "role": "user", "text": f"said {number}"}
        if number % 9 == 0:
            op = {"op": "delete", "id": f"m{(number - 1) % 7}-{(number - 1) // 14}"}
        body = {"epoch": 1, "writer_id": "w", "seq": number, "ops": [op]}
        assert http.post(f"/sessions/{session}/changes", json=body).status_code == 200
    mirror.newest = http.get(f"/projects/{project}/events", params={"since": 0, "limit": 500}).json()["event_seq"]


def mirror_once(lossy: LiveServer, secret: str, path: str) -> None:
    with httpx.Client(base_url=f"{lossy.url}/api/v1", headers={"Authorization": f"Bearer {secret}"}, timeout=20) as http:
        project = http.post("/projects", json={"path": path}).json()["id"]
        made = http.post(f"/projects/{project}/sessions", json={}).json()
        session = made.get("session", made)["id"]
        mirror = Mirror(lossy, http, secret, path, session)
        saving = threading.Thread(target=save_on, args=(http, project, session, mirror))
        saving.start()
        began = time.monotonic()
        mirror.follow(SAME_WITHIN_SECONDS)
        saving.join()
        assert time.monotonic() - began <= SAME_WITHIN_SECONDS
        fresh = http.get(f"/sessions/{session}").json()["messages"]
        assert mirror.texts == {message["id"]: message["text"] for message in fresh}
        assert len(fresh) > SAVES / 4
        assert mirror.heard == mirror.newest == LAST


def secret_of(api: Callable[..., Any], user: User) -> str:
    header: str = api(user).client.defaults["HTTP_AUTHORIZATION"]
    return header.removeprefix("Bearer ")


def test_a_listener_of_whom_every_fifth_event_is_kept_sees_it_all(
    lossy: LiveServer, api: Callable[..., Any], alice: User
) -> None:
    for number in range(3 if is_patient() else 1):
        mirror_once(lossy, secret_of(api, alice), f"/lossy/{number}")


@pytest.mark.prove
def test_two_hundred_listeners_see_it_all(lossy: LiveServer, api: Callable[..., Any], alice: User) -> None:
    for number in range(200):
        mirror_once(lossy, secret_of(api, alice), f"/lossy/{number}")
