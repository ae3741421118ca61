"""A session is found by the developer's own id."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from sessions_app.models import ChatSession
from tests.support.chat import Chat

OWN_ID = "chat_0192/é %"


@pytest.fixture
def named(api: Callable[..., Any], alice: User) -> list[Chat]:
    """Three sessions of that id in projects of their own, oldest first, and one with it in its title."""
    made = [Chat(api(alice), project=f"/shop/{number}") for number in range(4)]
    for number, chat in enumerate(made):
        fields = {"external_id": OWN_ID, "title": f"Cart {number}"} if number < 3 else {"title": f"about {OWN_ID}"}
        at = datetime(2026, 11, 1 + number, tzinfo=UTC)
        ChatSession.objects.filter(id=chat.id).update(**fields, created_at=at)
    return made


def search(chat: Chat, words: str, more: str = "") -> Any:
    answer = chat.api.get(f"/search?q={quote(words)}{more}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_a_whole_external_id_finds_its_sessions_before_all_else(named: list[Chat]) -> None:
    hits = search(named[0], OWN_ID)["items"]
    assert [(hit["kind"], hit["session"]) for hit in hits] == [
        *(("external_id", chat.id) for chat in reversed(named[:3])),
        ("title", named[3].id),
    ]
    assert (hits[0]["title"], hits[0]["hit"], hits[0]["link"]) == ("Cart 2", OWN_ID, f"/sessions/{named[2].id}/")
    for other in (OWN_ID[:-1], OWN_ID.upper(), f"{OWN_ID} ", "x" * 129, "\0"):
        assert [hit["kind"] for hit in search(named[0], other)["items"] if hit["kind"] == "external_id"] == []


def test_pages_go_on_between_and_after_ids(named: list[Chat]) -> None:
    found, cursor = [], ""
    while True:
        page = search(named[0], OWN_ID, f"&limit=1{cursor}")
        found += [hit["session"] for hit in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={quote(page['next'])}"
    assert found == [named[2].id, named[1].id, named[0].id, named[3].id]


def test_filters_limit_ids_too(named: list[Chat], api: Callable[..., Any], bob: User) -> None:
    assert [hit["session"] for hit in search(named[0], OWN_ID, "&project=/shop/1")["items"]] == [named[1].id]
    for without in ("&in=messages", "&role=user", "&until=2020-01-01T00:00:00Z"):
        assert search(named[0], OWN_ID, without)["items"] == []
    assert search(Chat(api(bob)), OWN_ID)["items"] == []
    named[0].api.delete(f"/sessions/{named[0].id}")
    assert named[0].id not in [hit["session"] for hit in search(named[1], OWN_ID)["items"]]


def test_ids_are_found_by_an_index(named: list[Chat]) -> None:
    with CaptureQueriesContext(
        connection,
    ) as asked:
        search(named[0], OWN_ID)
    [sql] = [query["sql"] for query in asked if '"external_id" = ' in query["sql"]]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(("EXPLAIN QUERY PLAN " if connection.vendor == "sqlite" else "EXPLAIN ") + sql.replace("%", "%%"))
        assert "session_external_id_unique_in_project" in str(cursor.fetchall())


def test_the_page_shows_which_session_has_the_id(client: Client, alice: User, named: list[Chat]) -> None:
    client.force_login(alice)
    shown = client.get(f"/search/?q={quote(OWN_ID)}").content.decode()
    assert f'<a class="title" href="/sessions/{named[2].id}/">Cart 2</a>' in shown
    assert f"<mark>{OWN_ID}</mark>" in shown
    assert "<span>external id</span>" in shown
