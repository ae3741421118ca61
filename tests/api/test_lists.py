"""What lists show: hits marked, who writes just now, what happened in words, and the trash of projects."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.core.text import count
from sessions_app.core.web.template_tags.formatting import ago
from sessions_app.models import Event, Message, Project
from sessions_app.models.times import now
from tests.support.chat import Chat


@pytest.fixture
def page(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    return Chat(api(alice))


def shown(page: Client, address: str) -> str:
    reply = page.get(address)
    assert reply.status_code == 200
    return reply.content.decode()


def project_page(more: str = "") -> str:
    return f"/projects/{Project.objects.get().id}/{more}"


def test_words_found_in_a_session_are_marked_and_lead_to_their_message(page: Client, chat: Chat) -> None:
    chat.say("m1", "a <b>needle</b> in the **hay**")
    chat.say("m2", "the newest words")
    found = shown(page, project_page("?q=NEEDLE"))
    assert "a &lt;b&gt;<mark>needle</mark>&lt;/b&gt; in the hay" in found
    assert "the newest words" not in found
    assert f"/sessions/{chat.id}/?at=m1&amp;q=NEEDLE#message-1" in found
    assert "No session says" in shown(page, project_page("?q=nowhere"))


def test_a_hit_far_back_is_on_the_page_that_it_leads_to(page: Client, chat: Chat) -> None:
    chat.ops(*({"op": "upsert", "id": f"m{number}", "role": "user", "text": f"text {number}."} for number in range(120)))
    old = shown(page, f"/sessions/{chat.id}/?at=m10")
    ids = re.findall(r'data-id="m(\d+)"', old)
    assert "10" in ids
    assert "119" not in ids
    assert "Newest messages" in old
    for recent in ("m110", "gone"):
        assert 'data-id="m119"' in shown(page, f"/sessions/{chat.id}/?at={recent}")


def test_a_session_is_live_while_its_newest_message_streams(page: Client, chat: Chat) -> None:
    chat.say("m1", "done")
    assert ">live<" not in shown(page, project_page())
    chat.ops({"op": "upsert", "id": "m2", "role": "assistant", "text": "not yet", "status": "streaming"})
    assert ">live<" in shown(page, project_page())
    Message.objects.filter(message_id="m2").update(updated_at=now() - timedelta(minutes=2))
    assert ">live<" not in shown(page, project_page())


def test_the_current_session_says_who_holds_the_lease(page: Client, chat: Chat) -> None:
    assert "writes</a>" not in shown(page, project_page())
    run = chat.api.post(f"/projects/{Project.objects.get().id}/runs", {"agent": "claude-code"}).json()["run_id"]
    assert "claude-code writes</a>" in shown(page, project_page())
    chat.api.post(f"/projects/{Project.objects.get().id}/runs/{run}/end")
    assert "writes</a>" not in shown(page, project_page())


def test_a_project_is_live_while_something_happens_in_it(page: Client, chat: Chat) -> None:
    chat.say("m1", "just now")
    assert ">live<" in shown(page, "/")
    Event.objects.update(at=now() - timedelta(minutes=2))
    assert ">live<" not in shown(page, "/")


def test_activity_tells_in_words_who_did_what_and_folds_repetition(page: Client, chat: Chat, bob: User) -> None:
    for number in range(3):
        chat.say(f"m{number}", "x")
    chat.clear()
    lines = re.findall(r'<li id="event-\d+".*?</li>', shown(page, project_page("activity/")), re.DOTALL)
    words = [" ".join(re.sub(r"<[^>]+>", " ", line).split()) for line in lines]
    assert re.match(r"Session cleared Untitled session \w+ now", words[0])
    assert words[1].startswith("Session saved Untitled session 3 times")
    rows = page.get(project_page("activity/"), headers={"HX-Request": "true"}).content.decode()
    assert f'href="/sessions/{chat.id}/"' in rows
    assert "<html" not in rows
    assert rows.count("<li") == len(lines)
    page.post(f"/sessions/{chat.id}/delete/")
    assert f'href="/sessions/{chat.id}/"' not in shown(page, project_page("activity/"))


def test_a_deleted_project_waits_in_the_trash_and_is_erased_by_typing_its_path(page: Client, chat: Chat, bob: User) -> None:
    project = Project.objects.get()
    page.post(project_page("delete/"), {"typed": project.path})
    assert project.path in shown(page, "/?state=deleted")
    erase = f"/projects/{project.id}/erase/"
    page.post(erase, {"typed": "something else"})
    assert Project.objects.exists()
    page.force_login(bob)
    assert page.post(erase, {"typed": project.path}).status_code == 404
    page.force_login(User.objects.get(projects=project))
    assert page.post(erase, {"typed": project.path})["Location"] == "/?state=deleted"
    assert not Project.objects.exists()


def test_a_page_of_what_is_in_the_trash_offers_to_bring_it_back(page: Client, chat: Chat) -> None:
    for own, back in ((f"/sessions/{chat.id}/", "undelete"), (project_page(), "restore")):
        typed = {"typed": Project.objects.get().path}
        page.post(f"{own}delete/", typed)
        gone = page.get(own)
        assert gone.status_code == 410
        assert f'action="{own}{back}/"' in gone.content.decode()
        page.post(f"{own}{back}/")
        assert page.get(own).status_code == 200


def test_what_is_not_in_the_trash_is_not_erased(page: Client, chat: Chat) -> None:
    project = Project.objects.get()
    assert page.post(f"/projects/{project.id}/erase/", {"typed": project.path}).status_code == 404


def test_counts_have_thin_separators() -> None:
    assert [count(number) for number in (0, 999, 1_000, 1_234_567)] == ["0", "999", "1\u202f000", "1\u202f234\u202f567"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "now"),
        (50, "1 minute ago"),
        (3_590, "59 minutes ago"),
        (2 * 3_600 + 5, "2 hours ago"),
        (13 * 86_400 + 5, "13 days ago"),
        (20 * 86_400, "2 weeks ago"),
        (100 * 86_400, "3 months ago"),
        (3 * 365 * 86_400 + 5, "3 years ago"),
        (-90 * 86_400 - 5, "in 3 months"),
        (-90 * 86_400 + 5, "in 3 months"),
        (-9 * 86_400 + 5, "in 9 days"),
    ],
)
def test_times_are_told_in_one_unit(seconds: int, words: str) -> None:
    assert ago(now() - timedelta(seconds=seconds)) == words
