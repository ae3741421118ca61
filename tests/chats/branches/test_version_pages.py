"""A session's page at a message that is off its path: that version is shown, and the session's path stays as it is."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.support.chat import Chat
from tests.support.saves import delete, upsert

NO_MESSAGES, GONE = "No messages yet", "not here any more"


@pytest.fixture
def page(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def edited(chat: Chat) -> Chat:
    """q1 was edited to q2, and both have an answer."""
    chat.ops(upsert("q1", "about horses"), upsert("a1", "zebra answer", role="assistant"))
    chat.ops(upsert("q2", "about cars", parent_id=None), upsert("a2", "lorry answer", role="assistant"))
    return chat


def read(page: Client, address: str) -> str:
    return page.get(address).content.decode()


def ids(html: str) -> list[str]:
    return re.findall(r'<article class="message"[^>]*data-id="([^"]+)"', html)


def test_a_hit_in_another_version_opens_that_version(page: Client, edited: Chat) -> None:
    [hit] = edited.api.get("/search?q=zebra+answer").json()["items"]
    before = edited.read()["session"]
    html = read(page, hit["link"])
    assert (ids(html), NO_MESSAGES in html, GONE in html) == (["q1", "a1"], False, False)
    assert 'data-follow=""' in html
    assert "Another version of" in html
    assert read(page, f"/sessions/{edited.id}/source/?id=a1") == "zebra answer"
    assert edited.read()["session"] == before
    assert "Another version of" not in read(page, f"/sessions/{edited.id}/?at=a2")


def test_a_version_that_is_shown_can_become_the_current_one(page: Client, edited: Chat) -> None:
    html = read(page, f"/sessions/{edited.id}/?at=a1")
    [chosen, *_] = re.findall(r'form="branch" name="head" value="(\w+)">Switch', html)
    came = {"Referer": f"http://testserver/sessions/{edited.id}/?at=q2"}
    reply = page.post(f"/sessions/{edited.id}/head/", {"head": chosen}, headers=came)
    # Not to where the button was: that is another version now.
    assert (reply.status_code, reply["Location"]) == (302, f"/sessions/{edited.id}/?at=a1")
    html = read(page, reply["Location"])
    assert (ids(html), "Switch to this version" in html) == (["q1", "a1"], False)
    assert ids(read(page, f"/sessions/{edited.id}/?at=a2")) == ["q2", "a2"]


def test_older_messages_of_a_version_are_its_own(page: Client, edited: Chat) -> None:
    edited.ops(*(upsert(f"b{number}", "beside", parent_id=f"b{number - 1}" if number else "a1") for number in range(60)))
    edited.api.patch(f"/sessions/{edited.id}", {"head": "a2"})
    html = read(page, f"/sessions/{edited.id}/?at=b59")
    assert ids(html) == [f"b{number}" for number in range(20, 60)]
    [older] = re.findall(r'href="(\?before=\w+)" data-older', html)
    rest = ["q1", "a1", *(f"b{number}" for number in range(20))]
    for headers in ({"HX-Request": "true"}, {}):
        html = page.get(f"/sessions/{edited.id}/{older}", headers=headers).content.decode()
        assert (ids(html), "data-newer" in html) == (rest, False)


def test_a_version_goes_on_above_in_what_both_have(page: Client, chat: Chat) -> None:
    chat.ops(upsert("m1", "first"), upsert("m2", "second"), upsert("m3", "third"), upsert("e2", "edited", parent_id="m1"))
    html = read(page, f"/sessions/{chat.id}/?at=m3")
    assert ids(html) == ["m1", "m2", "m3"]
    assert ids(read(page, f"/sessions/{chat.id}/")) == ["m1", "e2"]


def test_a_version_of_large_messages_is_shown_in_parts(page: Client, edited: Chat, settings: Any) -> None:
    settings.WINDOW_BYTES = 10
    html = read(page, f"/sessions/{edited.id}/?at=a1")
    assert ids(html) == ["a1"]
    assert ids(read(page, f"/sessions/{edited.id}/?before=a1")) == ["q1"]


def test_a_removed_message_of_another_version_is_not_there_any_more(page: Client, edited: Chat) -> None:
    edited.ops(delete("a1"))
    html = read(page, f"/sessions/{edited.id}/?at=a1")
    assert (ids(html), GONE in html, NO_MESSAGES in html) == (["q2", "a2"], True, False)


def test_a_page_without_messages_leads_to_those_of_the_session(page: Client, edited: Chat) -> None:
    html = read(page, f"/sessions/{edited.id}/?before=q2")
    assert ("No messages here" in html, ">Newest messages<" in html) == (True, True)
    edited.ops(delete("a2"), delete("q2"))
    html = read(page, f"/sessions/{edited.id}/")
    assert (ids(html), NO_MESSAGES in html) == ([], False), html
    [newest] = re.findall(r'href="(\?at=\w+)">Show the newest', html)
    assert "zebra answer" in read(page, f"/sessions/{edited.id}/{newest}")
