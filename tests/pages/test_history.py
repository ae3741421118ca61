"""A session as it was at a revision: what is shown is what is kept, and what is not kept is said."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.chats.lifecycle.pruning import prune
from sessions_app.models import ChatSession, Clearing, Message
from sessions_app.models.times import now
from tests.support.chat import Chat

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> [x](javascript:alert(3))"


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    return Chat(api(alice))


@pytest.fixture
def at(page: Client, chat: Chat) -> Callable[..., str]:
    def get(rev: int, more: str = "") -> str:
        reply = page.get(f"/sessions/{chat.id}/history/?at={rev}{more}")
        assert reply.status_code == 200
        return reply.content.decode()

    return get


def ids(html: str) -> list[str]:
    return re.findall(r'<article class="message[^"]*" id="message-\d+" data-id="([^"]+)"', html)


def article(html: str, message_id: str) -> str:
    found = re.search(rf'<article [^>]*data-id="{message_id}".*?</article>', html, re.DOTALL)
    assert found, message_id
    return found[0]


def test_each_revision_has_the_messages_that_there_were(chat: Chat, at: Callable[..., str]) -> None:
    for number in range(1, 6):
        chat.say(f"m{number}", f"words {number}")
    assert [ids(at(rev)) for rev in range(6)] == [[f"m{number}" for number in range(1, rev + 1)] for rev in range(6)]
    assert "Before the first save" in at(0)
    assert "As of revision 3" in at(3)
    assert "The session as it is now" in at(5)
    assert ids(at(99)) == ids(at(5))
    assert "as last saved" not in at(3)


def test_a_text_that_was_overwritten_is_shown_as_last_saved_and_says_so(chat: Chat, at: Callable[..., str]) -> None:
    chat.say("m1", "question")
    chat.say("m2", "first answer", role="assistant")
    chat.say("m3", "thanks")
    chat.say("m2", "second answer", role="assistant")
    html = at(3)
    assert ids(html) == ["m1", "m2", "m3"]
    assert "Shown as last saved, at revision 4" in article(html, "m2")
    assert "second answer" in article(html, "m2")
    assert "as last saved" not in article(html, "m1") + article(html, "m3")
    assert "As of revision 3" in html
    assert "as last saved" not in article(at(4), "m2")


def test_revisions_that_left_nothing_are_one_moment(chat: Chat, at: Callable[..., str]) -> None:
    chat.say("m1", "question")
    for number in range(6):
        chat.say("m2", "word " * (number + 1), role="assistant")
    chat.say("m3", "thanks")
    for rev in (2, 4, 6):
        html = at(rev)
        assert "Revisions 2 to 6 are not kept apart" in html
        assert ids(html) == ["m1", "m2"]
        assert 'href="?at=1"' in html
        assert 'href="?at=7"' in html
    assert ids(at(1)) == ["m1"]
    assert "As of revision 7" in at(7)
    assert ids(at(7)) == ["m1", "m2"]
    assert ids(at(8)) == ["m1", "m2", "m3"]


def test_clears_and_undos_are_seen_and_marked(chat: Chat, at: Callable[..., str]) -> None:
    chat.say("m1", "one")
    chat.say("m2", "two")
    chat.clear()
    chat.say("m3", "three", epoch=2)
    chat.undo(of=1, epoch=2)
    chat.say("m4", "four", epoch=2)
    seen = [ids(at(rev)) for rev in range(1, 7)]
    assert seen == [["m1"], ["m1", "m2"], [], ["m3"], ["m1", "m2", "m3"], ["m1", "m2", "m3", "m4"]]
    html = at(6)
    assert re.findall(r'href="\?at=(\d+)">([^<]+)</a>', html.partition('id="marks"')[2])[:2] == [
        ("3", "Cleared: 2 messages"),
        ("5", "A clear was undone"),
    ]
    chat.clear(epoch=chat.read()["session"]["epoch"])
    chat.undo(of=chat.read()["session"]["epoch"] - 1, epoch=chat.read()["session"]["epoch"])
    everything = ["m1", "m2", "m3", "m4"]
    assert [ids(at(rev)) for rev in (6, 7, 8)] == [everything, [], everything]
    revs = re.findall(r'href="\?at=(\d+)">[^<]+</a>', at(8).partition('id="marks"')[2])
    assert revs[:4] == ["3", "5", "7", "8"]
    assert html.count('class="mark clear"') == html.count('class="mark undo"') == 1


def test_what_was_cleared_or_removed_later_is_there_until_it_is_erased(chat: Chat, at: Callable[..., str]) -> None:
    chat.say("m1", "one")
    chat.say("m2", "two")
    chat.say("m3", "three")
    chat.ops({"op": "delete", "id": "m2"})
    chat.clear()
    assert ids(at(3)) == ["m1", "m2", "m3"]
    assert "Removed later (deleted), at revision 4" in article(at(3), "m2")
    assert ids(at(4)) == ["m1", "m3"]
    assert 'name="up_to"' not in at(3)
    old = now() - timedelta(days=31)
    ChatSession.objects.update(created_at=old - timedelta(hours=2))
    Clearing.objects.update(cleared_at=old)
    Message.objects.update(created_at=old - timedelta(hours=1), updated_at=old - timedelta(hours=1))
    prune()
    html = at(1)
    assert ids(html) == []
    assert "2 messages of these revisions or earlier ones were cleared" in html


def test_an_erased_text_is_said_and_not_invented(chat: Chat, at: Callable[..., str]) -> None:
    chat.say("m1", "one")
    chat.say("m2", "two")
    chat.ops({"op": "truncate", "after": "m1"})
    Message.objects.filter(message_id="m2").update(updated_at=now() - timedelta(days=31))
    prune()
    html = at(2)
    assert ids(html) == ["m1", "m2"]
    assert "its text was erased after 30 days" in article(html, "m2")


def test_plan_todos_and_handoff_are_those_of_the_moment(chat: Chat, at: Callable[..., str]) -> None:
    steps = [{"id": "s1", "title": "Write a test", "status": "pending"}]
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"plan": {"title": "First plan", "steps": steps}})
    todo = {"content": "Read the code", "status": "pending", "activeForm": "Reading"}
    chat.api.put(f"/sessions/{chat.id}/ai-states/claude", {"todos": [todo]})
    project = chat.read()["session"]["project_id"]
    chat.api.post(f"/projects/{project}/handoff/decisions", {"text": "Lock the cart first"})
    chat.api.patch(f"/projects/{project}/handoff", {"summary": "The build is **green** again."})
    chat.api.post(f"/projects/{project}/handoff/freeze")
    chat.say("m1", "one")
    chat.say("m2", "two")
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"plan": {"title": "Second plan", "steps": []}})
    chat.api.patch(f"/sessions/{chat.id}/ai-states/claude", {"todos": [{**todo, "content": "Ask for a review"}]})
    chat.api.post(f"/projects/{project}/handoff/decisions", {"text": "Take numbers last"})
    chat.say("m3", "three")
    old, new = at(1), at(3)
    for words in ("First plan", "Read the code", "Lock the cart first", "Snapshot 1</a>", "<strong>green</strong>"):
        assert words in old, words
    for words in ("Second plan", "Ask for a review", "Take numbers last"):
        assert words in new, words
        assert words not in old, words
    assert "not kept: it may" not in old


def test_versions_of_a_plan_that_are_not_kept_are_counted(chat: Chat, at: Callable[..., str]) -> None:
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"plan": {"title": "First plan", "steps": []}})
    for number in range(3):
        chat.api.patch(f"/sessions/{chat.id}/agent-state", {"plan": {"title": f"Patched {number}", "steps": []}})
    chat.say("m1", "one")
    chat.say("m2", "two")
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"plan": {"title": "Last plan", "steps": []}})
    chat.say("m3", "three")
    html = at(1)
    assert "Patched 2" in html
    chat.api.patch(f"/sessions/{chat.id}/agent-state", {"plan": {"title": "Patched again", "steps": []}})
    assert "1 later version is not kept" in at(2)


def test_conflicts_and_frozen_handoffs_are_marked(chat: Chat, at: Callable[..., str]) -> None:
    chat.say("m1", "one")
    Chat(chat.api, session_id=chat.id).ops({"op": "upsert", "id": "m1", "role": "user", "text": "another"})
    project = chat.read()["session"]["project_id"]
    chat.api.post(f"/projects/{project}/handoff/decisions", {"text": "x"})
    chat.api.post(f"/projects/{project}/handoff/freeze")
    chat.say("m2", "two")
    html = at(1)
    assert "Another text for m1" in html
    assert "Handoff 1 frozen" in html


def test_older_messages_are_on_further_pages(chat: Chat, at: Callable[..., str]) -> None:
    chat.ops(*({"op": "upsert", "id": f"m{number}", "role": "user", "text": "x"} for number in range(1, 101)))
    chat.say("last", "x")
    html = at(1)
    assert ids(html) == [f"m{number}" for number in range(61, 101)]
    assert ids(at(1, "&before=61")) == [f"m{number}" for number in range(21, 61)]
    assert '?at=1&amp;before=61"' in html


def test_a_page_of_large_messages_has_fewer_of_them(chat: Chat, at: Callable[..., str]) -> None:
    parts = [{"type": "text", "text": "large " * 15_000}] * 9
    for number in range(1, 5):
        chat.ops({"op": "upsert", "id": f"m{number}", "role": "user", "text": "large", "parts": parts})
    html = at(4)
    assert ids(html) == ["m3", "m4"]
    assert '?at=4&amp;before=3"' in html
    assert ids(at(4, "&before=3")) == ["m1", "m2"]


def test_another_branch_is_not_shown_before_it_began(chat: Chat, at: Callable[..., str]) -> None:
    chat.say("m1", "one")
    chat.say("m2", "two", role="assistant")
    chat.ops({"op": "upsert", "id": "m2b", "role": "assistant", "text": "two again", "parent_id": "m1"})
    assert ids(at(2)) == ["m1", "m2"]
    assert "Another version is shown since revision 3" in article(at(2), "m2")
    assert ids(at(3)) == ["m1", "m2b"]


def test_a_fork_is_made_from_a_moment(page: Client, chat: Chat, at: Callable[..., str]) -> None:
    for number in range(1, 4):
        chat.say(f"m{number}", f"words {number}")
    [up_to] = re.findall(r'form="fork" name="up_to" value="(\w+)">Fork from here', at(2))
    made = page.post(f"/sessions/{chat.id}/fork/", {"up_to": up_to})
    fork = made["Location"].split("/")[2]
    texts = [message["text"] for message in chat.api.get(f"/sessions/{fork}").json()["messages"]]
    assert texts == ["words 1", "words 2"]


def test_hostile_content_and_numbers_execute_nothing(page: Client, chat: Chat, at: Callable[..., str]) -> None:
    chat.say("m1", HOSTILE)
    chat.say("m2", HOSTILE)
    Chat(chat.api, session_id=chat.id).ops({"op": "upsert", "id": "m1", "role": "user", "text": f"other {HOSTILE}"})
    state = {"todos": [{"content": HOSTILE, "status": "pending", "activeForm": HOSTILE}], "working_notes": HOSTILE}
    chat.api.put(f"/sessions/{chat.id}/ai-states/claude", state)
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"plan": {"title": HOSTILE, "steps": []}})
    html = at(2)
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert 'href="javascript' not in html
    for wrong in ("-1", "x", "9" * 30, "1e3", "%00", "²"):
        assert page.get(f"/sessions/{chat.id}/history/?at={wrong}&before={wrong}").status_code == 200
