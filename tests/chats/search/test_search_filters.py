"""A search is limited to a project, a role, a format or a time, and a hit links to its place."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from sessions_app.chats.search import text_matching
from sessions_app.chats.search.filters import SearchFilter
from sessions_app.chats.search.index_update import index_waiting
from sessions_app.chats.search.text_matching import index_sql, newest_candidates, next_sql
from sessions_app.core.callers import caller_of_user
from sessions_app.core.storage.sql import execute, fetch_rows
from sessions_app.core.storage.time_limit import TimeIsUp
from sessions_app.models import ChatSession, Message, Project
from tests.conftest import Alone
from tests.support.chat import Chat
from tests.support.databases import ON_POSTGRESQL

START = datetime(2026, 1, 1, tzinfo=UTC)
OPENAI, ANTHROPIC = {"format": "openai.chat"}, {"format": "anthropic"}


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    """Messages of several roles and formats, a day apart; all have the word."""
    chat = Chat(api(alice), project="/home/alice/shop")
    chat.ops(
        {"op": "upsert", "id": "plain", "role": "user", "text": "needle asked"},
        {"op": "upsert", "id": "reply", "role": "assistant", "text": "needle answered"},
        {"op": "upsert", "id": "rules", **OPENAI, "raw": {"role": "developer", "content": "needle ruled"}},
        {
            "op": "upsert",
            "id": "called",
            **OPENAI,
            "raw": {"role": "tool", "tool_call_id": "c", "content": "x"},
            "text": "needle",
        },
        {"op": "upsert", "id": "claude", **ANTHROPIC, "raw": {"role": "assistant", "content": "needle thought"}},
    )
    for number, message in enumerate(Message.objects.order_by("id")):
        Message.objects.filter(pk=message.pk).update(updated_at=START + timedelta(days=number))
    return chat


def search(chat: Chat, words: str = "needle", **query: Any) -> Any:
    answer = chat.api.get(f"/search?q={quote(words)}&{urlencode(query)}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def found(chat: Chat, words: str = "needle", **query: Any) -> list[str]:
    """Of all pages."""
    page = search(chat, words, **query)
    hits = [hit["message"] or hit["title"] for hit in page["items"]]
    return hits if page["next"] is None else hits + found(chat, words, **{**query, "cursor": page["next"]})


FILTERS: list[tuple[dict[str, str], list[str]]] = [
    ({"role": "user"}, ["plain"]),
    ({"role": "assistant"}, ["claude", "reply"]),
    ({"role": "system"}, ["rules"]),
    ({"role": "tool"}, ["called"]),
    ({"format": "openai.chat"}, ["called", "rules"]),
    ({"format": "anthropic", "role": "assistant"}, ["claude"]),
    ({"format": "anthropic", "role": "user"}, []),
    ({"format": "gemini"}, []),
    ({"since": "2026-01-04T00:00:00Z"}, ["claude", "called"]),
    ({"until": "2026-01-02T00:00:00Z"}, ["reply", "plain"]),
    ({"since": "2026-01-02T01:00:00+01:00", "until": "2026-01-03"}, ["rules", "reply"]),
    ({"since": "2026-01-02T00:00:00.001Z", "until": "2026-01-02T23:00:00Z"}, []),
]


def test_messages_are_limited(chat: Chat, alone: Alone) -> None:
    """Text that the index serves, and text that is too short for it."""
    for words, (query, messages) in product(("needle", "ne"), FILTERS):
        with alone(f"{words} {query}"):
            assert found(chat, words, **query) == messages
            assert found(chat, words, limit=1, **query) == messages


def test_a_project_is_named_by_path_or_id(chat: Chat) -> None:
    other = Chat(chat.api, project="/home/alice/shop/inner")
    other.say("inner", "needle inside")
    chat.api.patch(f"/sessions/{other.id}", {"title": "The needle"})
    shop = Project.objects.get(path=chat.project)
    assert found(chat)[:2] == ["The needle", "inner"]
    assert found(chat, project=other.project) == ["The needle", "inner"]
    assert found(chat, project=shop.path) == found(chat, project=shop.id) == ["claude", "called", "rules", "reply", "plain"]
    assert found(chat, project=shop.id, role="user") == ["plain"]
    assert found(chat, "ne", project=other.project) == ["The needle", "inner"]


def test_another_user_s_project_is_unknown(chat: Chat, api: Callable[..., Any], alice: User, bob: User) -> None:
    project = Project.objects.get(path=chat.project)
    limited = api(alice, project_path="/home/alice/another")
    for client in (api(bob), limited):
        unknown = client.get("/search?q=needle&project=/nowhere")
        assert unknown.status_code == 404
        for name in (project.path, str(project.id), "not/a/uuid", "\0", "00000000-0000-4000-8000-000000000000"):
            answer = client.get(f"/search?q=needle&project={quote(name)}")
            assert (answer.status_code, answer.content) == (404, unknown.content)
        assert client.get("/search?q=needle&role=user").json() == {"items": [], "next": None}
    assert chat.api.get(f"/search?q=needle&project={project.id}&in=messages").json()["items"] != []


def test_titles_are_limited_by_the_session_s_time_and_have_no_role(chat: Chat) -> None:
    chat.api.patch(f"/sessions/{chat.id}", {"title": "Needles"})
    ChatSession.objects.filter(id=chat.id).update(updated_at=START)
    assert found(chat, **{"in": "titles"}) == ["Needles"]
    for words in ("needle", "ne"):
        assert found(chat, words, since="2026-01-01", until="2026-01-01") == ["Needles", "plain"]
        assert found(chat, words, since="2026-01-02", **{"in": "titles"}) == []
        assert found(chat, words, role="user") == ["plain"]
    assert found(chat, format="anthropic", **{"in": "titles"}) == []


def test_only_what_is_named_is_searched(chat: Chat) -> None:
    chat.api.patch(f"/sessions/{chat.id}", {"title": "Needles"})
    assert found(chat, **{"in": "titles"}) == ["Needles"]
    assert "Needles" not in found(chat, **{"in": "messages"})
    assert found(chat, **{"in": "messages, titles"}) == found(chat) == ["Needles", "claude", "called", "rules", "reply", "plain"]


def test_a_hit_says_what_it_is_and_links_to_its_place(chat: Chat) -> None:
    chat.api.patch(f"/sessions/{chat.id}", {"title": "Needles & more"})
    chat.ops({"op": "upsert", "id": "a&b=c", "role": "user", "text": "NEEDLE last"})
    title, message = search(chat, limit=2)["items"]
    assert (title["kind"], title["link"]) == ("title", f"/sessions/{chat.id}/")
    position = Message.objects.get(message_id="a&b=c").position
    assert message["kind"] == "message"
    assert message["link"] == f"/sessions/{chat.id}/?at=a%26b%3Dc&q=needle#message-{position}"


@pytest.mark.parametrize(
    ("query", "known"),
    [
        ("role=human", ["user", "assistant", "system", "tool"]),
        ("role=", ["user", "assistant", "system", "tool"]),
        ("format=chatml", None),
        ("in=titles,texts", None),
        ("in=", None),
        ("since=yesterday", None),
        ("project=", None),
        ("cursor=memory.", None),
        ("cursor=texts.1", None),
        ("cursor=-1", None),
        ("kind=user", None),
        ("in=titles&cursor=5", None),
    ],
)
def test_unknown_values_are_refused(chat: Chat, query: str, known: list[str] | None) -> None:
    answer = chat.api.get(f"/search?q=needle&{query}")
    assert answer.status_code == 422
    if known is not None:
        assert answer.json()["error"]["details"]["known"] == known
        assert all(name in answer.json()["error"]["message"] for name in known)


def test_the_known_names_are_told(chat: Chat) -> None:
    formats = chat.api.get("/search?q=needle&format=chatml").json()["error"]["details"]["known"]
    assert {"openai.chat", "anthropic"} <= set(formats)
    within = chat.api.get("/search?q=needle&in=texts").json()["error"]["details"]["known"]
    assert within[:2] == ["titles", "messages"]


def test_what_there_was_no_time_for_is_on_the_next_pages(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter that leaves few of very many matches: a page may have none, and the next goes on."""
    chat.ops(*({"op": "upsert", "id": f"m{number}", "role": "user", "text": f"needle {number}"} for number in range(30)))
    for name, value in (("SEARCH_SECONDS", 0.0), ("INDEX_SECONDS", 0.0), ("FIRST_ROWS", 4), ("ROWS", 4)):
        monkeypatch.setattr(text_matching, name, value)
    monkeypatch.setattr(text_matching, "_by_index", _too_slow)
    first = search(chat, role="assistant")
    assert first["items"] == []
    assert first["next"] is not None
    assert found(chat, role="assistant") == ["claude", "reply"]
    assert len(found(chat, project=chat.project)) == 35


def _too_slow(*_: Any) -> list[int]:
    raise TimeIsUp


ALL = SearchFilter(role="assistant", format="anthropic", since=START, until=START + timedelta(days=9))
EACH = [SearchFilter(role="tool"), SearchFilter(format="gemini"), SearchFilter(since=START), SearchFilter(until=START), ALL]


@pytest.mark.parametrize("wanted", EACH)
def test_filtered_messages_are_read_from_indexes(chat: Chat, alice: User, wanted: SearchFilter) -> None:
    """The trigram index or, step by step, the newest messages: no filter makes a statement read all of them."""
    for number in range(10):
        texts = (f"{number} {at} {'other words ' * 50}" for at in range(100))
        chat.ops(*({"op": "upsert", "id": f"n{number}-{at}", "role": "user", "text": text} for at, text in enumerate(texts)))
    caller = caller_of_user(alice)
    if not ON_POSTGRESQL:
        while index_waiting():
            pass
        steps = plan_of(*next_sql(caller, wanted, 0, 2**62, 500, '"nee"'))
        assert "VIRTUAL TABLE INDEX" in steps, steps
        assert "SCAN m" not in steps, steps
        assert newest_candidates(caller, "needle", '"nee"', before=2**62, limit=9, wanted=ALL).ended_at is None
        return
    fetch_rows("SELECT gin_clean_pending_list('sessions_app_message_words')")
    execute("ANALYZE sessions_app_message")
    steps = plan_of(*next_sql(caller, wanted, 0, 2**62, 500))
    assert "sessions_app_message_pkey" in steps, steps
    with transaction.atomic():
        execute("SET LOCAL enable_seqscan = off")  # As `time_limit(by_index=True)`.
        steps = plan_of(*index_sql(caller, "needle", 0, 2**62, 51, wanted))
    assert "sessions_app_message_words" in steps, steps


def plan_of(sql: str, parameters: list[Any]) -> str:
    explain = "EXPLAIN" if ON_POSTGRESQL else "EXPLAIN QUERY PLAN"
    return "\n".join(str(row[-1]) for row in fetch_rows(f"{explain} {sql}", parameters))
