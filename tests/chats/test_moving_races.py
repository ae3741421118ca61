"""A session moves to another project and back while its clients save: they notice nothing."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.db import connection

from sessions_app.chats.lifecycle.bulk.services import change_sessions, run_steps
from sessions_app.chats.lifecycle.bulk.work import Act, Change, Changed, Step
from sessions_app.models import Caller, ChatSession, Event, Project
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


def moved(alice: User, session: str, path: str) -> list[Step]:
    """Moves by the service; the steps of its undo."""
    change = Change(Act.MOVE, to_project=Project.objects.get(path=path).id)
    done = change_sessions(
        caller=Caller(alice.id, alice.username), sessions=[ChatSession.objects.get(id=session).id], change=change
    )
    return done.undo


def run(alice: User, steps: list[Step]) -> Changed:
    """In a thread of its own, with a connection that ends with it."""
    try:
        return run_steps(caller=Caller(alice.id, alice.username), steps=steps)
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_nothing_is_lost_or_refused_while_moves_are_undone(server: LiveServer, api: Callable[..., Any], alice: User) -> None:
    chat = Chat(api(alice), project=PLACES[0])
    chat.api.post("/projects", {"path": PLACES[1]})
    crowd = Crowd(server.url, chat)

    def there_and_back() -> None:
        try:
            for _ in range(MOVES):
                assert len(run(alice, moved(alice, chat.id, PLACES[1])).changed) == 1
        finally:
            crowd.over.set()

    with ThreadPoolExecutor(WRITERS + 1) as pool:
        tasks = [pool.submit(there_and_back), *(pool.submit(crowd.save, writer) for writer in range(WRITERS))]
    assert [task.exception() for task in tasks] == [None] * len(tasks)
    assert crowd.surprises == []
    session = chat.read()["session"]
    assert (session["project"], session["state"], session["message_count"]) == (PLACES[0], "current", len(crowd.acked))
    assert Project.objects.get(path=PLACES[1]).current_session_id is None
    assert chat.conflicts() == []


@pytest.mark.django_db(transaction=True)
def test_a_move_counts_that_meets_an_undo_and_two_undos_are_one(server: LiveServer, api: Callable[..., Any], alice: User) -> None:
    """Under the server, so that writes share commits as they do in production."""
    chat = Chat(api(alice), project=PLACES[0])
    for path in (PLACES[1], "third"):
        chat.api.post("/projects", {"path": path})

    onward = Step(Change(Act.MOVE, to_project=Project.objects.get(path="third").id), [ChatSession.objects.get().id])
    for number in range(MOVES):
        steps = moved(alice, chat.id, PLACES[1])
        works = [steps, steps]
        works.insert(number % 3, [onward])
        with ThreadPoolExecutor(3) as pool:
            done = [len(task.result().changed) for task in [pool.submit(run, alice, work) for work in works]]
        assert (done.pop(number % 3), sum(done) <= 1) == (1, True)
        assert chat.read()["session"]["project"] == "third"
        assert set(Project.objects.exclude(current_session=None).values_list("path", flat=True)) == {"third"}
        moved(alice, chat.id, PLACES[0])
