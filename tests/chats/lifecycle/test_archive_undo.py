"""The Undo of archiving or pinning a session on its page."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.models import Project
from tests.chats.toasts import toast
from tests.support.chat import Chat


@pytest.fixture
def page(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def state(chat: Chat) -> tuple[str, Any]:
    session = chat.read()["session"]
    return session["state"], session["archived_at"]


def test_the_current_one_is_current_again(page: Client, chat: Chat) -> None:
    before = state(chat)
    _, undo = toast(page, page.post(f"/sessions/{chat.id}/archive/"))
    assert (state(chat)[0], Project.objects.get().current_session_id) == ("archived", None)
    assert toast(page, page.post(undo))[0] == "Removed from the archive."
    assert state(chat) == before == ("current", None)


def test_who_became_the_current_one_since_stays_it(page: Client, chat: Chat) -> None:
    """An agent that began meanwhile goes on where it is resumed."""
    _, undo = toast(page, page.post(f"/sessions/{chat.id}/archive/"))
    newer = Chat(chat.api, project=chat.project)
    said, _ = toast(page, page.post(undo))
    assert said == "Removed from the archive. The project has another current session by now."
    assert (state(newer)[0], state(chat)[0]) == ("current", "earlier")


def test_an_earlier_one_stays_an_earlier_one(page: Client, chat: Chat) -> None:
    newer = Chat(chat.api, project=chat.project)
    _, undo = toast(page, page.post(f"/sessions/{chat.id}/archive/"))
    newer.api.delete(f"/sessions/{newer.id}")
    assert toast(page, page.post(undo))[0] == "Removed from the archive."
    assert (state(chat)[0], Project.objects.get().current_session_id) == ("earlier", None)


def test_nobody_undoes_what_is_not_theirs(page: Client, chat: Chat, bob: User) -> None:
    _, undo = toast(page, page.post(f"/sessions/{chat.id}/archive/"))
    page.force_login(bob)
    assert page.post(undo).status_code == 404
    assert state(chat)[0] == "archived"


@pytest.mark.parametrize(("act", "name"), [("archive", "archived_at"), ("pin", "pinned")])
def test_what_was_so_before_is_not_undone(page: Client, chat: Chat, act: str, name: str) -> None:
    """The click came from a page that was loaded before somebody else did it."""
    assert toast(page, page.post(f"/sessions/{chat.id}/{act}/"))[1]
    assert toast(page, page.post(f"/sessions/{chat.id}/{act}/"))[1] == ""
    assert chat.read()["session"][name]
