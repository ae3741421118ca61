"""The Undo of a fork."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.test import Client

from sessions_app.models import ChatSession, Event, Project, SessionFile
from tests.chats.toasts import toast
from tests.support.chat import Chat


@pytest.fixture
def source(chat: Chat) -> Chat:
    chat.say("m1", "one")
    chat.say("m2", "two")
    return chat


@pytest.fixture
def page(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def forked(page: Client, source: Chat, up_to: str = "m1") -> tuple[Chat, str]:
    """The fork, and the address of its Undo."""
    reply = page.post(f"/sessions/{source.id}/fork/", {"up_to": up_to})
    return Chat(source.api, session_id=reply["Location"].split("/")[2]), toast(page, reply)[1]


def current_of(chat: Chat) -> str:
    return str(Project.objects.get(id=chat.read()["session"]["project_id"]).current_session_id)


def test_the_fork_goes_to_the_trash_and_the_displaced_one_is_current_again(page: Client, source: Chat) -> None:
    made, undo = forked(page, source)
    assert (made.texts(), current_of(source), source.read()["session"]["state"]) == (["one"], made.id, "earlier")
    reply = page.post(undo)
    assert reply["Location"] == f"/sessions/{source.id}/"
    said, restore = toast(page, reply)
    assert said == "Undone: the new session is in the trash for 30 days."
    session = source.read()["session"]
    assert (current_of(source), session["state"], session["archived_at"], source.texts()) == (
        source.id,
        "current",
        None,
        ["one", "two"],
    )
    assert made.api.get(f"/sessions/{made.id}").status_code == 410
    page.post(restore)
    assert made.texts() == ["one"]


def test_of_a_fork_of_an_earlier_session_the_other_one_is_current_again(page: Client, source: Chat) -> None:
    there = Chat(source.api, project=source.project)
    assert current_of(source) == there.id
    made, undo = forked(page, source)
    assert current_of(source) == made.id
    page.post(undo)
    assert (current_of(source), source.read()["session"]["state"]) == (there.id, "earlier")


def say(made: Chat) -> None:
    made.say("m3", "three")


def save_state(made: Chat) -> None:
    assert made.api.put(f"/sessions/{made.id}/ai-states/claude", {"working_notes": "mind"}).status_code < 300


def rename(made: Chat) -> None:
    assert made.api.patch(f"/sessions/{made.id}", {"title": "The better way"}).status_code == 200


def clear(made: Chat) -> None:
    assert made.api.post(f"/sessions/{made.id}/clear", {"epoch": 1, "writer_id": "w", "seq": 1}).status_code == 200


def forget_events(made: Chat) -> None:
    Event.objects.all().delete()


def move_on(made: Chat) -> None:
    made.api.post("/projects", {"path": "third"})
    assert made.api.post(f"/sessions/{made.id}/move", {"to_project": "third"}).status_code == 200


def say_and_move_on(made: Chat) -> None:
    say(made)
    move_on(made)


def say_while_the_clock_is_behind(made: Chat) -> None:
    """As if the server's clock had been set back since."""
    say(made)
    said = Event.objects.filter(session_id=made.id).latest("event_seq")
    Event.objects.filter(pk=said.pk).update(at=F("at") - timedelta(hours=1))


def upload(made: Chat) -> None:
    session = ChatSession.objects.get(id=made.id)
    SessionFile.objects.create(session=session, sha256="0" * 64, name="plan.txt")


CHANGES = [say, save_state, rename, clear, forget_events, move_on, say_and_move_on, say_while_the_clock_is_behind, upload]


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_since_stays(page: Client, source: Chat, change: Callable[[Chat], None]) -> None:
    made, undo = forked(page, source)
    change(made)
    before = made.read()
    assert toast(page, page.post(undo))[0].startswith("Not undone: the new session was changed since.")
    assert made.read() == before
    assert source.read()["session"]["state"] == "earlier"


def test_who_was_chosen_since_stays_current(page: Client, source: Chat) -> None:
    made, undo = forked(page, source)
    source.api.patch(f"/sessions/{source.id}", {"archived": True})
    page.post(undo)
    assert ChatSession.objects.get(id=made.id).deleted_at is not None
    assert (current_of(source), source.read()["session"]["state"]) == ("None", "archived")


@pytest.mark.parametrize("given", ["", "?from=", "?from=nothing", "?from=//elsewhere.example/"])
def test_an_address_without_its_session_leads_home(page: Client, source: Chat, given: str) -> None:
    made, undo = forked(page, source)
    reply = page.post(undo.partition("?")[0] + given)
    assert reply["Location"] == "/"
    assert ChatSession.objects.get(id=made.id).deleted_at is not None


def test_nobody_undoes_what_is_not_theirs(page: Client, source: Chat, bob: User) -> None:
    made, undo = forked(page, source)
    page.force_login(bob)
    assert page.post(undo).status_code == 404
    assert made.texts() == ["one"]
