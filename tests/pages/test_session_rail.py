"""The panel beside a transcript: the plan, the agent's question and its one answer, each AI's todos and notes."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from sessions_app.core.storage.sql import rfc3339
from sessions_app.models import AgentState, Clearing
from sessions_app.models.times import now
from sessions_app.pages.session.session_page import CONFLICTS_SHOWN
from tests.support.chat import Chat

PLAN = {
    "title": "Keep the <basket>",
    "steps": [
        {"id": "s1", "title": "Read", "status": "completed"},
        {"id": "s2", "title": "Mend", "status": "in_progress"},
        {"id": "s3", "title": "Tell", "status": "pending"},
    ],
}


def ask(chat: Chat, action: str = "a1", **fields: Any) -> None:
    question = {"id": action, "kind": "deploy", "payload": {"to": "staging & more"}, **fields}
    assert chat.api.put(f"/sessions/{chat.id}/agent-state", {"plan": PLAN, "pending_action": question}).status_code < 300


def answer(page: Client, chat: Chat, decision: str, **more: str) -> Any:
    return page.post(f"/sessions/{chat.id}/resolve/", {"action": "a1", "decision": decision, **more}, follow=True)


def shown(page: Client, chat: Chat) -> str:
    """The whole page and what it refreshes itself with say the same."""
    rail = page.get(f"/sessions/{chat.id}/rail/").content.decode()
    whole = page.get(f"/sessions/{chat.id}/").content.decode()
    parts = [set(re.findall(r'id="(rail-[^"]+)"', text)) for text in (rail, whole)]
    assert parts[0] == parts[1] - {"rail"}
    return rail


def test_a_plan_shows_its_steps_and_how_far_it_is(page: Client, chat: Chat) -> None:
    ask(chat)
    rail = shown(page, chat)
    assert "Keep the &lt;basket&gt;" in rail
    assert '<progress max="3" value="1"' in rail
    assert re.findall(r'<li data-status="(\w+)">', rail) == ["completed", "in_progress", "pending"]
    assert "in progress: " in rail
    assert "staging &amp; more" in rail


def test_each_ai_shows_its_todos_notes_and_whence_it_came(page: Client, chat: Chat) -> None:
    former = Chat(chat.api)
    chat.api.patch(f"/sessions/{former.id}", {"title": "The <former> one"})
    todos = [
        {"content": "Read", "status": "completed", "activeForm": "Reading"},
        {"content": "Mend", "status": "in_progress", "activeForm": "Mending"},
    ]
    notes = {"todos": todos, "working_notes": "**loud** <script>", "context_summary": "where it stood"}
    chat.api.put(f"/sessions/{former.id}/ai-states/claude", notes)
    chat.api.put(f"/sessions/{chat.id}/ai-states/gemini", {"working_notes": "quiet"})
    assert chat.api.post(f"/sessions/{former.id}/transfer", {"to_session": chat.id}).status_code == 200
    rail = shown(page, chat)
    assert f'from\n        <a href="/sessions/{former.id}/">The &lt;former&gt; one</a>' in rail
    assert "1 of 2" in rail
    assert "Mending" in rail
    assert "<strong>loud</strong> &lt;script&gt;" in rail
    assert "where it stood" in rail
    assert rail.index(">claude<") < rail.index(">gemini<")
    chat.api.delete(f"/sessions/{former.id}")
    assert "a session that is gone" in shown(page, chat)


@pytest.mark.parametrize(("decision", "word"), [("approve", "approved"), ("reject", "rejected")])
def test_a_question_is_answered_once_and_says_by_whom(page: Client, chat: Chat, decision: str, word: str) -> None:
    ask(chat)
    assert 'value="approve"' in shown(page, chat)
    assert "The agent can read your answer" in answer(page, chat, decision, note="Mind the <gap>").content.decode()
    told = chat.get("agent-state/pending-action/a1").json()
    assert (told["status"], told["resolution"]["decision"]) == ("resolved", decision)
    rail = shown(page, chat)
    assert word in rail
    assert "by alice" in rail
    assert "Mind the &lt;gap&gt;" in rail
    assert 'value="approve"' not in rail


def test_who_answers_second_is_told_of_the_first_answer(page: Client, chat: Chat) -> None:
    ask(chat)
    answer(page, chat, "approve")
    late = answer(page, chat, "reject").content.decode()
    assert "alice already answered: approved" in late
    assert chat.get("agent-state/pending-action/a1").json()["resolution"]["decision"] == "approve"


def test_what_expired_cannot_be_answered(page: Client, chat: Chat) -> None:
    ask(chat, expires_at=rfc3339(now() + timedelta(hours=1)))
    assert "Expires" in shown(page, chat)
    ask(chat, expires_at=rfc3339(now() - timedelta(hours=1)))
    rail = shown(page, chat)
    assert "expired" in rail
    assert 'value="approve"' not in rail
    assert "has expired" in answer(page, chat, "approve").content.decode()


def test_an_answer_is_to_the_question_that_was_read(page: Client, chat: Chat) -> None:
    """An agent may change what it asks, under the same id, while a person reads."""
    ask(chat)
    [read] = re.findall(r'name="asked" value="(\w+)"', shown(page, chat))
    ask(chat, payload={"command": "rm -rf /"})
    assert "changed its question meanwhile" in answer(page, chat, "approve", asked=read).content.decode()
    assert chat.get("agent-state/pending-action/a1").json()["status"] == "pending"
    [newer] = re.findall(r'name="asked" value="(\w+)"', shown(page, chat))
    answer(page, chat, "approve", asked=newer)
    assert chat.get("agent-state/pending-action/a1").json()["status"] == "resolved"


def test_a_form_that_stays_on_the_page_gets_its_toast(page: Client, chat: Chat) -> None:
    ask(chat)
    form = {"action": "a1", "decision": "approve"}
    address, headers = f"/sessions/{chat.id}/resolve/", {"HX-Request": "true"}
    reply = page.post(address, form, headers=headers)
    assert (reply.status_code, '"changed"' in reply["HX-Trigger"]) == (204, True)
    assert '"error": true' in page.post(address, form, headers=headers)["HX-Trigger"]
    refused = page.post(address, {**form, "decision": "perhaps"}, headers=headers)
    assert (refused.status_code, "Approve%20or%20reject" in refused["Stillhere-Message"]) == (422, True)


def test_the_rail_costs_the_same_however_much_is_held(page: Client, chat: Chat) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert page.get(f"/sessions/{chat.id}/rail/").status_code == 200
        return len(seen)

    ask(chat)
    chat.api.put(f"/sessions/{chat.id}/ai-states/ai-0", {"todos": []})
    few = statements()
    for number in range(1, 30):
        todos = [{"content": f"t{one}", "status": "pending"} for one in range(20)]
        chat.api.put(f"/sessions/{chat.id}/ai-states/ai-{number}", {"todos": todos})
    assert statements() == few


def test_a_long_list_is_cut_and_says_so(page: Client, chat: Chat) -> None:
    todos = [{"content": f"todo {number}.", "status": "completed"} for number in range(1_400)]
    chat.api.put(f"/sessions/{chat.id}/ai-states/claude", {"todos": todos})
    rail = shown(page, chat)
    assert "1400 of 1400" in rail
    assert "todo 299." in rail
    assert "todo 300." not in rail
    assert "… 1\u202f100 more" in rail


def test_of_many_conflicts_the_oldest_are_shown_and_it_says_that_there_are_more(page: Client, chat: Chat) -> None:
    for number in range(CONFLICTS_SHOWN + 1):
        chat.say(f"m{number}", "standing")
        chat.ops({"op": "upsert", "id": f"m{number}", "role": "user", "text": f"sent {number}."}, writer_id=f"w{number}")
    rail = shown(page, chat)
    assert rail.count("Use this") == CONFLICTS_SHOWN
    assert f">{CONFLICTS_SHOWN}+<" in rail
    assert "sent 0." in rail
    assert f"sent {CONFLICTS_SHOWN}." not in rail


def test_lists_lead_to_sessions_with_conflicts(page: Client, chat: Chat) -> None:
    chat.say("m1", "standing")
    without = page.get(f"/projects/{chat.read()['session']['project_id']}/")
    for writer in ("w1", "w2"):
        chat.ops({"op": "upsert", "id": "m1", "role": "user", "text": f"of {writer}"}, writer_id=writer)
    lists = ["/", without.request["PATH_INFO"], "/sessions/", "/sessions/?has=conflicts"]
    mark = f'href="/sessions/{chat.id}/#rail-conflicts"'
    assert mark not in without.content.decode()
    for address in lists:
        content = page.get(address).content.decode()
        assert mark in content, address
        assert ">2 to settle</a>" in content, address
    for copy in chat.conflicts():
        page.post(f"/sessions/{chat.id}/settle/", {"copy": copy["copy_id"], "keep": "theirs"})
    assert not any(mark in page.get(address).content.decode() for address in lists)


def test_a_text_whose_message_is_gone_is_added_or_discarded(page: Client, chat: Chat) -> None:
    """There is no current text that could be kept."""
    chat.say("m1", "standing")
    for number in range(2):
        chat.ops({"op": "upsert", "id": "m1", "role": "user", "text": f"sent {number}."}, writer_id=f"w{number}")
    rail = shown(page, chat)
    assert rail.count("Keep the current text") == 2
    assert f'href="/sessions/{chat.id}/?at=m1"' in rail
    chat.ops({"op": "delete", "id": "m1"}, base_rev=99)
    rail = shown(page, chat)
    assert rail.count("which is not in the session") == rail.count("Add it at the end") == rail.count("Discard it") == 2
    assert not re.search("Keep the current text|Use this|Keep both|at=m1", rail)
    first, second = re.findall(r'name="copy" value="([^"]+)"', rail)
    page.post(f"/sessions/{chat.id}/settle/", {"copy": first, "keep": "theirs"})
    page.post(f"/sessions/{chat.id}/settle/", {"copy": second, "keep": "both"})
    assert (chat.texts(), chat.conflicts()) == (["sent 1."], [])


def test_a_damaged_state_spoils_no_page(page: Client, chat: Chat) -> None:
    ask(chat)
    AgentState.objects.update(content="{broken")
    assert page.get(f"/sessions/{chat.id}/").status_code == 200


def test_somebody_else_s_question_cannot_be_answered(api: Callable[..., Any], bob: User, chat: Chat) -> None:
    ask(chat)
    his = Client()
    his.force_login(bob)
    assert his.post(f"/sessions/{chat.id}/resolve/", {"action": "a1", "decision": "approve"}).status_code == 404
    assert chat.get("agent-state/pending-action/a1").json()["status"] == "pending"


def test_what_was_cleared_is_restored_from_the_page(page: Client, chat: Chat) -> None:
    for number in range(2):
        chat.say(f"m{number}", f"words {number}")
    chat.clear()
    empty = page.get(f"/sessions/{chat.id}/").content.decode()
    assert "Restore 2 cleared messages" in empty
    assert "is kept until" in empty
    assert "cleared message" not in shown(page, chat)
    chat.say("m3", "after", epoch=2)
    assert "Restore 2 cleared messages" in shown(page, chat)
    restore = {"epoch": "2", "of": "1"}
    assert "2 messages are restored." in page.post(f"/sessions/{chat.id}/undo-clear/", restore, follow=True).content.decode()
    assert chat.texts() == ["words 0", "words 1", "after"]
    assert "cleared message" not in shown(page, chat)


def test_what_cannot_be_restored_is_not_offered(page: Client, chat: Chat) -> None:
    chat.clear()
    assert "cleared message" not in page.get(f"/sessions/{chat.id}/").content.decode()
    chat.say("m1", "words", epoch=2)
    chat.clear(epoch=2)
    assert "Restore 1 cleared message<" in page.get(f"/sessions/{chat.id}/").content.decode()
    Clearing.objects.update(cleared_at=now() - timedelta(days=31))
    assert "cleared message" not in page.get(f"/sessions/{chat.id}/").content.decode()


def test_messages_of_other_versions_are_told_apart_from_those_that_are_shown(page: Client, chat: Chat) -> None:
    def say(message_id: str, **more: Any) -> None:
        chat.ops({"op": "upsert", "id": message_id, "role": "user", "text": message_id, **more})

    for message_id in ("q1", "a1", "q2", "a2"):
        say(message_id)
    assert "In other versions" not in shown(page, chat)
    say("q2-again", parent_id="a1")
    assert re.findall(r'<dd class="number">(\d.*?)</dd>', shown(page, chat))[:2] == ["5", "2 of these"]


def test_tags_of_programs_are_nowhere_offered_for_removal(page: Client, chat: Chat) -> None:
    """Without them an adapter no longer finds its session."""
    ours = [f"{kind}:{'87b3' * 8}" for kind in ("user", "app", "project", "of")]
    named = ["adk", "claude-agent", "claude-subagent", "openai-agents", "pydantic-ai"]
    chat.api.patch(f"/sessions/{chat.id}", {"tags": [*named, *ours, "user:short"]})
    project = chat.read()["session"]["project_id"]
    for html in (shown(page, chat), page.get(f"/projects/{project}/").content.decode()):
        assert re.findall(r'name="tag" value="([^"]+)" type="submit"', html) == ["user:short"]
        assert [tag for tag in named if f">{tag}</" not in html] == []
    page.post(f"/sessions/{chat.id}/untag/", {"tag": "user:short"})
    assert chat.read()["session"]["tags"] == [*named, *ours]


@pytest.mark.parametrize(("tag", "undo"), [("a & b", "tag/?tag=a+%26+b"), ("a, b", ""), (" a", ""), ("a\nb", "")])
def test_removing_a_tag_has_undo_where_it_can_be_typed(page: Client, chat: Chat, tag: str, undo: str) -> None:
    chat.api.patch(f"/sessions/{chat.id}", {"tags": [tag, "kept"]})
    html = page.post(f"/sessions/{chat.id}/untag/", {"tag": tag}, follow=True).content.decode()
    assert chat.read()["session"]["tags"] == ["kept"]
    addresses = re.findall(rf'action="/sessions/{chat.id}/(tag/\?[^"]+)"', html)
    assert addresses == [undo] * bool(undo)
    for address in addresses:
        page.post(f"/sessions/{chat.id}/{address}")
        assert chat.read()["session"]["tags"] == ["kept", tag]
