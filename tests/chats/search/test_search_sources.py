"""A search finds more than chats where `in` names it: memory, handoffs and errors, one's own alone."""

from collections.abc import Callable
from datetime import timedelta
from itertools import product
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client

from memory_app.core import search_sources
from memory_app.models import ErrorReport, MemoryEntry
from sessions_app.agents.handoff import handoff_search
from sessions_app.chats.search import sources
from sessions_app.models import Handoff, Project
from sessions_app.models.times import now
from tests.support.chat import Chat

EVERYTHING = "titles,messages,memory,handoff,errors"


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    """Something with the word in each place of one project."""
    return filled(api(alice), "/home/alice/shop")


def filled(client: Any, path: str) -> Chat:
    chat = Chat(client, project=path)
    chat.say("m1", "needle in a message")
    client.patch(f"/sessions/{chat.id}", {"title": "Needle in a title"})
    project = project_of(chat)
    put(chat, "notes", "plan", {"text": 'needle in a "value"', "then": ["x"]})
    put(chat, "notes", "needle-key", 1)
    put(chat, "notes", "other", "hay")
    report(chat, "needle in an error")
    report(chat, "hay is missing")
    handed = client.patch(
        f"/projects/{project.id}/handoff",
        {
            "summary": "the needle's summary",
            "decisions": [{"id": "d1", "text": "Use hay", "rationale": "no needle", "rejected": ["straw", "pins"]}],
            "files": [{"id": "f1", "path": "src/needle.py"}],
            "risks": [{"id": "r1", "text": "hay everywhere"}],
        },
    )
    assert handed.status_code == 200, handed.content
    return chat


def project_of(chat: Chat) -> Project:
    return Project.objects.get(path=chat.project)


def put(chat: Chat, namespace: str, key: str, value: Any) -> None:
    answer = chat.api.put(f"/projects/{project_of(chat).id}/memory/{namespace}/{key}", {"value": value})
    assert answer.status_code < 300, answer.content


def report(chat: Chat, message: str, kind: str = "KeyError") -> None:
    answer = chat.api.post(f"/projects/{project_of(chat).id}/errors", {"errors": [{"message": message, "kind": kind}]})
    assert answer.status_code < 300, answer.content


def pages(chat: Chat, words: str = "needle", **query: Any) -> list[list[tuple[str, str]]]:
    """Of every page: kind and title, or message, of its hits."""
    answer = chat.api.get(f"/search?q={quote(words)}&{urlencode(query)}")
    assert answer.status_code == 200, answer.content
    page = answer.json()
    hits = [(hit["kind"], hit["message"] or hit["title"]) for hit in page["items"]]
    return [hits] if page["next"] is None else [hits, *pages(chat, words, **{**query, "cursor": page["next"]})]


def found(chat: Chat, words: str = "needle", **query: Any) -> list[tuple[str, str]]:
    return [hit for page in pages(chat, words, **query) for hit in page]


MEMORY = [("memory", "notes / needle-key"), ("memory", "notes / plan")]
ERRORS = [("error", "KeyError")]
HANDOFF = [("handoff", "Summary"), ("handoff", "Decision"), ("handoff", "File")]
CHATS = [("title", "Needle in a title"), ("message", "m1")]


def test_every_place_is_searched_once_on_whichever_page(chat: Chat) -> None:
    for limit in (1, 2, 3, 50):
        everything = found(chat, limit=limit, **{"in": EVERYTHING})
        assert everything == [CHATS[0], *HANDOFF, *MEMORY, *ERRORS, CHATS[1]]
        assert found(chat, limit=limit, **{"in": "memory"}) == MEMORY
        assert found(chat, limit=limit, **{"in": "errors"}) == ERRORS
        assert found(chat, limit=limit, **{"in": "handoff"}) == HANDOFF
        assert found(chat, limit=limit) == CHATS


def test_what_there_was_no_time_for_is_on_the_next_pages(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [filled(chat.api, f"/home/alice/{number}") for number in range(4)]
    monkeypatch.setattr(sources, "SOURCE_SECONDS", -1.0)
    for name in ("FIRST_ENTRIES", "CANDIDATES", "ENTRIES", "ERRORS"):
        monkeypatch.setattr(search_sources, name, 2)
    monkeypatch.setattr(handoff_search, "ROWS", 2)
    assert len(others) == 4
    wanted = (("memory", MEMORY), ("errors", ERRORS), ("handoff", HANDOFF))
    for limit, (name, each) in product((1, 50), wanted):
        assert found(chat, limit=limit, **{"in": name}) == each * 5
        assert found(chat, limit=limit, **{"in": name, "project": chat.project}) == each
        assert len(pages(chat, limit=limit, **{"in": name})) > 2


def test_any_part_is_found_in_any_case(chat: Chat) -> None:
    for words, within, hit in (
        ("NEEDLE-k", "memory", "needle-k"),
        ('a "val', "memory", r"a \"val"),
        ('["x"', "memory", '["x"'),
        ("KEYERROR: Needle", "errors", "KeyError: needle"),
        ("PINS", "handoff", "pins"),
        ("le.py", "handoff", "le.py"),
        ("ha", "handoff", "hay"[:2]),
    ):
        items = chat.api.get(f"/search?q={quote(words)}&in={within}").json()["items"]
        assert hit in {item["hit"] for item in items}, words
        assert {item["session"] for item in items} == {None}, words


def test_a_message_that_begins_with_its_kind_has_it_once(chat: Chat) -> None:
    report(chat, "KeyError: 'cart'")
    (item,) = chat.api.get("/search?q=%27cart%27&in=errors").json()["items"]
    assert item["before"] + item["hit"] + item["after"] == "KeyError: 'cart'"


def test_hits_link_to_pages_that_show_them(chat: Chat, client: Client, alice: User) -> None:
    put(chat, "notes", quote("a b&c?d#e", safe=""), "needle with a hard key")
    client.force_login(alice)
    items = chat.api.get(f"/search?q=needle&in={EVERYTHING}").json()["items"]
    assert len(items) == 9
    for item in items:
        address, _, anchor = item["link"].partition("#")
        page = client.get(address)
        assert page.status_code == 200, item
        assert item["hit"] in page.content.decode(), item
        assert not anchor or f'id="{anchor}"' in page.content.decode(), item
        assert (item["project"], item["project_id"]) == (chat.project, str(project_of(chat).id))


def test_only_one_s_own_is_found(chat: Chat, api: Callable[..., Any], alice: User, bob: User) -> None:
    project = project_of(chat)
    assert api(bob).get(f"/search?q=needle&in={EVERYTHING}").json() == {"items": [], "next": None}
    limited = Chat(api(alice, project_path="another"), project="another")
    assert found(limited, **{"in": EVERYTHING}) == []
    for name in ("memory", "errors", "handoff"):
        foreign, unknown = (api(bob).get(f"/search?q=needle&in={name}&project={quote(path)}") for path in (project.path, "/no"))
        assert (foreign.status_code, foreign.content) == (unknown.status_code, unknown.content) == (404, unknown.content)
    chat.api.delete(f"/projects/{project.id}")
    assert found(chat, **{"in": EVERYTHING}) == []


def test_filters_apply(chat: Chat) -> None:
    old = now() - timedelta(days=3)
    MemoryEntry.objects.filter(key="plan").update(updated_at=old)
    ErrorReport.objects.update(last_seen=old)
    Handoff.objects.update(updated_at=old)
    until = {"until": (now() - timedelta(days=1)).isoformat()}
    since = {"since": (now() - timedelta(days=1)).isoformat()}
    assert found(chat, **{"in": "memory,errors,handoff"}, **until) == [*HANDOFF, MEMORY[1], *ERRORS]
    assert found(chat, **{"in": "memory,errors,handoff"}, **since) == [MEMORY[0]]
    assert found(chat, role="user", **{"in": EVERYTHING}) == [CHATS[1]]


def test_what_is_expired_or_deleted_is_not_found(chat: Chat) -> None:
    MemoryEntry.objects.filter(key="plan").update(expires_at=now() - timedelta(seconds=1))
    chat.api.delete(f"/projects/{project_of(chat).id}/memory/notes/needle-key")
    assert found(chat, **{"in": "memory"}) == []


def test_a_cursor_of_nobody_is_refused(chat: Chat) -> None:
    cursors = (
        *("memory.x", "memory.1.2", "errors.x", "errors.2026-01-01_x", "errors.2026_a", "handoff.1", "handoff.a.b", "titles.x"),
        # At UTC that is a moment before all that Python knows.
        "titles.0001-01-01T00:00:00%2B14:00_6c1f3a52-9f0e-4b7e-8a55-2f8f1c2d9d10",
    )
    for words, cursor in product(("needle", "ne"), cursors):
        answer = chat.api.get(f"/search?q={words}&in={EVERYTHING}&cursor={cursor}")
        assert (answer.status_code, answer.json()["error"]["details"]) == (422, {"field": "cursor"}), (words, cursor)


def test_the_page_has_the_filters_and_shows_kinds(chat: Chat, client: Client, alice: User, bob: User) -> None:
    client.force_login(alice)

    def shown(query: str) -> str:
        page = client.get(f"/search/?q=needle&{query}")
        assert page.status_code == 200
        return page.content.decode()

    everything = shown("in=everything")
    assert all(f"<span>{kind}</span>" in everything for kind in ("memory", "handoff", "error", "in the title"))
    assert '<option value="everything" selected>' in everything
    assert "notes / plan" not in shown("")
    assert "notes / plan" in shown(f"in=memory&project={quote(chat.project)}")
    for nothing in ("project=/nowhere", "project=%00", "role=assistant", "until=2020-01-01", "since=2999-01-01"):
        assert "Nothing says" in shown(nothing)
    for meaningless in ("role=x", "since=x", "until=99999-01-01", "in=x", "cursor=x"):
        assert "Needle in a title" in shown(meaningless).replace("<mark>", "").replace("</mark>", "")
    client.force_login(bob)
    assert "Nothing says" in shown(f"in=everything&project={quote(chat.project)}")
