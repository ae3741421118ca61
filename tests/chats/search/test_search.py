"""Words are found again: in titles and texts, as any part of them, in any case, in any script, and only one's own."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.chats.search import message_search as queries
from sessions_app.chats.search.index_update import AT_ONCE, index_in_passing, index_waiting
from tests.support.chat import Chat
from tests.support.databases import ON_POSTGRESQL


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    return Chat(api(alice))


def search(chat: Chat, words: str, **more: Any) -> Any:
    query = "".join(f"&{name}={value}" for name, value in more.items())
    answer = chat.api.get(f"/search?q={quote(words)}{query}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def found(chat: Chat, words: str) -> list[str]:
    return [hit["message"] or hit["title"] for hit in search(chat, words)["items"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The checkout fails on empty carts", "EMPTY cart"),
        ("Straße nach Zürich", "zürich"),
        ("我们在这里讨论数据库的问题", "数据库"),
        ("我们在这里讨论数据库的问题", "讨论"),
        ("我们在这里讨论数据库的问题", "库"),
        ("ship it 🚀🚀 now", "🚀🚀 "),
        ("ship it 🚀 now", "🚀"),
        ("Это не та ёлка", "ЁЛ"),
        ("a 2x faster b[0]", "B["),
        ("for (let i = 0; i < n; i++) { sum += a[i]; }", "i++) { sum += a[i]"),
        ('it\'s 100% of "all" _things_ \\ here', '% of "all" _things_ \\'),
        ("one\ntwo\tthree", "two\tthr"),
    ],
)
def test_any_part_of_a_text_is_found(chat: Chat, text: str, words: str) -> None:
    chat.say("m1", text)
    chat.say("m2", "something else altogether")
    [hit] = search(chat, words)["items"]
    assert (hit["message"], hit["session"], hit["project"], hit["role"]) == ("m1", chat.id, chat.project, "user")
    assert hit["hit"].casefold() == words.casefold()
    assert hit["before"] + hit["hit"] + hit["after"] in text


@pytest.mark.parametrize("words", ["%%%", "___", "a_c", "e%y", "AND", '"""', "***", "NEAR(", "text:", "%", "__", ".", "]("])
def test_no_sign_means_anything_but_itself(chat: Chat, words: str) -> None:
    chat.say("m1", "abc every day")
    assert found(chat, words) == []
    chat.say("m2", f"before {words} after")
    assert found(chat, words) == ["m2"]


def test_trigrams_apart_are_no_words_together(chat: Chat) -> None:
    chat.say("m1", "abcd bcde")
    assert found(chat, "abcde") == []


def test_titles_are_found_first(chat: Chat) -> None:
    chat.api.patch(f"/sessions/{chat.id}", {"title": "Go and Rust"})
    chat.say("m1", "go on with rust")
    assert found(chat, "go") == ["Go and Rust", "m1"]
    assert found(chat, "RUST") == ["Go and Rust", "m1"]
    chat.api.patch(f"/sessions/{chat.id}", {"title": "Renamed"})
    assert found(chat, "RUST") == ["m1"]


def test_fewer_than_three_characters_are_found_in_the_newest_messages(
    chat: Chat, api: Callable[..., Any], bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        chat.say(f"m{number}", f"go {number}")
    chat.ops({"op": "delete", "id": "m4"})
    Chat(api(bob), project="/home/bob").say("his", "go away")
    assert found(chat, "go") == ["m5", "m3", "m2", "m1", "m0"]
    first = search(chat, "go", limit=2)
    assert [hit["message"] for hit in first["items"]] == ["m5", "m3"]
    assert [hit["message"] for hit in search(chat, "go", limit=2, cursor=first["next"])["items"]] == ["m2", "m1"]
    # His is one of the five.
    monkeypatch.setattr(queries, "RECENT", 5)
    assert found(chat, "go") == ["m5", "m3", "m2"]
    assert found(chat, "go 0") == ["m0"]


def test_a_save_is_found_as_soon_as_it_is_answered_and_as_it_is_now(chat: Chat) -> None:
    chat.say("m1", "the first words")
    assert found(chat, "first words") == ["m1"]
    chat.say("m1", "other words")
    assert found(chat, "first words") == []
    assert found(chat, "other words") == ["m1"]


def test_what_was_taken_out_is_not_found_until_it_is_back(chat: Chat) -> None:
    chat.say("m1", "needle one")
    chat.say("m2", "needle two")
    chat.ops({"op": "delete", "id": "m1"})
    assert found(chat, "needle") == ["m2"]
    chat.clear()
    assert found(chat, "needle") == []
    chat.undo(of=1, epoch=2)
    assert found(chat, "needle") == ["m2"]
    chat.api.delete(f"/sessions/{chat.id}")
    assert found(chat, "needle") == []
    chat.api.delete(f"/sessions/{chat.id}?purge=1")
    assert found(chat, "needle") == []


def test_only_one_s_own_is_found(chat: Chat, api: Callable[..., Any], alice: User, bob: User) -> None:
    chat.say("m1", "a secret of alice")
    other = Chat(api(alice), project="another")
    other.say("m2", "a secret of another project")
    his = Chat(api(bob))
    assert search(his, "secret")["items"] == []
    limited = Chat(api(alice, project_path="another"), session_id=other.id)
    assert found(limited, "secret") == ["m2"]


def test_pages_go_from_the_newest_on_and_meet_every_hit_once(chat: Chat) -> None:
    for number in range(7):
        chat.say(f"m{number}", f"haystack {number}")
    seen: list[str] = []
    page = search(chat, "haystack", limit=3)
    while True:
        seen += [hit["message"] for hit in page["items"]]
        if page["next"] is None:
            break
        page = search(chat, "haystack", limit=3, cursor=page["next"])
    assert seen == [f"m{number}" for number in reversed(range(7))]


def test_pages_go_through_all_titles_and_then_through_the_texts(chat: Chat) -> None:
    chat.say("m1", "a haystack of words")
    titles = [f"haystack {number:02}" for number in range(25)]
    for title in titles:
        chat.api.patch(f"/sessions/{Chat(chat.api).id}", {"title": title})
    for words in ("haystack", "hay", "ay"):
        page, seen = search(chat, words, limit=10), list[str]()
        while True:
            assert len(page["items"]) <= 10
            seen += [hit["message"] or hit["title"] for hit in page["items"]]
            if page["next"] is None:
                break
            page = search(chat, words, limit=10, cursor=page["next"])
        assert seen == [*reversed(titles), "m1"]
        assert search(chat, words, limit=25, **{"in": "titles"})["next"] is None


def test_a_project_s_sessions_are_found_by_title_and_text(chat: Chat) -> None:
    client = chat.api
    chat.say("m1", "words in a text")
    titled = Chat(client)
    client.patch(f"/sessions/{titled.id}", {"title": "WORDS in a title"})
    Chat(client)
    project = client.get(f"/sessions/{chat.id}").json()["session"]["project_id"]
    items = client.get(f"/projects/{project}/sessions?q=words").json()["items"]
    assert {item["id"] for item in items} == {chat.id, titled.id}
    assert client.get(f"/projects/{project}/sessions?q=nowhere").json()["items"] == []


def test_the_trash_is_a_list_too(chat: Chat) -> None:
    client = chat.api
    project = client.get(f"/sessions/{chat.id}").json()["session"]["project_id"]
    client.delete(f"/sessions/{chat.id}")
    assert client.get(f"/projects/{project}/sessions").json()["items"] == []
    [item] = client.get(f"/projects/{project}/sessions?deleted=true").json()["items"]
    assert item["id"] == chat.id
    client.delete(f"/projects/{project}")
    assert [each["id"] for each in client.get("/projects?deleted=true").json()["items"]] == [project]


@pytest.mark.skipif(ON_POSTGRESQL, reason="PostgreSQL indexes as it saves")
def test_long_texts_are_indexed_few_at_a_time_so_that_no_save_waits_for_all_of_them(chat: Chat) -> None:
    long = "so very long, " * 2_500
    chat.ops(*({"op": "upsert", "id": f"m{number}", "role": "user", "text": f"{long} number {number}."} for number in range(6)))
    chat.ops({"op": "upsert", "id": "longest", "role": "user", "text": long * 2})
    assert index_in_passing()
    steps = list(iter(index_waiting, 0))
    assert max(steps) == 1
    assert sum(steps) == 6
    assert found(chat, "number 3.") == ["m3"]


@pytest.mark.skipif(ON_POSTGRESQL, reason="PostgreSQL indexes as it saves")
def test_under_saves_texts_are_indexed_when_some_have_gathered(chat: Chat) -> None:
    said = [
        {"op": "upsert", "id": f"m{number}", "role": "user", "text": f"number {number}."} for number in range(2 * AT_ONCE + 1)
    ]
    chat.ops(*said)
    assert [index_in_passing() for _ in range(3)] == [True, False, False]
    assert index_waiting() == 0
    assert found(chat, f"number {2 * AT_ONCE}.") == [f"m{2 * AT_ONCE}"]


def test_a_search_takes_the_same_statements_however_much_is_found(chat: Chat) -> None:
    counted = []
    for more in (2, 30):
        chat.ops(*({"op": "upsert", "id": f"{more}-{each}", "role": "user", "text": "found again"} for each in range(more)))
        search(chat, "found again")
        with CaptureQueriesContext(connection) as seen:
            search(chat, "found again")
        counted.append(len(seen))
    assert counted[0] == counted[1]


@pytest.mark.parametrize("query", ["", "?q=", "?q=abc&cursor=x", "?q=abc&limit=0", f"?q={'x' * 201}"])
def test_what_cannot_be_searched_is_said(chat: Chat, query: str) -> None:
    assert chat.api.get(f"/search{query}").status_code == 422


def test_a_project_is_found_by_its_very_path(api: Callable[..., Any], alice: User, bob: User) -> None:
    for path in ("shop", "shop/old"):
        api(alice).post("/projects", {"path": path})
    api(bob).post("/projects", {"path": "shop"})
    assert [project["path"] for project in api(alice).get("/projects?path=shop").json()["items"]] == ["shop"]
    assert api(alice).get("/projects?path=sho").json()["items"] == []
