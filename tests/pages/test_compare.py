"""Two moments, or two sessions, side by side: by message and by words, in bounded time."""

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.pages.history.comparison import compared
from tests.support.chat import Chat

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    return Chat(api(alice))


def item(message_id: str, text: str, role: str = "user") -> dict[str, Any]:
    parts = [{"type": "text", "text": text}]
    return {"id": message_id, "role": role, "text": text, "parts": parts, "position": 1, "created_at": "2026-11-01T00:00:00.000Z"}


def rows(html: str) -> list[tuple[str, str]]:
    found = re.findall(r'<li class="sides" data-how="(\w+)">(.*?)</li>', html, re.DOTALL)
    return [(how, " ".join(re.sub(r"<(?!/?(?:ins|del)>)[^>]+>", " ", body).split())) for how, body in found]


def test_two_moments_of_a_session(page: Client, chat: Chat) -> None:
    chat.say("m1", "one")
    chat.say("m2", "two")
    chat.ops({"op": "delete", "id": "m1"})
    chat.say("m3", "three")
    html = page.get(f"/sessions/{chat.id}/compare/?a=2&b=4").content.decode()
    assert "1 same, 0 changed, 1 only on the left, 1 only on the right." in html
    [(first, gone), (second, new)] = rows(html)
    assert (first, second) == ("removed", "added")
    assert "<del>one</del>" in gone
    assert "<ins>three</ins>" in new
    assert f'href="/sessions/{chat.id}/history/?at=2"' in html


def test_a_session_and_its_fork_differ_by_words(page: Client, chat: Chat) -> None:
    chat.say("m1", "Lock the cart before the stock.")
    chat.say("m2", "two")
    fork = chat.post_plain("fork", {}).json()["id"]
    chat.say("m1", "Lock the stock before the cart.")
    html = page.get(f"/sessions/{chat.id}/compare/?a={fork}&b=3").content.decode()
    assert "1 same, 1 changed, 0 only" in html
    [(how, words)] = rows(html)
    assert how == "changed"
    assert "Lock the <del>cart</del>" in words
    assert "Lock the <ins>stock</ins>" in words
    assert page.get(f"/sessions/{chat.id}/compare/?a={fork}@1&b={fork}@1").status_code == 200


def test_sessions_without_common_ids_are_compared_by_role_and_text(page: Client, chat: Chat) -> None:
    other = Chat(chat.api)
    for number, text in enumerate(("question", "an answer of one model", "thanks")):
        chat.say(f"m{number}", text, role=("user", "assistant")[number % 2])
    for number, text in enumerate(("question", "an answer of other models", "thanks")):
        other.say(f"x{number}", text, role=("user", "assistant")[number % 2])
    html = page.get(f"/sessions/{chat.id}/compare/?a={chat.id}&b={other.id}").content.decode()
    assert re.findall(r'<p id="found">(.*?)</p>', html) == ["2 same, 1 changed, 0 only on the left, 0 only on the right."]


def test_what_is_not_yours_is_not_found(page: Client, chat: Chat, api: Callable[..., Any], bob: User) -> None:
    chat.say("m1", "one")
    strangers = Chat(api(bob), project="/home/bob/shop")
    strangers.say("m1", "secret")
    for wrong in (strangers.id, f"{strangers.id}@1", "x", "%00", "-1", "²", "@", "1" * 40):
        reply = page.get(f"/sessions/{chat.id}/compare/?a={wrong}")
        assert reply.status_code in {200, 404}
        assert b"secret" not in reply.content
    assert page.get(f"/sessions/{chat.id}/compare/?b={strangers.id}").status_code == 404


def test_long_sessions_begin_where_the_shorter_side_ends(page: Client, chat: Chat) -> None:
    chat.ops(*({"op": "upsert", "id": f"m{number}", "role": "user", "text": f"{number}"} for number in range(1, 31)))
    chat.ops(*({"op": "upsert", "id": f"n{number}", "role": "user", "text": f"{number}"} for number in range(31, 431)))
    address = f"/sessions/{chat.id}/compare/?a=1&b=2"
    html = page.get(address).content.decode()
    assert "21 same, 0 changed, 0 only on the left, 79 only on the right, on this page." in html
    newer = page.get(f"{address}&before=400").content.decode()
    assert "0 same, 0 changed, 0 only on the left, 100 only on the right, on this page." in newer
    assert "before=300" in newer


def test_texts_that_take_long_to_compare_do_not_hold_up_the_page() -> None:
    """Each pair alone would take its share of the time; together they must not."""
    left = [item(f"m{number}", f"{number} " + "a b c d e f g " * 550) for number in range(100)]
    right = [item(f"m{number}", f"{number} " + "g f e d c b a " * 550) for number in range(100)]
    begun = time.process_time()
    found = compared(left, right)
    assert time.process_time() - begun < 2
    assert found.counts == {"same": 0, "changed": 100, "removed": 0, "added": 0}
    assert found.pairs[-1].whole
    strangers = compared(left, [item(f"x{number}", f"{number}") for number in range(100)])
    assert strangers.counts["changed"] == 100


def test_hostile_texts_are_shown_as_text(page: Client, chat: Chat) -> None:
    chat.say("m1", HOSTILE)
    chat.say("m2", f"{HOSTILE} two")
    fork = chat.post_plain("fork", {}).json()["id"]
    chat.say("m1", f"more {HOSTILE}")
    for a in ("1", fork):
        assert HOSTILE not in page.get(f"/sessions/{chat.id}/compare/?a={a}").content.decode()
