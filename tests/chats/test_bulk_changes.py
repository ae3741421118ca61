"""One change of many sessions: by the API, and by the bar above a list with one Undo for all of it."""

import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from sessions_app.chats.lifecycle.bulk.services import MOST_AT_ONCE
from sessions_app.models import ChatSession, Event, Project


class Sessions:
    """Alice's sessions of two projects, the last one of each is its current one."""

    def __init__(self, api: Any) -> None:
        self.api = api
        self.projects = {path: api.post("/projects", {"path": path}).json()["id"] for path in ("one", "two")}

    def make(self, *titles: str, project: str = "one", **more: Any) -> list[str]:
        address = f"/projects/{self.projects[project]}/sessions"
        return [self.api.post(address, {"title": title, **more}).json()["id"] for title in titles]

    def change(self, act: str, sessions: list[str], status: int = 200, **more: Any) -> Any:
        reply = self.api.post("/sessions-bulk", {"act": act, "sessions": sessions, **more})
        assert reply.status_code == status, reply.content
        return reply.json()

    def read(self, session: str) -> dict[str, Any]:
        return dict(self.api.get(f"/sessions/{session}?messages=0").json()["session"])

    def each(self, name: str, sessions: list[str]) -> list[Any]:
        return [self.read(session)[name] for session in sessions]


@pytest.fixture
def sessions(api: Callable[..., Any], alice: User) -> Sessions:
    return Sessions(api(alice))


@pytest.mark.parametrize(
    ("act", "back", "name", "values"),
    [("pin", "unpin", "pinned", [True, False]), ("archive", "unarchive", "state", ["archived", "earlier"])],
)
def test_what_is_changed_may_be_changed_again_and_back(
    sessions: Sessions, act: str, back: str, name: str, values: list[Any]
) -> None:
    ids = sessions.make("a", "b", "c")
    some, nobody = ids[:2], str(uuid.uuid4())
    assert sessions.change(act, [*some, some[0], nobody]) == {"changed": some, "unchanged": [], "unknown": [nobody]}
    assert sessions.each(name, some) == [values[0]] * 2
    revs = sessions.each("rev", ids)
    assert sessions.change(act, some) == {"changed": [], "unchanged": some, "unknown": []}
    assert sessions.each("rev", ids) == revs
    sessions.change(back, some)
    assert sessions.each(name, some) == [values[1]] * 2
    assert sessions.read(ids[2])["state"] == "current"


def test_tags_are_added_and_removed_and_the_others_stay(sessions: Sessions) -> None:
    one, two = sessions.make("a", "b", tags=["kept"])
    sessions.change("tag", [one], tags=["bug"])
    assert sessions.change("tag", [one, two], tags=["bug", "kept"])["changed"] == [two]
    assert sessions.each("tags", [one, two]) == [["kept", "bug"]] * 2
    sessions.change("untag", [one, two], tags=["kept", "unknown"])
    assert sessions.each("tags", [one, two]) == [["bug"]] * 2
    tagged = sessions.api.get("/sessions?tag=bug").json()["items"]
    assert {row["id"] for row in tagged} == {one, two}
    refused = sessions.change("tag", [one, two], 422, tags=[f"t{number}" for number in range(20)])
    assert "at most" in refused["error"]["message"]
    assert sessions.each("tags", [one, two]) == [["bug"]] * 2


def test_sessions_are_deleted_and_restored(sessions: Sessions) -> None:
    ids = sessions.make("a", "b")
    assert sessions.change("delete", ids)["changed"] == ids
    assert [sessions.api.get(f"/sessions/{one}").status_code for one in ids] == [410, 410]
    assert sessions.change("delete", ids)["unknown"] == ids
    assert sessions.change("pin", ids)["unknown"] == ids
    assert sessions.change("undelete", ids)["changed"] == ids
    assert sorted(sessions.each("state", ids)) == ["current", "earlier"]


def test_whole_sessions_move_and_one_becomes_current_where_there_is_none(sessions: Sessions) -> None:
    ids = sessions.make("a", "b", "c")
    assert sessions.change("move", ids[1:], to_project="two")["changed"] == ids[1:]
    assert sessions.each("project", ids) == ["one", "two", "two"]
    assert sessions.each("state", ids) == ["earlier", "earlier", "current"]
    assert Project.objects.get(path="one").current_session_id is None
    assert sessions.change("move", ids, to_project="two") == {"changed": ids[:1], "unchanged": ids[1:], "unknown": []}
    assert sessions.each("state", ids) == ["earlier", "earlier", "current"]
    moved = Event.objects.filter(project__path="one", frame__contains='"moved"').count()
    assert (moved, Event.objects.filter(project__path="two", type="SESSION_CREATED").count()) == (3, 3)


def test_events_are_numbered_without_a_gap(sessions: Sessions) -> None:
    ids = sessions.make("a", "b", "c")
    sessions.change("pin", ids)
    events = sessions.api.get(f"/projects/{sessions.projects['one']}/events?since=0").json()["items"]
    numbers = [event["event_seq"] for event in events]
    assert numbers == list(range(1, len(numbers) + 1))
    assert {event["session"] for event in events[-3:]} == set(ids)
    assert {event["rev"] for event in events[-3:]} == set(sessions.each("rev", ids))


def test_a_move_is_refused_for_all_of_them(sessions: Sessions) -> None:
    [mine] = sessions.make("a", external_id="x")
    [theirs] = sessions.make("b", project="two", external_id="x")
    [other] = sessions.make("c")
    refused = sessions.change("move", [other, mine], 409, to_project="two")["error"]
    assert (refused["code"], refused["details"]) == ("external_id_taken", {"session": theirs})
    third = sessions.api.post("/projects", {"path": "three"}).json()["id"]
    assert sessions.change("move", [mine, theirs], 409, to_project="three")["error"]["code"] == "external_id_taken"
    sessions.api.patch(f"/projects/{third}", {"settings": {"redaction": "redact"}})
    assert sessions.change("move", [other], 409, to_project="three")["error"]["code"] == "stricter_project"
    assert sessions.each("project", [other, mine, theirs]) == ["one", "one", "two"]
    assert sessions.change("move", [other], 422)["error"]["details"] == {"field": "to_project"}


def test_nobody_changes_sessions_of_others_or_moves_them_there(
    sessions: Sessions, api: Callable[..., Any], alice: User, bob: User
) -> None:
    [mine] = sessions.make("a")
    theirs = Sessions(api(bob))
    before = sessions.read(mine)
    for act in ("archive", "pin", "delete", "undelete"):
        assert theirs.change(act, [mine])["unknown"] == [mine]
    assert theirs.change("tag", [mine], tags=["x"])["unknown"] == [mine]
    assert theirs.change("move", [mine], to_project="two")["unknown"] == [mine]
    api(bob).post("/projects", {"path": "bob's"})
    assert sessions.change("move", [mine], 404, to_project="bob's")["error"]["code"] == "not_found"
    assert sessions.read(mine) == before


def test_a_key_for_one_project_moves_nothing_out_of_it_or_into_it(
    sessions: Sessions, api: Callable[..., Any], alice: User
) -> None:
    [one], [two] = sessions.make("a"), sessions.make("b", project="two")
    limited = Sessions.__new__(Sessions)
    limited.api = api(alice, project_path="one")
    limited.change("move", [one], 404, to_project="two")
    assert limited.change("move", [two], to_project="one")["unknown"] == [two]
    assert limited.change("delete", [two])["unknown"] == [two]
    assert limited.change("pin", [one])["changed"] == [one]
    assert sessions.each("project", [one, two]) == ["one", "two"]


def test_many_cost_as_many_statements_as_a_few(sessions: Sessions) -> None:
    ids = sessions.make(*(f"s{number}" for number in range(12)))
    sessions.make("current there", project="two")

    def statements(act: str, some: list[str], **more: Any) -> int:
        with CaptureQueriesContext(connection) as made:
            assert sessions.change(act, some, **more)["changed"] == some
        return len(made)

    for act, back, more in (
        ("pin", "unpin", {}),
        ("tag", "untag", {"tags": ["x"]}),
        ("archive", "unarchive", {}),
        ("delete", "undelete", {}),
        ("move", "move", {"to_project": "two"}),
    ):
        few, many = statements(act, ids[:2], **more), statements(act, ids[2:11], **more)
        assert few == many, act
        sessions.change(back, ids, **({"to_project": "one"} if act == "move" else more))


def test_at_most_five_hundred(sessions: Sessions) -> None:
    sessions.change("pin", [str(uuid.uuid4()) for _ in range(MOST_AT_ONCE + 1)], 422)
    sessions.change("pin", [], 422)
    sessions.change("forget", sessions.make("a"), 422)


class Bar:
    """The bar above a list, in alice's browser."""

    def __init__(self, client: Client, sessions: Sessions) -> None:
        self.client, self.sessions = client, sessions
        self.page = f"/projects/{sessions.projects['one']}/"

    def post(self, act: str, ids: list[str], **fields: str) -> str:
        reply = self.client.post("/sessions/bulk/", {"act": act, "session": ids, "back": self.page, **fields})
        assert reply.status_code == 302, reply.content
        assert reply["Location"] == self.page
        return str(self.client.get(self.page).content.decode())

    def undo(self, shown: str) -> str:
        [address] = re.findall(r'class="toast">.*?action="([^"]+)"', shown)
        reply = self.client.post(address)
        return str(self.client.get(reply["Location"]).content.decode())


@pytest.fixture
def bar(client: Client, alice: User, sessions: Sessions) -> Bar:
    client.force_login(alice)
    return Bar(client, sessions)


def state_of(bar: Bar, ids: list[str]) -> list[tuple[Any, ...]]:
    rows = ChatSession.objects.filter(id__in=ids).order_by("id")
    return [
        (row.project_id, bool(row.pinned), row.tags, row.archive_requested_at is None, row.deleted_at is None, is_current(row))
        for row in rows
    ]


def is_current(row: ChatSession) -> bool:
    return row.project.current_session_id == row.id


@pytest.mark.parametrize(
    ("act", "fields", "said"),
    [
        ("pin", {}, "2 sessions pinned. 1 session did not need it."),
        ("tag", {"tag": "bug, kept"}, "3 sessions tagged."),
        ("archive", {}, "3 sessions archived."),
        ("delete", {}, "3 sessions in the trash for 30 days."),
        ("move", {"project": "two"}, "3 sessions moved, with everything in them."),
    ],
)
def test_one_undo_takes_all_of_it_back(bar: Bar, act: str, fields: dict[str, str], said: str) -> None:
    ids = [*bar.sessions.make("a", pinned=True, tags=["kept"]), *bar.sessions.make("b", "c")]
    before = state_of(bar, ids)
    fields = {name: bar.sessions.projects["two"] if name == "project" else value for name, value in fields.items()}
    shown = bar.post(act, ids, **fields)
    assert said in shown
    assert state_of(bar, ids) != before
    assert "Undone for" in bar.undo(shown)
    assert state_of(bar, ids) == before
    assert "undone already" in bar.undo(shown)


def test_an_undo_is_of_the_last_change_and_of_this_login_only(bar: Bar, client: Client, bob: User) -> None:
    ids = bar.sessions.make("a", "b")
    first = bar.post("pin", ids)
    bar.post("archive", ids[:1])
    assert "something else was done since" in bar.undo(first)
    shown = bar.post("delete", ids)
    stranger = Client()
    stranger.force_login(bob)
    [address] = re.findall(r'class="toast">.*?action="([^"]+)"', shown)
    assert stranger.post(address).status_code == 302
    assert ChatSession.objects.exclude(deleted_at=None).count() == 2


def test_what_makes_no_sense_is_refused_in_words(bar: Bar, bob: User, api: Callable[..., Any]) -> None:
    ids = bar.sessions.make("a")
    assert "No session is ticked" in bar.post("pin", [])
    for act, fields in (("tag", {"tag": " , "}), ("move", {})):
        assert bar.client.post("/sessions/bulk/", {"act": act, "session": ids, **fields}).status_code == 422
    theirs = api(bob).post("/projects", {"path": "/bob"}).json()["id"]
    for project in (theirs, "none"):
        assert bar.client.post("/sessions/bulk/", {"act": "move", "session": ids, "project": project}).status_code == 404
    assert bar.client.post("/sessions/bulk/", {"act": "odd", "session": ids}).status_code == 404
    elsewhere = {"act": "pin", "session": ids, "back": "//evil.example"}
    assert bar.client.post("/sessions/bulk/", elsewhere)["Location"] == "/sessions/"
    # Another change is kept for its Undo.
    assert bar.client.post("/sessions/bulk/?undo=ü")["Location"] == "/sessions/"


def test_a_project_that_was_deleted_meanwhile_is_refused_in_the_list(bar: Bar) -> None:
    ids = bar.sessions.make("a")
    gone = bar.sessions.projects["two"]
    bar.sessions.api.delete(f"/projects/{gone}")
    assert "This project was deleted meanwhile." in bar.post("move", ids, project=gone)


def test_lists_have_a_box_for_each_session_and_filter_by_tag_and_pin(bar: Bar) -> None:
    one, two = *bar.sessions.make("a", pinned=True, tags=["bug", "x y"]), *bar.sessions.make("b", tags=["bug"])

    def ticks(address: str) -> list[str]:
        shown = bar.client.get(address).content.decode()
        return re.findall(r'form="bulk" name="session" value="([^"]+)"', shown)

    assert ticks(bar.page) == [one, two]
    assert set(ticks("/sessions/?tag=bug")) == {two, one}
    assert ticks("/sessions/?tag=bug,+x+y") == ticks("/sessions/?pinned=1") == [one]
    assert ticks("/sessions/?pinned=0&tag=bug") == [two]
    assert ticks(f"{bar.page}?state=deleted") == []
    assert f"/sessions/?project={bar.sessions.projects['one']}&amp;tag=x%20y" in bar.client.get(bar.page).content.decode()
