"""A session is current, earlier, archived by request, or in the trash: on the pages and in the API."""

import re
import uuid
from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.models import ChatSession, Project
from tests.support.chat import Chat


@pytest.fixture
def chats(api: Callable[..., Any], alice: User) -> dict[str, Chat]:
    """One of each, made one after the other: the last is current, and only one was archived by request."""
    client = api(alice)
    made = {name: Chat(client) for name in ("put away", "former", "latest")}
    for name, chat in made.items():
        client.patch(f"/sessions/{chat.id}", {"title": name})
    client.patch(f"/sessions/{made['put away'].id}", {"archived": True})
    return made


@pytest.fixture
def listed(client: Client, alice: User) -> Callable[[str], dict[str, str]]:
    """Title → what the list says of its state."""
    client.force_login(alice)

    def read(query: str) -> dict[str, str]:
        html = client.get(f"/projects/{Project.objects.get().id}/{query}").content.decode()
        return dict(re.findall(r'<a class="title"[^>]*>([^<]*)</a>\s*<span class="chip \w*">(\w+)<', html))

    return read


def test_only_what_was_archived_by_request_is_called_archived(listed: Callable[[str], Any], chats: dict[str, Chat]) -> None:
    assert listed("") == {"put away": "archived", "former": "earlier", "latest": "current"}
    assert listed("?state=earlier") == {"former": "earlier"}
    assert listed("?state=archived") == {"put away": "archived"}


def test_the_session_s_own_page_says_the_same(client: Client, alice: User, chats: dict[str, Chat]) -> None:
    client.force_login(alice)
    for name, state, offered in (("put away", "archived", "Unarchive"), ("former", "earlier", "Archive")):
        html = client.get(f"/sessions/{chats[name].id}/").content.decode()
        assert re.search(rf'<dt>State</dt><dd><span class="chip ">{state}<', html)
        assert f'type="submit">{offered}</button>' in html


def test_the_api_tells_the_state_and_filters_as_before(chats: dict[str, Chat]) -> None:
    client = chats["latest"].api
    project = chats["latest"].read()["session"]["project_id"]

    def titles(query: str) -> dict[str, str]:
        items = client.get(f"/projects/{project}/sessions{query}").json()["items"]
        return {item["title"]: item["state"] for item in items}

    assert titles("") == {"put away": "archived", "former": "earlier", "latest": "current"}
    assert titles("?archived=true").keys() == {"put away", "former"}
    assert titles("?archived=false").keys() == {"latest"}
    assert chats["former"].read()["session"]["archived_at"] is not None
    client.delete(f"/sessions/{chats['former'].id}")
    assert titles("?deleted=true") == {"former": "trash"}


def test_what_becomes_current_or_is_unarchived_is_archived_no_longer(chats: dict[str, Chat]) -> None:
    client, own = chats["put away"].api, chats["put away"]
    client.patch(f"/sessions/{own.id}", {"archived": False})
    assert own.read()["session"] | {"state": "earlier", "archived_at": None} == own.read()["session"]
    client.patch(f"/sessions/{own.id}", {"archived": True})
    client.patch(f"/sessions/{own.id}", {"current": True})
    assert own.read()["session"]["state"] == "current"
    client.patch(f"/sessions/{chats['former'].id}", {"current": True})
    assert own.read()["session"]["state"] == "earlier"


def test_what_becomes_current_keeps_the_time_of_its_last_change(chats: dict[str, Chat]) -> None:
    """Both the one that is opened and the one that was current before stay where they are in a list by change."""
    client, former = chats["former"].api, chats["former"]

    def revs() -> dict[str, int]:
        return {name: chat.read()["session"]["rev"] for name, chat in chats.items()}

    before = {row.id: row.updated_at for row in ChatSession.objects.all()}
    known = revs()
    client.patch(f"/sessions/{former.id}", {"current": True})
    assert {row.id: row.updated_at for row in ChatSession.objects.all()} == before
    assert {name for name, rev in revs().items() if rev > known[name]} == {"former", "latest"}
    client.patch(f"/sessions/{former.id}", {"current": True, "title": "renamed"})
    assert ChatSession.objects.get(id=former.id).updated_at > before[uuid.UUID(former.id)]


def test_a_rename_over_a_title_that_changed_meanwhile_is_refused(chats: dict[str, Chat]) -> None:
    client, path = chats["latest"].api, f"/sessions/{chats['latest'].id}"
    refused = client.patch(path, {"title": "mine", "if_title": "of before"})
    assert refused.status_code == 412
    error = refused.json()["error"]
    assert (error["code"], error["details"]) == ("title_changed", {"title": "latest"})
    assert client.get(path).json()["session"]["title"] == "latest"
    assert client.patch(path, {"title": "mine", "if_title": "latest"}).status_code == 200
    # A repeated request, and one that gives the same title.
    assert client.patch(path, {"title": "mine", "if_title": "latest"}).status_code == 200
    assert client.patch(path, {"pinned": True, "if_title": "latest"}).status_code == 412


def test_without_scripts_an_unsaved_title_is_still_in_its_field(client: Client, alice: User, chats: dict[str, Chat]) -> None:
    client.force_login(alice)
    address, back = f"/sessions/{chats['latest'].id}/rename/", "/sessions/?q=late"
    refused = client.post(address, {"title": 'my "own"', "seen": "of before", "back": back})
    html = refused.content.decode()
    assert (refused.status_code, "It was renamed meanwhile: it has the title “latest”." in html) == (412, True)
    assert 'name="title" value="my &quot;own&quot;"' in html
    form = dict(re.findall(r'name="(seen|back)" value="([^"]+)"', html))
    assert form == {"seen": "latest", "back": back}
    saved = client.post(address, {"title": 'my "own"', **form})
    assert (saved.status_code, saved.headers["Location"]) == (302, back)


def test_titles_and_tags_with_line_breaks_are_changed_as_a_form_sends_them(
    client: Client, alice: User, chats: dict[str, Chat]
) -> None:
    chat = chats["latest"]
    client.force_login(alice)
    for ends in ("\n", "\r", "\r\n"):
        chat.api.patch(f"/sessions/{chat.id}", {"title": f"two{ends}lines", "tags": [f"two{ends}lines", "other"]})
        renamed = client.post(f"/sessions/{chat.id}/rename/", {"title": "one line", "seen": "two\r\nlines"})
        client.post(f"/sessions/{chat.id}/untag/", {"tag": "two\r\nlines"})
        session = chat.api.get(f"/sessions/{chat.id}").json()["session"]
        assert (renamed.status_code, session["title"], session["tags"]) == (302, "one line", ["other"])


def test_an_undo_comes_back_to_the_list(client: Client, alice: User, chats: dict[str, Chat]) -> None:
    client.force_login(alice)
    back = "/sessions/?q=late&state=current"
    for name in ("pin", "archive"):
        done = client.post(f"/sessions/{chats['latest'].id}/{name}/", {"back": back}, follow=True).content.decode()
        *_, undo = re.findall(r'class="toast"><span>[^<]+</span><form method="post" action="([^"]+)"', done)
        assert client.post(unescape(undo)).headers["Location"] == back


def undo_of(html: str) -> str:
    [undo] = re.findall(r'<form method="post" action="([^"]+)">.*?Undo</button>', html)
    return unescape(undo)


def test_one_that_was_made_the_current_session_by_mistake_is_taken_back(
    client: Client, alice: User, chats: dict[str, Chat], listed: Callable[[str], Any]
) -> None:
    client.force_login(alice)
    back = f"/projects/{Project.objects.get().id}/"
    done = client.post(f"/sessions/{chats['former'].id}/current/", {"back": back}, follow=True).content.decode()
    assert listed("")["former"] == "current"
    undone = client.post(undo_of(done), follow=True)
    assert undone.redirect_chain == [(back, 302)]
    assert listed("") == {"put away": "archived", "former": "earlier", "latest": "current"}
    third = Chat(chats["latest"].api)
    refused = client.post(undo_of(done), follow=True).content.decode()
    assert "Not undone: that session is not the current one any more." in refused
    assert third.read()["session"]["current"]


def test_one_that_was_archived_is_not_archived_again_so_there_is_no_undo(
    client: Client, alice: User, chats: dict[str, Chat]
) -> None:
    client.force_login(alice)
    done = client.post(f"/sessions/{chats['put away'].id}/current/", follow=True).content.decode()
    assert "This is the current session now." in done
    assert ">Undo</button>" not in done


def test_any_session_is_opened_in_the_chat_from_its_page_and_from_lists(
    client: Client, alice: User, chats: dict[str, Chat], listed: Callable[[str], Any]
) -> None:
    client.force_login(alice)
    own, project = f"/sessions/{chats['former'].id}/", Project.objects.get()
    for page in (own, f"/projects/{project.id}/"):
        assert f'action="{own}chat/"' in client.get(page).content.decode()
    # New ones are empty: nothing else leads on from there.
    empty = client.get(own).content.decode().partition("No messages yet")[2].partition("<aside")[0]
    assert f'action="{own}chat/"' in empty
    chat = f"/chat/?project={quote(project.path, safe='')}"
    for page in (f"/sessions/{chats['latest'].id}/", f"/projects/{project.id}/"):
        assert client.get(page).content.decode().count(f'href="{chat}">Open in chat</a>') == (1 if "projects" in page else 2)
    opened = client.post(f"{own}chat/", follow=True)
    [(chat, _)] = opened.redirect_chain
    assert chat == f"/chat/?{urlencode({'project': project.path})}"
    assert listed("")["former"] == "current"
    undone = client.post(undo_of(opened.content.decode()), follow=True)
    assert undone.redirect_chain == [(chat, 302)]
    assert listed("")["latest"] == "current"
