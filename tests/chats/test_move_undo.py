"""The Undo of a move, of one session and of many: it brings back what was, loses no word, and says why it cannot."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.models import Event, Project
from tests.chats.toasts import toast
from tests.support.chat import Chat


class Mover:
    """Alice's browser. `way`: the form of one session, or the bar above a list."""

    def __init__(self, client: Client, way: str) -> None:
        self.client, self.way = client, way

    def move(self, chat: Chat, path: str) -> str:
        """Returns the address of the Undo."""
        project = str(Project.objects.get(path=path).id)
        if self.way == "one":
            reply = self.client.post(f"/sessions/{chat.id}/move/", {"project": project})
        else:
            reply = self.client.post("/sessions/bulk/", {"act": "move", "session": [chat.id], "project": project})
        return toast(self.client, reply)[1]

    def undo(self, address: str) -> str:
        """Returns what the page says then."""
        return toast(self.client, self.client.post(address))[0]


@pytest.fixture(params=["one", "many"])
def mover(client: Client, alice: User, request: Any) -> Mover:
    client.force_login(alice)
    return Mover(client, request.param)


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    chat = Chat(api(alice), project="old")
    chat.say("m1", "one")
    for path in ("new", "third"):
        chat.api.post("/projects", {"path": path})
    return chat


def project_of(path: str) -> Project:
    return Project.objects.get(path=path)


def place(chat: Chat) -> list[Any]:
    """Where it is, what it is there, and who is current in both projects."""
    session = chat.read()["session"]
    current = [project_of(path).current_session_id for path in ("old", "new")]
    return [*(session[name] for name in ("project", "state", "archived_at", "title")), *current]


def test_the_current_one_is_current_again_and_what_was_said_meanwhile_comes_along(mover: Mover, chat: Chat) -> None:
    before = place(chat)
    undo = mover.move(chat, "new")
    chat.say("m2", "two")
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"plan": {"title": "Ship", "steps": []}})
    assert place(chat)[0] == "new"
    mover.undo(undo)
    assert (place(chat), chat.texts()) == (before, ["one", "two"])
    assert chat.get("agent-state").json()["plan"]["title"] == "Ship"
    chat.say("m3", "three")
    assert chat.texts() == ["one", "two", "three"]


def test_an_earlier_one_is_earlier_again_though_it_became_current_there(mover: Mover, chat: Chat) -> None:
    follower = Chat(chat.api, project="old")
    chat.api.patch(f"/sessions/{follower.id}", {"archived": True})
    before = place(chat)
    assert (before[1], before[2] is None, before[4]) == ("earlier", False, None)
    undo = mover.move(chat, "new")
    assert (place(chat)[1], chat.read()["session"]["archived_at"]) == ("current", None)
    mover.undo(undo)
    assert place(chat) == before


def test_the_one_that_was_current_there_stays_it(mover: Mover, chat: Chat) -> None:
    there = Chat(chat.api, project="new")
    before = place(chat)
    mover.undo(mover.move(chat, "new"))
    assert place(chat) == before
    assert there.read()["session"]["state"] == "current"


def test_both_projects_are_told_as_by_a_move(mover: Mover, chat: Chat) -> None:
    undo = mover.move(chat, "new")
    seen = {path: project_of(path).event_seq for path in ("old", "new")}
    mover.undo(undo)

    def told(path: str) -> list[tuple[str, bool, str]]:
        rows = Event.objects.filter(project=project_of(path), event_seq__gt=seen[path])
        return [(row.type, '"moved"' in row.frame, str(row.session_id)) for row in rows]

    assert told("new") == [("SESSION_UPDATED", True, chat.id)]
    assert told("old") == [("SESSION_CREATED", False, chat.id)]


def test_who_became_current_meanwhile_stays_it_and_that_is_said(mover: Mover, chat: Chat) -> None:
    undo = mover.move(chat, "new")
    newer = Chat(chat.api, project="old")
    said = mover.undo(undo)
    assert place(chat)[:2] == ["old", "earlier"]
    assert project_of("old").current_session_id == uuid.UUID(newer.id)
    assert "another" in said


def test_a_session_that_was_moved_again_stays_there(mover: Mover, chat: Chat) -> None:
    undo = mover.move(chat, "new")
    assert chat.api.post(f"/sessions/{chat.id}/move", {"to_project": "third"}).status_code == 200
    said = mover.undo(undo)
    assert (place(chat)[:2], project_of("third").current_session_id) == (["third", "current"], uuid.UUID(chat.id))
    words = {"one": "moved again since", "many": "Left as it is, because of what was done since: 1 session."}
    assert words[mover.way] in said


def test_a_session_that_was_moved_back_and_there_again_stays_there(mover: Mover, chat: Chat) -> None:
    undo = mover.move(chat, "new")
    for path in ("old", "new"):
        assert chat.api.post(f"/sessions/{chat.id}/move", {"to_project": path}).status_code == 200
    said = mover.undo(undo)
    assert place(chat)[:2] == ["new", "current"]
    words = {"one": "moved again since", "many": "Left as it is, because of what was done since: 1 session."}
    assert words[mover.way] in said


def test_of_many_those_that_stayed_go_back_each_to_its_own_project(client: Client, alice: User, chat: Chat) -> None:
    client.force_login(alice)
    mover, other, third = Mover(client, "many"), Chat(chat.api, project="old"), Chat(chat.api, project="third")
    before = [place(one) for one in (chat, third)]
    body = {"act": "move", "session": [chat.id, other.id, third.id], "project": str(project_of("new").id)}
    undo = toast(mover.client, client.post("/sessions/bulk/", body))[1]
    chat.api.post("/projects", {"path": "fourth"})
    assert chat.api.post(f"/sessions/{other.id}/move", {"to_project": "fourth"}).status_code == 200
    said = mover.undo(undo)
    assert said.startswith("Undone for 2 sessions.")
    assert "Left as it is, because of what was done since: 1 session." in said
    assert [place(one)[:4] for one in (chat, third)] == [one[:4] for one in before]
    assert [project_of(path).current_session_id for path in ("old", "new")] == [None, None]


def test_twice_is_once(mover: Mover, chat: Chat) -> None:
    undo, before = mover.move(chat, "new"), chat.read()["session"]["rev"]
    mover.undo(undo)
    assert "already" in mover.undo(undo)
    assert chat.read()["session"]["rev"] == before + 1


def test_an_old_project_in_the_trash_is_said_and_undone_once_it_is_restored(mover: Mover, chat: Chat) -> None:
    old, before = project_of("old").id, place(chat)
    undo = mover.move(chat, "new")
    chat.api.delete(f"/projects/{old}")
    assert mover.undo(undo) == "Nothing was moved back: the old project is in the trash. Restore the project first."
    assert chat.read()["session"]["project"] == "new"
    chat.api.post(f"/projects/{old}/undelete")
    mover.undo(undo)
    assert place(chat) == before


def test_an_erased_project_is_said(mover: Mover, chat: Chat) -> None:
    old = project_of("old").id
    undo = mover.move(chat, "new")
    assert chat.api.delete(f"/projects/{old}?purge=true").status_code == 204
    assert not Project.objects.filter(id=old).exists()
    assert mover.undo(undo) == "Nothing was moved back: the old project is deleted."
    assert (chat.read()["session"]["project"], chat.texts()) == ("new", ["one"])


def test_an_external_id_that_is_taken_by_now_is_said(mover: Mover, chat: Chat) -> None:
    address = f"/projects/{project_of('old').id}/sessions"
    mine = Chat(chat.api, session_id=chat.api.post(address, {"external_id": "thread-1"}).json()["id"])
    undo = mover.move(mine, "new")
    assert chat.api.post(address, {"external_id": "thread-1"}).status_code == 201
    assert "another session of the old project has the same external_id now" in mover.undo(undo)
    assert mine.read()["session"]["project"] == "new"


def test_a_move_that_is_refused_says_why_where_it_was_asked_for(mover: Mover, chat: Chat) -> None:
    made = [f"/projects/{project_of(path).id}/sessions" for path in ("old", "new")]
    mine, _ = (chat.api.post(address, {"external_id": "thread-1"}).json()["id"] for address in made)
    said = "Nothing was moved: new has another session with the external_id thread-1."
    form = {"project": str(project_of("new").id)}
    if mover.way == "one":
        reply = mover.client.post(f"/sessions/{mine}/move/", form)
        html = reply.content.decode()
        assert (reply.status_code, said in html, f'value="{form["project"]}" selected' in html) == (409, True, True)
    else:
        reply = mover.client.post("/sessions/bulk/", {**form, "act": "move", "session": [mine, chat.id], "back": "/sessions/"})
        assert (reply["Location"], toast(mover.client, reply)) == ("/sessions/", (said, ""))
    assert chat.read()["session"]["project"] == "old"


def test_a_session_in_the_trash_stays_there(mover: Mover, chat: Chat) -> None:
    undo = mover.move(chat, "new")
    chat.api.delete(f"/sessions/{chat.id}")
    if mover.way == "many":
        assert "1 session could not be found any more." in mover.undo(undo)
    else:
        reply = mover.client.post(undo)
        assert (reply.status_code, "This session is in the trash." in reply.content.decode()) == (410, True)
    assert chat.api.post(f"/sessions/{chat.id}/undelete").json()["project"] == "new"


def stricter(chat: Chat) -> None:
    chat.api.patch(f"/projects/{project_of('old').id}", {"settings": {"redaction": "redact"}})


def test_out_of_a_project_that_removes_secrets_and_back(mover: Mover, chat: Chat) -> None:
    stricter(chat)
    there = Chat(chat.api, project="new")
    before = place(chat)
    undo = mover.move(chat, "new")
    there.say("m1", "of another session")
    mover.undo(undo)
    assert place(chat) == before


@pytest.mark.parametrize("how", ["message", "copy", "pruned"])
def test_what_was_saved_where_secrets_stay_does_not_come_along(mover: Mover, chat: Chat, how: str) -> None:
    stricter(chat)
    undo = mover.move(chat, "new")
    if how == "message":
        chat.say("m2", "two")
    elif how == "copy":
        late = {"op": "upsert", "id": "m1", "role": "user", "text": "written elsewhere"}
        assert chat.post("changes", ops=[late], writer_id=str(uuid.uuid4()), base_rev=0).json()["conflicts"]
    else:
        Event.objects.filter(project=project_of("new")).delete()
    said = mover.undo(undo)
    assert "the session was changed since where they stay" in said
    assert place(chat)[0] == "new"


def test_nobody_undoes_a_move_of_others(mover: Mover, chat: Chat, bob: User) -> None:
    undo = mover.move(chat, "new")
    stranger = Client()
    stranger.force_login(bob)
    assert stranger.post(undo).status_code == {"one": 404, "many": 302}[mover.way]
    assert place(chat)[0] == "new"


def test_nothing_moves_into_a_project_of_others(client: Client, chat: Chat, api: Callable[..., Any], bob: User) -> None:
    client.force_login(bob)
    foreign = Chat(api(bob), project="foreign")
    undo = Mover(client, "one").move(own := Chat(foreign.api, project="mine"), "foreign")
    stolen = undo.replace(str(project_of("mine").id), str(project_of("old").id))
    assert Mover(client, "one").undo(stolen) == "Nothing was moved back: the old project is deleted."
    assert own.read()["session"]["project"] == "foreign"


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        *(("event", value, 422) for value in ("", "-1", "9" * 19, "x")),
        *(("archived", value, 422) for value in ("soon", "0001-01-01T00:00:00+14:00", "")),
        *((name, value, 404) for name in ("project", "from") for value in ("", "x\0")),
    ],
)
def test_an_address_that_is_not_ours_moves_nothing(
    client: Client, alice: User, chat: Chat, name: str, value: str, status: int
) -> None:
    client.force_login(alice)
    undo = Mover(client, "one").move(chat, "new")
    assert client.post(undo, {name: value}).status_code == status
    assert place(chat)[0] == "new"
