"""Reads of sessions, and saves with an `Idempotency-Key`, that do not go through Django get the answer that Django would give."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User

from config.http.quick.routes import QuickRoutes
from config.http.quick.saves import QuickSaves
from sessions_app.accounts import api_keys
from sessions_app.chats.search import api as search_api
from sessions_app.core.callers import caller_of_user
from sessions_app.core.storage.time_limit import TimeIsUp
from tests.support.chat import Chat
from tests.support.live_server import LiveServer
from tests.support.saves import upsert

COOKIE = {"Cookie": "a=b"}
OF_THIS_ANSWER = {"x-request-id", "date"}
NAMED = "by-external/läden/1"
RAW = {"role": "user", "content": "Hello"}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each request: was it answered without Django?"""
    told: list[bool] = []

    def watch(kind: type[Any]) -> None:
        run = kind.run

        def watched(self: Any, *arguments: Any) -> Any:
            answered = run(self, *arguments)
            told.extend(each is not None for each in (answered if isinstance(answered, list) else [answered]))
            return answered

        monkeypatch.setattr(kind, "run", watched)

    watch(QuickRoutes)
    watch(QuickSaves)
    return told


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    chat = Chat(api(alice))
    for number in range(5):
        chat.say(f"m{number}", f"words {number}")
    chat.ops({"op": "upsert", "id": "raw", "format": "openai.responses", "raw": RAW})
    return chat


@pytest.fixture
def client(server: LiveServer, chat: Chat, alice: User, quick: list[bool]) -> Iterator[httpx.Client]:
    """Of which the server has seen one request of each kind."""
    secret = api_keys.create_key(caller=caller_of_user(alice)).secret
    with httpx.Client(base_url=f"{server.url}/api/v1/", headers={"Authorization": f"Bearer {secret}"}, timeout=30) as client:
        project = client.get(f"sessions/{chat.id}").json()["session"]["project_id"]
        client.base_url = httpx.URL(f"{server.url}/api/v1/projects/{project}/sessions/")
        assert client.put(NAMED, json={}).status_code == 201
        assert client.get(NAMED).status_code == client.get(messages(client, chat)).status_code == 200
        assert save(client, chat, "first", []).status_code == 200
        quick.clear()
        yield client


def messages(client: httpx.Client, chat: Chat) -> str:
    return f"{api_of(client)}/sessions/{chat.id}/messages"


def api_of(client: httpx.Client) -> str:
    return str(client.base_url).partition("/projects")[0]


def save(client: httpx.Client, chat: Chat, key: str, ops: list[Any], **headers: str) -> httpx.Response:
    return client.post(
        f"{api_of(client)}/sessions/{chat.id}/changes", json={"ops": ops}, headers={"Idempotency-Key": key, **headers}
    )


def shown(answer: httpx.Response) -> Any:
    headers = {name: value for name, value in answer.headers.items() if name not in OF_THIS_ANSWER}
    return answer.status_code, headers, answer.content


PAGES = (
    "",
    "?limit=2",
    "?limit=2&before=m3",
    "?head=m3&limit=2",
    "?limit=500&as=openai.responses",
    "?as=anthropic",
    "?fields=format,raw&limit=3",
)
BY_DJANGO = {
    **dict.fromkeys(
        ("?limit=0", "?limit=501", "?before=none", "?as=none", "?other=1", "?head=none", "?fields=ver", "?fields=raw&head=m3"),
        422,
    ),
    "?since_rev=1": 200,
}


def test_a_page_of_messages(client: httpx.Client, chat: Chat, quick: list[bool], subtests: pytest.Subtests) -> None:
    for query in PAGES:
        with subtests.test(query=query):
            quick.clear()
            path = messages(client, chat) + query
            assert shown(client.get(path)) == shown(client.get(path, headers=COOKIE))
            assert quick == [True, False]


def test_what_django_has_to_answer(client: httpx.Client, chat: Chat, quick: list[bool], subtests: pytest.Subtests) -> None:
    for query, status in BY_DJANGO.items():
        with subtests.test(query=query):
            assert client.get(messages(client, chat) + query).status_code == status
            assert not any(quick)


def test_a_session_by_its_own_id(client: httpx.Client, quick: list[bool]) -> None:
    assert shown(client.get(NAMED)) == shown(client.get(NAMED, headers=COOKIE))
    assert quick == [True, False]
    assert client.get("by-external/none").status_code == 404
    assert not quick[2]


SEARCHES = (
    "q=words",
    "q=words&limit=2",
    "q=words&in=titles,memory,messages&project=/p",
    "q=3&role=assistant",
    "q=Hello&format=openai.responses",
    "q=l%C3%A4den+1",
)
SEARCHES_BY_DJANGO = {
    **dict.fromkeys(("", "q=", f"q={'x' * 201}", "q=a&limit=0", "q=a&in=places", "q=a&role=king", "q=a&project="), 422),
    **dict.fromkeys(("q=a&cursor=other", "q=a&format=none"), 422),
    "q=a&project=/none": 404,
    "q=words&since=2026-01-01T00:00:00Z": 200,
}


def test_a_search(client: httpx.Client, chat: Chat, quick: list[bool], subtests: pytest.Subtests) -> None:
    path = f"{api_of(client)}/search?"
    assert client.get(path + "q=words").status_code == 200
    for query in SEARCHES:
        with subtests.test(query=query):
            quick.clear()
            query = query.replace("/p", chat.project)
            assert shown(client.get(path + query)) == shown(client.get(path + query, headers=COOKIE))
            assert quick == [True, False]
    quick.clear()
    page = client.get(path + "q=words&limit=2").json()
    assert [len(page["items"]), bool(page["next"])] == [2, True]
    assert len(client.get(path, params={"q": "words", "cursor": page["next"]}).json()["items"]) == 3
    assert quick == [True, True]


def test_a_search_that_django_has_to_answer(client: httpx.Client, quick: list[bool], subtests: pytest.Subtests) -> None:
    path = f"{api_of(client)}/search?"
    assert client.get(path + "q=words").status_code == 200
    quick.clear()
    for query, status in SEARCHES_BY_DJANGO.items():
        with subtests.test(query=query):
            assert client.get(path + query).status_code == status
            assert not any(quick)


def test_a_search_that_takes_too_long_is_made_once(
    client: httpx.Client, quick: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{api_of(client)}/search?q=words"
    assert client.get(path).status_code == 200
    searched: list[str] = []

    def too_slow(*, text: str, **_: Any) -> None:
        searched.append(text)
        raise TimeIsUp

    monkeypatch.setattr(search_api, "search", too_slow)
    quick.clear()
    answers = [client.get(path), client.get(path, headers=COOKIE)]
    assert [answer.status_code for answer in answers] == [503, 503]
    assert shown(answers[0]) == shown(answers[1])
    assert (quick, searched) == ([True, False], ["words", "words"])


def test_a_deletion(client: httpx.Client, chat: Chat, quick: list[bool], subtests: pytest.Subtests) -> None:
    for query in ("", "?purge=1", "?if_rev={rev}&purge=1"):
        with subtests.test(query=query):
            delete_two(client, chat, quick, query)


def delete_two(client: httpx.Client, chat: Chat, quick: list[bool], query: str) -> None:
    """One by us and one by Django. What is needed for it, the server learns from one before."""
    others = [Chat(chat.api, project=chat.project) for _ in range(3)]
    taught, first, second = (
        f"{api_of(client)}/sessions/{other.id}{query.format(rev=other.read()['session']['rev'])}" for other in others
    )
    assert client.delete(taught).status_code == 204
    quick.clear()
    assert shown(client.delete(first)) == shown(client.delete(second, headers=COOKIE))
    assert quick == [True, False]
    assert client.get(first.partition("?")[0]).status_code == (404 if "purge" in query else 410)


def test_a_deletion_that_django_has_to_answer(
    client: httpx.Client, chat: Chat, quick: list[bool], subtests: pytest.Subtests
) -> None:
    assert client.delete(f"{api_of(client)}/sessions/{Chat(chat.api).id}").status_code == 204
    quick.clear()
    for query, status in {"?purge=perhaps": 422, "?if_rev=-1": 422, "?if_rev=77": 412, "?purge=no": 204}.items():
        with subtests.test(query=query):
            assert client.delete(f"{api_of(client)}/sessions/{chat.id}{query}").status_code == status
            assert not any(quick)


def test_sessions_of_others_are_unknown(client: httpx.Client, chat: Chat, bob: User, quick: list[bool]) -> None:
    key = {"Authorization": f"Bearer {api_keys.create_key(caller=caller_of_user(bob)).secret}"}
    path = messages(client, chat)
    assert client.get(path, headers=key).status_code == client.get(NAMED, headers=key).status_code == 404
    assert not any(quick)


def test_a_save_under_a_key(client: httpx.Client, chat: Chat, quick: list[bool]) -> None:
    ops = [upsert("n", "new")]
    first, again, by_django = save(client, chat, "k", ops), save(client, chat, "k", ops), save(client, chat, "k", ops, **COOKIE)
    assert first.json()["applied"] == [{"id": "n", "ver": 1}]
    assert "idempotent-replayed" not in first.headers
    assert shown(again) == shown(by_django)
    assert again.headers["idempotent-replayed"] == "true"
    assert quick[:2] == [True, True]
    assert save(client, chat, "k", [upsert("n", "other")]).json()["error"]["code"] == "idempotency_key_reused"
    assert save(client, chat, "", ops).json()["error"]["code"] in {"bad_idempotency_key", "no_writer", "invalid"}
    assert not any(quick[2:])
