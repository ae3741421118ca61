"""A session moves to another project and back while its clients save: they notice nothing."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User

from sessions_app.models import ChatSession, Event, Project
from tests.support.chat import Chat
from tests.support.live_server import LiveServer
from tests.support.saves import upsert
from tests.support.suite import is_patient

WRITERS, MOVES = 8, 20 if is_patient() else 8
PLACES = ("/home/alice/shop", "/home/alice/other")


class Crowd:
    """Everybody has a connection of their own. `acked`: messages whose save was answered; `surprises`: other answers."""

    def __init__(self, url: str, chat: Chat) -> None:
        self._url = f"{url}/api/v1/sessions/{chat.id}"
        self._headers = {"Authorization": f"Bearer {chat.api.secret}"}
        self.acked: dict[str, str] = {}
        self.surprises: list[str] = []
        self.over = threading.Event()

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self._url, headers=self._headers, timeout=60)

    def expect(self, answer: httpx.Response, codes: set[int]) -> bool:
        if answer.status_code not in codes:
            self.surprises.append(f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {answer.text[:200]}")
        return answer.status_code == 200

    def save(self, writer: int) -> None:
        """Every message twice, so that it grows; one save in four goes by a key, and around the group of saves."""
        with self.client() as http:
            for number in range(1_000):
                if self.over.is_set() and number >= 5:
                    return
                for seq, text in enumerate((f"{writer} said", f"{writer} said {number}"), start=2 * number + 1):
                    step = {"epoch": 1, "writer_id": f"w{writer}", "seq": seq}
                    keyed = {"Idempotency-Key": f"{writer} {seq}"} if seq % 4 == 0 else {}
                    body = {"base_rev": 10**9, "ops": [upsert(f"{writer}-{number}", text)], **({} if keyed else step)}
                    answer = http.post("/changes", json=body, headers=keyed)
                    if self.expect(answer, {200}) and answer.json()["applied"]:
                        self.acked[f"{writer}-{number}"] = text

    def rename(self) -> None:
        with self.client() as http:
            while not self.over.is_set():
                self.expect(http.patch(self._url, json={"title": "renamed"}), {200})

    def move(self) -> None:
        try:
            with self.client() as http:
                for number in range(MOVES):
                    to = PLACES[(number + 1) % 2]
                    answer = http.post("/move", json={"to_project": to}, headers={"Idempotency-Key": f"move {number}"})
                    self.expect(answer, {200})
                    assert answer.json()["project"] == to
        finally:
            self.over.set()


@pytest.mark.django_db(transaction=True)
def test_nothing_is_lost_or_refused_while_a_session_moves(server: LiveServer, api: Callable[..., Any], alice: User) -> None:
    chat = Chat(api(alice), project=PLACES[0])
    chat.api.post("/projects", {"path": PLACES[1]})
    crowd = Crowd(server.url, chat)
    with ThreadPoolExecutor(WRITERS + 2) as pool:
        tasks = [pool.submit(crowd.save, writer) for writer in range(WRITERS)]
        tasks += [pool.submit(crowd.rename), pool.submit(crowd.move)]
    assert [task.exception() for task in tasks] == [None] * len(tasks)
    assert crowd.surprises == []
    shown: list[dict[str, Any]] = chat.get("messages?limit=500").json()["items"]
    while len(shown) % 500 == 0 and shown:
        shown = chat.get(f"messages?limit=500&before={shown[0]['id']}").json()["items"] + shown
    assert sorted(message["id"] for message in shown) == sorted(crowd.acked)
    assert {message["id"]: message["text"] for message in shown} == crowd.acked
    assert chat.conflicts() == []
    assert ChatSession.objects.get().project.path == PLACES[MOVES % 2]
    told = Counter(Event.objects.values_list("type", flat=True))
    assert told["SESSION_CREATED"] == MOVES + 1
    for project in Project.objects.all():
        numbers = list(Event.objects.filter(project=project).order_by("event_seq").values_list("event_seq", flat=True))
        assert numbers == list(range(1, project.event_seq + 1))


@pytest.mark.django_db(transaction=True)
def test_changes_of_many_meet_each_other_and_saves(server: LiveServer, api: Callable[..., Any], alice: User) -> None:
    chats = [Chat(api(alice), project=PLACES[number % 2]) for number in range(6)]
    ids = [chat.id for chat in chats]
    crowds = [Crowd(server.url, chat) for chat in chats[:3]]
    root = f"{server.url}/api/v1"

    def change(number: int) -> None:
        with crowds[0].client() as http:
            for turn in range(MOVES):
                some = (ids, ids[::-1], ids[1:5])[number]
                moved = {"act": "move", "to_project": PLACES[(turn + number) % 2]}
                act = moved if number < 2 else {"act": "tag", "tags": [str(turn)]}
                crowds[0].expect(http.post(f"{root}/sessions-bulk", json={**act, "sessions": some}), {200})

    def work(number: int) -> None:
        try:
            change(number)
        finally:
            for crowd in crowds:
                crowd.over.set()

    with ThreadPoolExecutor(6) as pool:
        tasks = [pool.submit(work, number) for number in range(3)]
        tasks += [pool.submit(crowd.save, writer) for writer, crowd in enumerate(crowds)]
    assert [task.exception() for task in tasks] == [None] * len(tasks)
    assert [crowd.surprises for crowd in crowds] == [[], [], []]
    for chat, crowd in zip(chats, crowds, strict=False):
        shown = chat.get("messages?limit=500").json()["items"]
        assert {message["id"]: message["text"] for message in shown}.items() <= crowd.acked.items()
        assert chat.read()["session"]["message_count"] == len(crowd.acked)
    assert all(len(chat.read()["session"]["tags"]) == MOVES for chat in chats[1:5])
    for project in Project.objects.all():
        numbers = list(Event.objects.filter(project=project).order_by("event_seq").values_list("event_seq", flat=True))
        assert numbers == list(range(1, project.event_seq + 1))
