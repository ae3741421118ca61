"""All clients come at once after a start: one request of a kind asks Django, its like wait for what is learned from that."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User

from config.http.bridge import Bridge
from sessions_app.accounts import api_keys
from sessions_app.core.callers import caller_of_user
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

CLIENTS = 12


class Django:
    """What it is asked. `first` runs in the thread of the first request, before its answer."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.is_asked = threading.Event()
        self.first: Callable[[], object] = lambda: None

    def note(self, path: str) -> None:
        self.paths.append(path)
        self.is_asked.set()
        if len(self.paths) == 1:
            self.first()


@pytest.fixture
def django(monkeypatch: pytest.MonkeyPatch) -> Django:
    watched, ask = Django(), Bridge._ask_django

    def told(self: Bridge, request: Any, *more: Any) -> Any:
        watched.note(request.scope["path"])
        return ask(self, request, *more)

    monkeypatch.setattr(Bridge, "_ask_django", told)
    return watched


@pytest.fixture
def clients(server: LiveServer, alice: User) -> Iterator[list[httpx.Client]]:
    secret = api_keys.create_key(caller=caller_of_user(alice)).secret
    made = [httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {secret}"}, timeout=30) for _ in range(CLIENTS)]
    yield made
    for client in made:
        client.close()


def save(client: httpx.Client, session: str, number: int) -> int:
    ops = [{"op": "upsert", "id": f"m{number}", "role": "user", "text": "words"}]
    body = {"epoch": 1, "writer_id": f"w{number}", "seq": 1, "ops": ops}
    return client.post(f"/api/v1/sessions/{session}/changes", json=body).status_code


def save_at_once(clients: list[httpx.Client], sessions: list[str]) -> list[int]:
    with ThreadPoolExecutor(CLIENTS) as threads:
        return list(threads.map(save, clients, sessions, range(CLIENTS)))


def held_until_the_others_wait(monkeypatch: pytest.MonkeyPatch) -> Callable[[], object]:
    """Holds the first answer back until all others have come as far as they come without it."""
    waiting, everybody = [0], threading.Event()
    quickly = Bridge._answer_quickly

    async def counted(self: Bridge, *request: Any) -> Any:
        answered = await quickly(self, *request)
        waiting[0] += 1
        if waiting[0] == CLIENTS:
            everybody.set()
        return answered

    monkeypatch.setattr(Bridge, "_answer_quickly", counted)
    return lambda: everybody.wait(10)


def test_one_of_many_first_saves_asks_django(
    clients: list[httpx.Client], api: Callable[..., Any], alice: User, django: Django, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("config.http.quick.first_requests.PATIENCE_SECONDS", 30)
    chat = Chat(api(alice))
    django.first = held_until_the_others_wait(monkeypatch)
    assert save_at_once(clients, [chat.id] * CLIENTS) == [200] * CLIENTS
    assert len(django.paths) == 1
    assert len(chat.texts()) == CLIENTS


def test_nothing_is_learned_from_a_refusal_and_its_like_ask_for_themselves(
    clients: list[httpx.Client], api: Callable[..., Any], alice: User, django: Django, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("config.http.quick.first_requests.PATIENCE_SECONDS", 30)
    django.first = held_until_the_others_wait(monkeypatch)
    assert save_at_once(clients, ["11111111-1111-4111-8111-111111111111"] * CLIENTS) == [404] * CLIENTS
    assert len(django.paths) == CLIENTS


def test_nobody_waits_long_for_a_first_request_that_is_held_up(
    clients: list[httpx.Client], api: Callable[..., Any], alice: User, django: Django
) -> None:
    chat, answered = Chat(api(alice)), threading.Event()
    django.first = lambda: answered.wait(30)
    with ThreadPoolExecutor(1) as thread:
        held_up = thread.submit(save, clients[0], chat.id, 0)
        assert django.is_asked.wait(10)
        assert save(clients[1], chat.id, 1) == 200
        assert not held_up.done()
        answered.set()
        assert held_up.result() == 200
