"""The page of search."""

import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.chats.reading.session_filters import DEFAULT_SORT, Place
from sessions_app.chats.sessions.list_cursors import make_place
from sessions_app.models import Project
from tests.support.chat import Chat

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def test_the_search_page_shows_hits_marked_and_escaped(page: Client, api: Callable[..., Any], alice: User, bob: User) -> None:
    Chat(api(alice)).say("m1", "before <b>needle</b> after")
    Chat(api(bob)).say("m1", "his needle")
    shown = page.get("/search/?q=NEEDLE").content.decode()
    assert "before &lt;b&gt;<mark>needle</mark>&lt;/b&gt; after" in shown
    assert "his needle" not in shown
    assert "Nothing says" in page.get("/search/?q=nowhere").content.decode()
    assert "in the newest 10\u202f000 messages" in page.get("/search/?q=ab").content.decode()
    assert page.get("/search/").status_code == 200


def test_the_search_page_keeps_its_filters_while_one_types(page: Client, api: Callable[..., Any], alice: User) -> None:
    chat = Chat(api(alice), project="/home/alice/shop")
    Chat(chat.api, project="/home/alice/elsewhere/shop")
    own = Project.objects.get(path="/home/alice/shop")
    for named in (str(own.id), own.path):
        shown = page.get(f"/search/?q=hay&role=user&in=everything&project={named}&since=2026-01-02").content.decode()
        [form] = re.findall(r'<form[^>]*id="search-form".*?</form>', shown, re.DOTALL)
        assert 'hx-include="closest form"' in form
        fields = re.findall(r'<(?:select|input)[^>]*id="search-[^>]*name="(\w+)"[^>]*form="search-form"', shown)
        assert fields == ["in", "role", "project", "since", "until"]
        assert f'<option value="{named}" selected>shop (/home/alice/shop)</option>' in shown
        # What is typed replaces the results alone.
        assert shown.index('id="search-until"') < shown.index('id="found"')
    assert '<option value="gone" selected>gone</option>' in page.get("/search/?q=hay&project=gone").content.decode()


def test_the_search_page_goes_on_with_rows_alone(page: Client, api: Callable[..., Any], alice: User) -> None:
    chat = Chat(api(alice))
    chat.ops(*({"op": "upsert", "id": f"m{number}", "role": "user", "text": f"hay {number}"} for number in range(40)))
    [more] = set(re.findall(r'hx-get="(\?[^"]+)"', page.get("/search/?q=hay").content.decode()))
    rows = page.get(f"/search/{more.replace('&amp;', '&')}", headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in rows
    assert rows.count("<mark>") == 10


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/search/?q=needle&cursor=1", "Nothing older matches."),
        ("/sessions/{session}/find/?q=needle&before=1", "Nothing older matches."),
        ("/projects/{project}/?q=needle&cursor={first}", "No further session matches."),
        ("/sessions/?q=needle&cursor={first}", "No further session matches."),
    ],
)
def test_a_last_page_without_a_match_says_so(page: Client, api: Callable[..., Any], alice: User, address: str, said: str) -> None:
    chat = Chat(api(alice))
    chat.say("m1", "needle")
    first = make_place(DEFAULT_SORT, Place("2000-01-01T00:00:00Z", uuid.uuid4()))
    address = address.format(session=chat.id, project=Project.objects.get().id, first=first)
    for headers in ({}, {"HX-Request": "true"}):
        assert f'<li class="hint">{said}</li>' in page.get(address, headers=headers).content.decode()
    # Without a cursor the page says it in its own words, or has the match.
    assert said not in page.get(address.partition("&")[0]).content.decode()
