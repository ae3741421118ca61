"""A project's and a session's pages: what they show, what their buttons do, and that they cost the same however much there is."""

import re
import tracemalloc
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from sessions_app.chats.lifecycle.pruning import prune
from sessions_app.core.rendering.page_renderer import render
from sessions_app.models import ChatSession, Event, Project
from sessions_app.models.times import now
from tests.support.chat import Chat


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    return Chat(api(alice))


def project_page(more: str = "") -> str:
    return f"/projects/{Project.objects.get().id}/{more}"


def statements(page: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as seen:
        assert page.get(address).status_code == 200
    return len(seen)


def test_sessions_are_listed_with_their_last_words(page: Client, chat: Chat) -> None:
    chat.say("m1", "first words")
    chat.say("m2", "last <words>", role="assistant")
    chat.api.patch(f"/sessions/{chat.id}", {"title": "Cart race", "tags": ["bug", f"project:{'9f' * 20}"]})
    shown = page.get(project_page()).content.decode()
    assert re.findall(r'title="Sessions with this tag">([^<]+)<', shown) == ["bug"]
    assert f'href="/sessions/{chat.id}/" title="The current session">Cart race</a>' in page.get("/").content.decode()
    assert "last &lt;words&gt;" in shown
    assert "first words" not in shown
    assert "2 messages" in shown
    assert "current" in shown


def test_a_project_s_picture_shows_the_days_of_which_the_log_knows(page: Client, chat: Chat) -> None:
    chat.say("m1", "x")
    for back in range(12):
        Event.objects.create(
            project=Project.objects.get(), event_seq=100 + back, type="SESSION_SAVED", at=now() - timedelta(days=back)
        )
    prune()
    [told] = re.findall(r'aria-label="Changes a day in the last (\d+) days: ([^"]*)"', page.get("/").content.decode())
    assert told == ("7", "1, 1, 1, 1, 1, 1, 3")


def test_lists_and_transcripts_cost_the_same_however_long(page: Client, chat: Chat) -> None:
    chat.say("m0", "x")
    addresses = (project_page(), project_page("activity/"), f"/sessions/{chat.id}/", f"/sessions/{chat.id}/changes/?since=0")
    few = [statements(page, address) for address in addresses]
    for number in range(60):
        chat.say(f"more{number}", "x")
    for _ in range(10):
        Chat(chat.api).say("m1", "x")
    assert [statements(page, address) for address in addresses] == few


def test_a_transcript_shows_words_and_folds_the_rest(page: Client, chat: Chat) -> None:
    parts = [
        {"type": "tool-weather", "state": "output-available", "input": {"city": "Bern"}, "output": "<rain>"},
        {"type": "text", "text": "It **rains**.\n\n```python\nprint(1)\n```"},
    ]
    chat.ops({"op": "upsert", "id": "m1", "role": "assistant", "parts": parts, "status": "interrupted"})
    shown = page.get(f"/sessions/{chat.id}/").content.decode()
    assert 'role="log" aria-label="Transcript"' in shown
    assert "<strong>rains</strong>" in shown
    assert '<span class="nb">print</span>' in shown
    assert "<details" in shown
    assert "&lt;rain&gt;" in shown
    assert "interrupted" in shown


def test_older_messages_are_reached_by_plain_links(page: Client, chat: Chat) -> None:
    ops = [{"op": "upsert", "id": f"m{number}", "role": "user", "text": f"text {number}."} for number in range(90)]
    chat.ops(*ops)
    chat.api.patch(f"/sessions/{chat.id}", {"title": "Ninety"})
    address, found = f"/sessions/{chat.id}/", []
    for _ in range(3):
        shown = page.get(address).content.decode()
        found += re.findall(r"text (\d+)\.", re.sub(r"<[^>]+>", "", shown))
        more = re.findall(r'href="(\?before=[^"]+)"', shown)
        address = f"/sessions/{chat.id}/{more[0]}" if more else ""
    assert address == ""
    assert sorted(map(int, found)) == list(range(90))


def test_changes_since_a_rev_are_what_changed(page: Client, chat: Chat) -> None:
    chat.say("m1", "one")
    rev = chat.say("m2", "two")["rev"]
    chat.say("m3", "three")
    chat.ops({"op": "delete", "id": "m1"})
    reply = page.get(f"/sessions/{chat.id}/changes/?since={rev}")
    assert re.findall(r'data-id="(\w+)"', reply.content.decode()) == ["m3"]
    assert (reply["Stillhere-Removed"], reply["Stillhere-Rev"]) == ('["m1"]', str(chat.read()["session"]["rev"]))
    assert page.get(f"/sessions/{chat.id}/changes/?since=x").status_code == 422


def test_clear_offers_undo_and_undo_brings_all_back(page: Client, chat: Chat) -> None:
    chat.say("m1", "kept")
    done = page.post(f"/sessions/{chat.id}/clear/", {"epoch": "1"}, follow=True).content.decode()
    assert "Cleared: 1 message is removed." in done
    assert chat.texts() == []
    [undo] = re.findall(r'action="([^"]+undo-clear/\?[^"]+)"', done)
    assert page.post(f"/sessions/{chat.id}/clear/", {"epoch": "1"}).status_code == 409
    assert "1 message is restored." in page.post(undo.replace("&amp;", "&"), follow=True).content.decode()
    assert chat.texts() == ["kept"]


def test_rename_archive_fork_delete_and_bring_back(page: Client, chat: Chat) -> None:
    chat.say("m1", "one")
    chat.say("m2", "two")
    own = f"/sessions/{chat.id}/"
    page.post(f"{own}rename/", {"title": " A name "})
    forked = page.post(f"{own}fork/", {"up_to": "m1"})
    assert "two" not in page.get(forked["Location"]).content.decode()
    assert ChatSession.objects.get(pk=chat.id).title == "A name"
    assert ChatSession.objects.get(pk=chat.id).archived_at is not None
    page.post(f"{own}current/")
    page.post(f"{own}archive/")
    assert ChatSession.objects.get(pk=chat.id).archived_at is not None
    assert page.post(f"{own}delete/").status_code == 302
    assert page.get(own).status_code == 410
    assert "A name" in page.get(project_page("?state=deleted")).content.decode()
    page.post(f"{own}undelete/")
    assert page.get(own).status_code == 200
    page.post(f"{own}delete/")
    page.post(f"{own}purge/", {"typed": "another name"})
    assert ChatSession.objects.filter(pk=chat.id).exists()
    assert page.post(f"{own}purge/", {"typed": "A name", "back": "//evil.example/"})["Location"] == own
    assert not ChatSession.objects.filter(pk=chat.id).exists()


def test_a_title_that_changed_meanwhile_is_not_replaced(page: Client, chat: Chat) -> None:
    own = f"/sessions/{chat.id}/"
    [seen] = re.findall(r'name="seen" value="([^"]*)"', page.get(own).content.decode())
    chat.api.patch(own[:-1], {"title": "theirs"})
    told = page.post(f"{own}rename/", {"title": "mine", "seen": seen}, follow=True).content.decode()
    assert "It was renamed meanwhile: it has the title “theirs”." in told
    assert ChatSession.objects.get(pk=chat.id).title == "theirs"
    [seen] = re.findall(r'name="seen" value="([^"]*)"', told)
    page.post(f"{own}rename/", {"title": "mine", "seen": seen})
    assert ChatSession.objects.get(pk=chat.id).title == "mine"


def test_what_is_not_found_is_told_to_people(page: Client, chat: Chat, bob: User) -> None:
    page.force_login(bob)
    html = page.get(f"/sessions/{chat.id}/").content.decode()
    assert "This session does not exist, or belongs to another account." in html
    assert "resume" not in html
    assert "Nothing was found at this address." in page.get("/nowhere/").content.decode()


def test_after_an_act_one_reads_on_where_one_was(page: Client, chat: Chat) -> None:
    own = f"/sessions/{chat.id}/"
    for came, leads in (
        (f"http://testserver{own}?at=m1&q=two", f"{own}?at=m1&q=two"),
        (f"http://testserver{own}", own),
        ("http://testserver/sessions/?q=two", own),
        ("//[evil", own),
    ):
        answer = page.post(f"{own}rename/", {"title": "A name"}, headers={"Referer": came})
        assert answer["Location"] == leads


def test_an_act_that_does_not_exist_and_one_of_another_user_s_are_not_found(page: Client, chat: Chat, bob: User) -> None:
    assert page.post(f"/sessions/{chat.id}/explode/").status_code == 404
    page.force_login(bob)
    for name in ("rename", "clear", "delete", "purge", "fork"):
        assert page.post(f"/sessions/{chat.id}/{name}/", {"epoch": "1"}).status_code == 404
    assert chat.get("messages").status_code == 200


def test_a_conflict_is_settled_on_the_page(page: Client, chat: Chat) -> None:
    chat.say("m1", "hers")
    Chat(chat.api, session_id=chat.id).ops({"op": "upsert", "id": "m1", "role": "user", "text": "the other"})
    assert "the other" in page.get(f"/sessions/{chat.id}/").content.decode()
    copy = chat.conflicts()[0]["copy_id"]
    page.post(f"/sessions/{chat.id}/settle/", {"copy": copy, "keep": "ours"})
    assert chat.texts() == ["the other"]
    again = page.post(f"/sessions/{chat.id}/settle/", {"copy": copy, "keep": "theirs"}, follow=True)
    assert "This was settled already" in again.content.decode()
    assert chat.texts() == ["the other"]
    assert page.post(f"/sessions/{chat.id}/settle/", {"copy": "x", "keep": "ours"}).status_code == 404


def test_a_project_is_deleted_by_typing_its_name_and_brought_back(page: Client, chat: Chat) -> None:
    project = Project.objects.get()
    page.post(project_page("delete/"), {"typed": "something else"})
    assert page.get(project_page()).status_code == 200
    shown = page.post(project_page("delete/"), {"typed": project.path}, follow=True).content.decode()
    assert f"/projects/{project.id}/restore/" in shown
    page.post(project_page("restore/"))
    assert page.get(project_page()).status_code == 200


def test_a_name_is_typed_as_it_is_shown(page: Client, chat: Chat) -> None:
    """A field has no line ends, and a page shows several blanks as one."""
    chat.api.patch(f"/sessions/{chat.id}", {"title": "first line\nsecond  line"})
    page.post(f"/sessions/{chat.id}/delete/")
    page.post(f"/sessions/{chat.id}/purge/", {"typed": "first line second"})
    assert ChatSession.objects.exists()
    page.post(f"/sessions/{chat.id}/purge/", {"typed": "first line second line"})
    assert not ChatSession.objects.exists()
    Project.objects.update(name="my  shop")
    page.post(project_page("delete/"), {"typed": "my shop"})
    assert Project.objects.get().deleted_at is not None


def test_settings_are_saved_and_checked(page: Client, chat: Chat) -> None:
    page.post(project_page("settings/"), {"name": "Shop", "redaction": "redact"})
    project = Project.objects.get()
    assert (project.name, project.settings["redaction"]) == ("Shop", "redact")
    assert page.post(project_page("settings/"), {"name": "Shop", "redaction": "sometimes"}).status_code == 422


def test_settings_that_changed_elsewhere_are_not_replaced_unseen(page: Client, chat: Chat) -> None:
    shown = {"initial-name": "", "initial-redaction": "flag", "initial-instructions": ""}
    first = {**shown, "name": "", "redaction": "flag", "instructions": "Be brief.\r\nIn French."}
    assert page.post(project_page("settings/"), first).status_code == 302
    assert Project.objects.get().settings["instructions"] == "Be brief.\nIn French."
    # What a page that was opened before leaves as it was.
    assert page.post(project_page("settings/"), {**first, "name": "Shop", "instructions": ""}).status_code == 302
    project = Project.objects.get()
    assert (project.name, project.settings["instructions"]) == ("Shop", "Be brief.\nIn French.")
    # What it changes too.
    late = {**first, "name": "Shop", "instructions": "In Greek."}
    refused = page.post(project_page("settings/"), late)
    assert refused.status_code == 422
    told = refused.content.decode()
    assert "Somebody else changed this while you were writing" in told
    assert "In Greek." in told
    assert Project.objects.get().settings["instructions"] == "Be brief.\nIn French."
    # Once more, with what the refusal showed.
    page.post(project_page("settings/"), {**late, "initial-instructions": "Be brief.\r\nIn French."})
    assert Project.objects.get().settings["instructions"] == "In Greek."


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        '<img src=x onerror="alert(1)">',
        "![x](https://evil.example/a.png)",
        '<div hx-get="/logout/">x</div>',
        "<svg><style><img src=x onerror=alert(1)></style></svg>",
        '```"><img src=x onerror=alert(1)>\ncode\n```',
        "```html\n<script>alert(1)</script>\n```",
        "[x](data:text/html,<script>alert(1)</script>)",
    ],
)
def test_no_markup_of_a_message_s_own_gets_through(text: str) -> None:
    for shown in (render(text), render(text + " x" * 30_000)):
        tags = re.findall(r"<([a-z0-9]+)([^>]*)>", shown)
        assert {tag for tag, _ in tags} <= {"p", "a", "pre", "code", "span", "div"}
        assert not re.search(r"javascript:|data:|onerror|hx-|style", " ".join(attributes for _, attributes in tags))


def test_links_open_elsewhere_and_headings_fit_the_page() -> None:
    attributes = ('href="https://example.org"', 'target="_blank"', 'rel="noopener noreferrer"')
    assert all(attribute in render("[a](https://example.org)") for attribute in attributes)
    assert re.findall(r"<h(\d)", render("### c\n# a\n## b\n")) == ["3", "3", "4"]


def test_long_texts_that_were_shown_once_do_not_fill_the_memory() -> None:
    tracemalloc.start()
    try:
        for number in range(700):
            render(f"{number}{'x' * 60_000}")
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 20_000_000


@pytest.mark.parametrize("address", ["", "handoff/", "memory/", "errors/", "performance/", "agents/", "settings/"])
def test_every_page_of_a_project_has_all_its_tabs(page: Client, chat: Chat, address: str) -> None:
    tabs = page.get(project_page(address)).content.decode().partition('<nav class="tabs"')[2].partition("</nav>")[0]
    names = ("Sessions", "Handoff", "Memory", "Errors", "Performance", "Agents", "Activity", "Overview", "Settings")
    assert [name for name in names if f">{name}</a>" not in tabs] == []
