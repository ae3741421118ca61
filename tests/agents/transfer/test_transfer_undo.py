"""The Undo of a transfer that copied into a new session."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import httpx
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.test import Client

from sessions_app.models import ChatSession, Event, Project, SessionFile
from tests.chats.toasts import toast
from tests.support.chat import Chat
from tests.support.live_server import LiveServer
from tests.support.saves import upsert
from tests.support.transfers import PLAN, carried, everything, save_ai

PARTS = {"ai": "claude", "agent_state": "on", "messages": "on", "opening_step": "on", "on_conflict": "merge"}


class Page:
    """Alice's browser at her session's page."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def transfer(self, source: Chat, to: str, **fields: str) -> tuple[Chat, str]:
        """The session that has it now, and the address of its Undo."""
        shown = self.client.get(f"/sessions/{source.id}/transfer/").content.decode()
        hidden = dict(re.findall(r'name="(epoch|token)" value="([^"]*)"', shown))
        form = {**hidden, **PARTS, "mode": "copy", "act": "transfer", "to": to, **fields}
        reply = self.client.post(f"/sessions/{source.id}/transfer/", form)
        assert reply.status_code == 302, reply.content
        return Chat(source.api, session_id=reply["Location"].split("/")[2]), toast(self.client, reply)[1]


@pytest.fixture
def page(client: Client, alice: User) -> Page:
    client.force_login(alice)
    return Page(client)


@pytest.fixture
def source(chat: Chat) -> Chat:
    chat.say("m1", "one", opening_step="work")
    save_ai(chat, working_notes="mind")
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"plan": PLAN})
    return chat


@pytest.fixture
def there(source: Chat) -> Chat:
    """The current session of the other project."""
    return Chat(source.api, project="/home/alice/other")


def project_of(chat: Chat) -> str:
    return f"project {chat.read()['session']['project_id']}"


def current_of(chat: Chat) -> str:
    return str(Project.objects.get(id=chat.read()["session"]["project_id"]).current_session_id)


def test_the_copy_goes_to_the_trash_and_the_displaced_one_is_current_again(page: Page, source: Chat, there: Chat) -> None:
    before = everything(source)[:-1]
    made, undo = page.transfer(source, project_of(there))
    assert (current_of(there), made.texts(), there.read()["session"]["state"]) == (made.id, ["one"], "earlier")
    reply = page.client.post(undo)
    assert reply["Location"] == f"/sessions/{source.id}/"
    said, restore = toast(page.client, reply)
    assert said == "Undone: the new session is in the trash for 30 days."
    session = there.read()["session"]
    assert (current_of(there), session["state"], session["archived_at"]) == (there.id, "current", None)
    assert everything(source)[:-1] == before
    assert made.api.get(f"/sessions/{made.id}").status_code == 410
    page.client.post(restore)
    assert made.texts() == ["one"]


def test_in_its_own_project_the_source_is_current_again(page: Page, source: Chat) -> None:
    made, undo = page.transfer(source, project_of(source))
    assert current_of(source) == made.id
    page.client.post(undo)
    assert (current_of(source), source.texts()) == (source.id, ["one"])


def test_clients_are_told(page: Page, source: Chat, there: Chat) -> None:
    made, undo = page.transfer(source, project_of(there))
    seen = Event.objects.filter(project__path="/home/alice/other").count()
    page.client.post(undo)
    told = list(Event.objects.filter(project__path="/home/alice/other").order_by("event_seq"))[seen:]
    assert [(event.type, str(event.session_id)) for event in told] == [
        ("SESSION_DELETED", made.id),
        ("SESSION_UPDATED", there.id),
    ]


def say(made: Chat) -> None:
    made.say("m2", "two")


def save_state(made: Chat) -> None:
    save_ai(made, "gemini", working_notes="hers")


def take_more(made: Chat) -> None:
    carried(Chat(made.api, project="/home/alice/shop"), made, include=["messages", "ai_states"])
    source = Chat(made.api, project="/home/alice/shop")
    save_ai(source, "codex", working_notes="more")
    carried(source, made)


def move_on(made: Chat) -> None:
    made.api.post("/projects", {"path": "third"})
    assert made.api.post(f"/sessions/{made.id}/move", {"to_project": "third"}).status_code == 200


def forget_events(made: Chat) -> None:
    Event.objects.all().delete()


def say_while_the_clock_is_behind(made: Chat) -> None:
    """As if the server's clock had been set back since."""
    say(made)
    newest = Event.objects.filter(session_id=made.id).latest("event_seq")
    Event.objects.filter(pk=newest.pk).update(at=F("at") - timedelta(hours=1))


def upload(made: Chat) -> None:
    SessionFile.objects.create(session=ChatSession.objects.get(id=made.id), sha256="0" * 64, name="plan.txt")


CHANGES = [say, save_state, take_more, move_on, forget_events, say_while_the_clock_is_behind, upload]


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_since_stays(page: Page, source: Chat, there: Chat, change: Callable[[Chat], None]) -> None:
    made, undo = page.transfer(source, project_of(there))
    change(made)
    before = made.read()
    assert toast(page.client, page.client.post(undo))[0].startswith("Not undone: the new session was changed since.")
    assert made.read() == before
    assert there.read()["session"]["state"] == "earlier"


def test_who_was_chosen_since_stays_current(page: Page, source: Chat, there: Chat) -> None:
    made, undo = page.transfer(source, project_of(there))
    there.api.patch(f"/sessions/{there.id}", {"archived": True})
    page.client.post(undo)
    assert ChatSession.objects.get(id=made.id).deleted_at is not None
    assert (current_of(there), there.read()["session"]["state"]) == ("None", "archived")


@pytest.mark.parametrize("fields", [{"mode": "move"}, {"to": "session"}])
def test_what_cannot_be_undone_as_a_whole_offers_none(page: Page, source: Chat, there: Chat, fields: dict[str, str]) -> None:
    to = f"session {there.id}" if fields.pop("to", "") else project_of(there)
    made, undo = page.transfer(source, to, **fields)
    assert undo == ""
    before = made.read()
    assert page.client.post(f"/sessions/{made.id}/undo-transfer/").status_code == 302
    assert made.read() == before


@pytest.mark.parametrize(
    ("fields", "warned"),
    [({}, False), ({"mode": "move"}, True), ({"to": "session"}, True), ({"to": "session", "mode": "move"}, True)],
)
def test_that_there_is_no_undo_is_said_before(
    page: Page, source: Chat, there: Chat, fields: dict[str, str], warned: bool
) -> None:
    to = f"session {there.id}" if "to" in fields else project_of(there)
    shown = page.client.get(f"/sessions/{source.id}/transfer/").content.decode()
    assert "no Undo" not in shown
    hidden = dict(re.findall(r'name="(epoch|token)" value="([^"]*)"', shown))
    form = {**hidden, **PARTS, "mode": "copy", **fields, "act": "preview", "to": to}
    assert ("This has no Undo" in page.client.post(f"/sessions/{source.id}/transfer/", form).content.decode()) == warned


def test_it_is_for_transfers_of_ones_own_and_once(page: Page, source: Chat, there: Chat, bob: User) -> None:
    made, undo = page.transfer(source, project_of(there))
    stranger = Client()
    stranger.force_login(bob)
    assert stranger.post(undo).status_code == 404
    assert page.client.get(undo).status_code == 405
    assert "Not undone" in toast(page.client, page.client.post(f"/sessions/{source.id}/undo-transfer/"))[0]
    assert (made.texts(), source.texts()) == (["one"], ["one"])
    assert [page.client.post(undo).status_code for _ in range(2)] == [302, 410]


@pytest.mark.django_db(transaction=True)
def test_a_save_that_meets_the_undo_is_kept_or_refused(page: Page, source: Chat, there: Chat, server: LiveServer) -> None:
    key = {"Authorization": f"Bearer {source.api.secret}"}
    body = {"epoch": 1, "writer_id": "w", "seq": 1, "base_rev": 10**9, "ops": [upsert("m2", "two")]}

    def save(session: str) -> int:
        return httpx.post(f"{server.url}/api/v1/sessions/{session}/changes", json=body, headers=key, timeout=60).status_code

    def undo(address: str) -> None:
        try:
            page.client.post(address)
        finally:
            connection.close()

    for _ in range(6):
        made, address = page.transfer(source, project_of(there))
        with ThreadPoolExecutor(2) as pool:
            saved, undone = pool.submit(save, made.id), pool.submit(undo, address)
        assert undone.exception() is None
        deleted = ChatSession.objects.get(id=made.id).deleted_at is not None
        assert (saved.result(), current_of(there)) == ((410, there.id) if deleted else (200, made.id))
        there.api.patch(f"/sessions/{there.id}", {"current": True})
