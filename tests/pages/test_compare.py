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


def test_of_two_sessions_the_one_in_the_trash_is_offered_to_restore(page: Client, chat: Chat) -> None:
    other = Chat(chat.api, project="/home/alice/other")
    chat.api.delete(f"/sessions/{other.id}")
    reply = page.get(f"/sessions/{chat.id}/compare/?a=1&b={other.id}")
    assert reply.status_code == 410
    assert re.findall(r'action="(/sessions/[^"]+)"', reply.content.decode()) == [f"/sessions/{other.id}/undelete/"]


def test_messages_are_told_by_their_tools_too(page: Client, chat: Chat) -> None:
    chat.say("m1", "one")
    call = {"type": "tool_call", "id": "c1", "name": "bash", "input": {"command": "ls <shop>"}}
    failed = {
        "type": "tool-bash",
        "toolCallId": "c2",
        "state": "output-error",
        "input": {"command": "cat x"},
        "errorText": "no <x>",
    }
    words = {"type": "text", "text": "I look."}
    chat.ops({"op": "upsert", "id": "m2", "role": "assistant", "text": "I look.", "parts": [words, call]})
    chat.ops({"op": "upsert", "id": "m3", "role": "assistant", "parts": [failed]})
    chat.ops({"op": "upsert", "id": "m4", "role": "user", "parts": [{"type": "image", "url": "https://a.example/b.png"}]})
    told = [words for _, words in rows(page.get(f"/sessions/{chat.id}/compare/?a=1&b=9").content.decode())]
    assert "I look." in told[0]
    assert "bash ls &lt;shop&gt;" in told[0]
    assert "bash cat x failed" in told[1]
    assert "no &lt;x&gt;" in told[1]
    assert "No text" in told[2]


def test_results_that_differ_are_unfolded(page: Client, chat: Chat) -> None:
    def ran(output: str) -> dict[str, Any]:
        calls = [("c1", "pytest", output), ("c2", "ls", "cart.py")]
        parts = [
            {"type": "tool-bash", "toolCallId": name, "state": "output-available", "input": {"command": command}, "output": said}
            for name, command, said in calls
        ]
        return {"op": "upsert", "id": "m1", "role": "assistant", "text": "Done.", "parts": parts}

    chat.ops(ran("1 failed"))
    fork = chat.post_plain("fork", {}).json()["id"]
    chat.ops(ran("5 passed"))
    html = page.get(f"/sessions/{chat.id}/compare/?a={fork}&b={chat.id}").content.decode()
    cards = re.findall(r'<details class="part tool good"( open)?>(.*?)</details>', html, re.DOTALL)
    assert [bool(opened) for opened, _ in cards] == [True, False] * 2
    assert "1 failed" in cards[0][1]
    assert "5 passed" in cards[2][1]


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
    missed = page.get(f"/sessions/{chat.id}/compare/?a=1&b={strangers.id}")
    assert missed.status_code == 404
    # The form is still there, with what was typed.
    html = missed.content.decode()
    assert f"“<bdi>{strangers.id}</bdi>” is no revision, and none of your sessions has this id." in html
    assert f'name="b" value="{strangers.id}"' in html
    assert 'name="a" value="1"' in html


def test_long_sessions_begin_where_the_shorter_side_ends(page: Client, chat: Chat) -> None:
    chat.ops(*({"op": "upsert", "id": f"m{number}", "role": "user", "text": f"{number}"} for number in range(1, 31)))
    chat.ops(*({"op": "upsert", "id": f"n{number}", "role": "user", "text": f"{number}"} for number in range(31, 431)))
    address = f"/sessions/{chat.id}/compare/?a=1&b=2"
    html = page.get(address).content.decode()
    assert "21 same, 0 changed, 0 only on the left, 79 only on the right, on this page." in html
    newer = page.get(f"{address}&before=400").content.decode()
    assert "0 same, 0 changed, 0 only on the left, 100 only on the right, on this page." in newer
    assert "before=300" in newer


def test_newer_pages_leave_out_no_message_where_bytes_cut_them(page: Client, chat: Chat, settings: Any) -> None:
    chat.ops(*({"op": "upsert", "id": f"m{number}", "role": "user", "text": "word " * 600} for number in range(1, 41)))
    chat.ops({"op": "upsert", "id": "m41", "role": "user", "text": "last"})
    settings.WINDOW_BYTES = 10_000
    before, seen = "4", set[int]()
    while before:
        html = page.get(f"/sessions/{chat.id}/compare/?a=0&b=2&before={before}").content.decode()
        seen |= {int(number) for number in re.findall(r'class="number">#(\d+)<', html)}
        before = next((found for found in re.findall(r"before=(\d+)\D[^<]*>Newer", html) if len(seen) < 41), "")
    assert seen == set(range(1, 42))


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


def states(html: str) -> dict[str, tuple[str, str]]:
    """What is shown of each plan, todos and handoff: how they differ, and both sides."""
    found = html.partition('id="states"')[2].partition("</ol>")[0]
    made = {}
    for how, body in re.findall(r'<li data-how="(\w+)">(.*?)</li>', found, re.DOTALL):
        name = re.search(r"<(?:h3|summary)>(.*?)(?:: the same.*?)?</", body, re.DOTALL)
        assert name
        made[name[1]] = (how, " ".join(re.sub(r"<(?!/?(?:ins|del)>)[^>]+>", " ", body).split()))
    return made


def test_plan_todos_and_handoff_of_two_moments_differ_by_words(page: Client, chat: Chat) -> None:
    project = chat.read()["session"]["project_id"]
    steps = [{"id": "s1", "title": "Lock the cart", "status": "completed"}]
    todo = {"content": "Ask for a review", "status": "pending", "activeForm": "Asking"}
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"plan": {"title": "Race", "steps": steps}})
    chat.api.put(f"/sessions/{chat.id}/ai-states/claude", {"todos": [todo], "working_notes": "Row 3 is slow."})
    chat.api.put(f"/sessions/{chat.id}/ai-states/helper", {"todos": [todo]})
    chat.say("m1", "one")
    steps = [{"id": "s1", "title": "Lock the stock", "status": "completed"}]
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"plan": {"title": "Race", "steps": steps}})
    chat.api.put(f"/sessions/{chat.id}/ai-states/claude", {"todos": [{**todo, "status": "completed"}], "working_notes": "Row 4."})
    chat.api.put(f"/sessions/{chat.id}/ai-states/codex", {"todos": [todo]})
    chat.api.patch(f"/projects/{project}/handoff", {"summary": "Handed over at noon."})
    chat.say("m2", "two")
    html = page.get(f"/sessions/{chat.id}/compare/?a=1&b=2").content.decode()
    found = states(html)
    assert list(found) == ["Plan", "Todos of claude", "Todos of codex", "Todos of helper", "Handoff"]
    assert found["Plan"][0] == "changed"
    assert "Lock the <del>cart</del>" in found["Plan"][1]
    assert "Lock the <ins>stock</ins>" in found["Plan"][1]
    assert "<del>pending</del>" in found["Todos of claude"][1]
    assert "<ins>completed</ins>" in found["Todos of claude"][1]
    assert "<ins>4</ins>" in found["Todos of claude"][1]
    assert found["Todos of codex"][0] == "added"
    assert found["Todos of helper"][0] == "same"
    assert found["Handoff"][0] == "added"
    assert "<ins>Handed over at noon.</ins>" in found["Handoff"][1]
    assert "0 same" not in html.partition('id="found"')[2].partition("</p>")[0]


def test_two_sessions_are_compared_with_their_own_plans(page: Client, chat: Chat) -> None:
    other = Chat(chat.api, project="/home/alice/other")
    for one, title in ((chat, "The shop's plan"), (other, "Another plan")):
        one.say("m1", "one")
        one.api.put(f"/sessions/{one.id}/agent-state", {"plan": {"title": title, "steps": []}})
    html = page.get(f"/sessions/{chat.id}/compare/?a={chat.id}&b={other.id}").content.decode()
    assert states(html)["Plan"][0] == "changed"
    assert "shop" in html
    assert "Another" in html


def test_what_is_not_kept_of_a_plan_is_said(page: Client, chat: Chat) -> None:
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"plan": {"title": "First plan", "steps": []}})
    chat.say("m1", "one")
    chat.say("m2", "two")
    for number in range(3):
        chat.api.patch(f"/sessions/{chat.id}/agent-state", {"plan": {"title": f"Patched {number}", "steps": []}})
    chat.say("m3", "three")
    how, said = states(page.get(f"/sessions/{chat.id}/compare/?a=1&b=3").content.decode())["Plan"]
    assert how == "changed"
    assert "Not kept from this time. 3 later versions are not kept: it may have changed by then." in said
    assert "<ins>Patched 2</ins>" in said
    same = page.get(f"/sessions/{chat.id}/compare/?a=1&b=1").content.decode()
    assert "Plan: the same, as far as it is kept" in same


def test_long_and_hostile_states_are_shown_as_text_and_in_bounded_time(page: Client, chat: Chat) -> None:
    for number in range(20):
        notes = f"{HOSTILE} {number} " + "a b c d e f g " * 500
        chat.api.put(f"/sessions/{chat.id}/ai-states/ai{number}", {"working_notes": notes})
    chat.say("m1", "one")
    for number in range(20):
        notes = f"{HOSTILE} {number} " + "g f e d c b a " * 500
        chat.api.put(f"/sessions/{chat.id}/ai-states/ai{number}", {"working_notes": notes})
    chat.say("m2", "two")
    begun = time.process_time()
    html = page.get(f"/sessions/{chat.id}/compare/?a=1&b=2").content.decode()
    assert time.process_time() - begun < 2
    assert HOSTILE not in html
    assert len(states(html)) == 20
