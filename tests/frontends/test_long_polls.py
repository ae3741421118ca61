"""`?since_rev=N&wait=S` answers when there is something, and holds nothing of the server while it waits."""

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from tests.frontends.held_requests import HELD_SECONDS, HeldRequest
from tests.support.chat import Chat
from tests.support.live_server import LiveServer
from tests.support.saves import refusal
from tests.support.server_process import ServerProcess
from tests.support.sockets import House
from tests.support.stores import Store


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


def waiting(pool: ThreadPoolExecutor, server: ServerProcess, key: str, session: str, *, rev: int, wait: int) -> HeldRequest:
    return HeldRequest(pool, server, key, f"/sessions/{session}/messages?since_rev={rev}&wait={wait}")


type Wait = Callable[..., HeldRequest]


@pytest.fixture
def wait(pool: ThreadPoolExecutor, house: House) -> Wait:
    return lambda session, rev=0, wait=25: waiting(pool, house.server, house.key, session, rev=rev, wait=wait)


def test_a_save_is_answered_at_once(house: House, path: str, wait: Wait) -> None:
    _, session = house.api.session(path)
    asked = wait(session).held()
    saved = house.api.save(session, "m1", text="at last")
    body = asked.answer()
    assert ([item["text"] for item in body["items"]], body["rev"]) == (["at last"], saved["rev"])
    assert asked.took < 10


def test_what_is_there_already_is_not_waited_for(house: House, path: str, wait: Wait) -> None:
    _, session = house.api.session(path)
    house.api.save(session, "m1")
    asked = wait(session)
    assert [item["id"] for item in asked.answer()["items"]] == ["m1"]
    assert asked.took < 10


def test_a_time_without_changes_ends_with_nothing(house: House, path: str, wait: Wait) -> None:
    project, session = house.api.session(path)
    other = house.api.call("POST", f"/projects/{project}/sessions", {"current": False})["id"]
    asked = wait(session, wait=1)
    house.api.save(other, "m1")  # Another session of the project.
    body = asked.answer()
    assert (body["items"], body["removed"], body["rev"], body["epoch"]) == ([], [], 0, 1)
    assert 0.9 <= asked.took < 12


@pytest.mark.parametrize("change", ["clear", "rename", "move"])
def test_other_changes_of_the_session_are_something_too(house: House, path: str, wait: Wait, change: str) -> None:
    _, session = house.api.session(path)
    rev = house.api.save(session, "m1")["rev"]
    asked = wait(session, rev=rev).held()
    if change == "clear":
        house.api.call("POST", f"/sessions/{session}/clear", {})
    elif change == "rename":
        house.api.call("PATCH", f"/sessions/{session}", {"title": "new"})
    else:
        house.api.session(f"{path}/other")
        house.api.call("POST", f"/sessions/{session}/move", {"to_project": f"{path}/other"})
    body = asked.answer()
    assert body["rev"] > rev
    assert body["epoch"] == (2 if change == "clear" else 1)
    assert asked.took < 10


@pytest.mark.slow
def test_a_session_that_is_deleted_meanwhile_is_gone(house: House, path: str, wait: Wait) -> None:
    _, session = house.api.session(path)
    asked = wait(session).held()
    house.api.call("DELETE", f"/sessions/{session}")
    assert asked.answer(410)["error"]["code"] == "session_deleted"


def test_somebody_else_s_session_is_unknown_at_once(house: House, path: str, pool: ThreadPoolExecutor) -> None:
    _, session = house.api.session(path)
    asked = waiting(pool, house.server, house.foreign_key, session, rev=0, wait=25)
    asked.answer(404)
    assert asked.took < 10


@pytest.mark.slow
def test_a_key_that_is_revoked_waits_no_longer(store: Store, pool: ThreadPoolExecutor) -> None:
    with ServerProcess(store, HEARTBEAT_SECONDS="1") as server:
        api = server.api(server.key("ana"))
        _, session = api.session("/p")
        asked = waiting(pool, server, server.key("ana"), session, rev=0, wait=50).held()
        server.shell("from sessions_app.models import ApiKey; ApiKey.objects.update(revoked_at='2020-01-01T00:00:00Z')")
        asked.answer(401)
        assert asked.took < 40
        api.close()


@pytest.mark.slow
def test_two_hundred_wait_while_saves_go_on(house: House, path: str) -> None:
    """They occupy no thread: the server has as many as before, and saves are answered. Then one save answers all of them."""
    project, session = house.api.session(path)
    other = house.api.call("POST", f"/projects/{project}/sessions", {"current": False})["id"]
    threads = len(list(Path(f"/proc/{house.server.pid}/task").iterdir()))

    async def all_of_them() -> list[httpx.Response]:
        limits = httpx.Limits(max_connections=250)
        headers = {"Authorization": f"Bearer {house.key}"}
        async with httpx.AsyncClient(base_url=f"{house.server.url}/api/v1", headers=headers, limits=limits, timeout=70) as client:
            asking = [asyncio.ensure_future(client.get(f"/sessions/{session}/messages?since_rev=0&wait=55")) for _ in range(200)]
            await asyncio.sleep(5)
            for number in range(30):
                await asyncio.to_thread(house.api.save, other, f"m{number}")
            assert not any(one.done() for one in asking)
            assert len(list(Path(f"/proc/{house.server.pid}/task").iterdir())) <= threads + 40
            await asyncio.to_thread(house.api.save, session, "m1", text="for all")
            return await asyncio.gather(*asking)

    began = time.monotonic()
    answers = asyncio.run(all_of_them())
    assert time.monotonic() - began < 50
    assert {answer.status_code for answer in answers} == {200}
    assert {tuple(item["text"] for item in answer.json()["items"]) for answer in answers} == {("for all",)}


@pytest.mark.slow
def test_each_account_has_its_number_and_who_disconnects_frees_a_place(store: Store) -> None:
    with ServerProcess(store, ACCOUNT_SOCKETS="2") as server:
        api, ben = server.api(server.key("ana")), server.api(server.key("ben"))
        address = f"/sessions/{api.session('/p')[1]}/messages"
        query = {"since_rev": 0, "wait": 50}
        threads = [threading.Thread(target=_let_go, args=(server, address)) for _ in range(2)]
        for one in threads:
            one.start()
        time.sleep(1)
        refused = api.http.get(address, params=query)
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_waiting")
        assert int(refused.headers["Retry-After"]) > 0
        assert "without `wait`" in refused.json()["error"]["message"]
        stream = api.call("POST", address.replace("messages", "streams"), {"message": "m1"})["stream"]
        reading = api.http.get(f"/streams/{stream}").json()["error"]
        assert (reading["code"], "`wait`" in reading["message"]) == ("too_many_waiting", False)
        own = ben.session("/p")[1]
        assert ben.http.get(f"/sessions/{own}/messages", params={"since_rev": 0, "wait": 1}).status_code == 200
        for one in threads:
            one.join()
        time.sleep(0.3)
        assert api.http.get(address, params={"since_rev": 0, "wait": 1}).status_code == 200
        api.close()
        ben.close()


def _let_go(server: ServerProcess, address: str) -> None:
    with pytest.raises(httpx.ReadTimeout):
        httpx.get(
            f"{server.url}/api/v1{address}?since_rev=0&wait=50",
            headers={"Authorization": f"Bearer {server.key('ana')}"},
            timeout=3,
        )


@pytest.mark.slow
def test_a_server_that_stops_answers_them(store: Store, pool: ThreadPoolExecutor) -> None:
    with ServerProcess(store) as server:
        api = server.api(server.key("ana"))
        _, session = api.session("/p")
        api.close()
        asked = [waiting(pool, server, server.key("ana"), session, rev=0, wait=50) for _ in range(4)]
        for one in asked:
            one.held()
        server.signal(signal.SIGTERM)
        assert [one.answer()["items"] for one in asked] == [[]] * 4
        assert max(one.took for one in asked) < 10
        assert server.wait(10) in {0, -signal.SIGTERM}


def test_a_login_may_wait_too(server: LiveServer, alice: User, api: Any, pool: ThreadPoolExecutor) -> None:
    chat, login = Chat(api(alice)), Client()
    login.force_login(alice)
    cookies = {settings.SESSION_COOKIE_NAME: login.cookies[settings.SESSION_COOKIE_NAME].value}
    url = f"{server.url}/api/v1/sessions/{chat.id}/messages?since_rev=0"
    asked = pool.submit(httpx.get, f"{url}&wait=20", cookies=cookies, timeout=30)
    time.sleep(HELD_SECONDS)
    assert not asked.done()
    chat.say("m1", "hello")
    assert [item["text"] for item in asked.result().json()["items"]] == ["hello"]
    assert httpx.get(f"{url}&wait=20", timeout=5).status_code == 401


def test_one_counts_once_however_often_the_server_looks(server: LiveServer, alice: User, api: Any, settings: Any) -> None:
    chat, key = Chat(api(alice)), api(alice).secret
    with httpx.Client(base_url=f"{server.url}/api/v1/sessions/{chat.id}/", headers={"Authorization": f"Bearer {key}"}) as client:
        assert client.get("messages").status_code == 200  # Reads of this kind are known from then on.
        settings.RATE_REQUESTS = 3
        answers = [client.get("messages?since_rev=0&wait=1", timeout=10) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]


@pytest.mark.parametrize("query", ["wait=5", "since_rev=0&wait=61", "since_rev=0&wait=-1", "since_rev=0&wait=x"])
def test_a_wait_that_makes_no_sense_is_refused(chat: Chat, query: str) -> None:
    assert refusal(chat.get(f"messages?{query}")) == (422, "invalid")


def test_other_operations_know_no_wait(chat: Chat) -> None:
    for address in (f"/sessions/{chat.id}", f"/sessions/{chat.id}/messages/m1", f"/sessions/{chat.id}/removed", "/sessions"):
        assert refusal(chat.api.get(f"{address}?wait=1")) == (422, "unknown_parameter")
