"""Lists of sessions: every filter, every order, page by page. Their costs are in test_session_list_costs.py."""

import base64
import json
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.contrib.auth.models import User

from sessions_app.chats.reading import session_lists
from sessions_app.chats.reading.session_filters import ORDERS
from sessions_app.core.storage.time_limit import TimeIsUp
from sessions_app.models import ChatSession, PendingAction, Project
from sessions_app.models.session import SessionTag
from tests.support.chat import Chat
from tests.support.saves import refusal
from tests.support.suite import first_of

pytestmark = pytest.mark.django_db
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def one(api: Callable[..., Any], alice: User) -> Any:
    """Alice's client."""
    return api(alice)


def project_of(one: Any, path: str) -> str:
    project: str = one.post("/projects", {"path": path}).json()["id"]
    return project


def made(one: Any, project: str, **fields: Any) -> str:
    answer = one.post(f"/projects/{project}/sessions", fields)
    assert answer.status_code == 201, answer.content
    session: str = answer.json()["id"]
    return session


def listed(one: Any, address: str, **query: Any) -> list[str]:
    """Ids of all pages."""
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = one.get(f"{address}?{urlencode({**query, **({'cursor': cursor} if cursor else {})}, doseq=True)}")
        assert answer.status_code == 200, answer.content
        body = answer.json()
        found += [item["id"] for item in body["items"]]
        cursor = body["next"]
    return found


@pytest.fixture
def many(one: Any, alice: User) -> Any:
    """25 sessions in two projects, made and changed in different orders; several share a title or a time."""
    for path in ("/a", "/b"):
        project_of(one, path)
    projects = list(Project.objects.filter(owner=alice).order_by("path"))
    for number in range(25):
        ChatSession.objects.create(
            project=projects[number % 2],
            title=f"title {number % 4}" if number % 5 else "",
            created_at=START + timedelta(seconds=number // 2),
            updated_at=START + timedelta(days=1, seconds=(number * 7) % 11),
            tags='["odd","all"]' if number % 2 else '["all"]',
            pinned=number % 3 == 0 or None,
        )
    return one


@pytest.mark.parametrize("sort", ORDERS)
@pytest.mark.parametrize("limit", first_of([4, 1, 25], 1))
@pytest.mark.parametrize("query", [{}, {"tag": "all"}, {"pinned": "true"}, {"q": "title"}])
def test_pages_of_every_order_have_each_session_once(many: Any, sort: str, limit: int, query: dict[str, str]) -> None:
    order = ORDERS[sort]
    rows = ChatSession.objects.all()
    wanted = {"pinned": rows.filter(pinned=True), "q": rows.exclude(title="")}.get(next(iter(query), ""), rows)
    signs = ["-" if down else "" for down in (order.descending, order.ids_descending)]
    expected = [str(row.id) for row in wanted.order_by(f"{signs[0]}{order.column}", f"{signs[1]}id")]
    assert listed(many, "/sessions", sort=sort, limit=limit, **query) == expected
    projects = Project.objects.values_list("id", flat=True)
    apart = [listed(many, f"/projects/{project}/sessions", sort=sort, limit=limit, **query) for project in projects]
    assert [[pk for pk in expected if pk in found] for found in apart] == apart
    assert sorted(pk for found in apart for pk in found) == sorted(expected)


@pytest.mark.parametrize("hurried", [False, True])
def test_what_there_was_no_time_for_is_on_the_next_pages(many: Any, hurried: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_lists, "FIRST_ROWS", 2)
    if hurried:

        def busy(*_: Any, **__: Any) -> Iterator[None]:
            raise TimeIsUp

        monkeypatch.setattr(session_lists, "time_limit", busy)
        monkeypatch.setattr(session_lists, "LIST_SECONDS", -1.0)
    odd = {str(row.session_id) for row in SessionTag.objects.filter(tag="odd")}
    for sort in ORDERS:
        found = listed(many, "/sessions", sort=sort, limit=3, tag=["odd", "all"])
        assert found == [pk for pk in listed(many, "/sessions", sort=sort) if pk in odd]
        assert listed(many, "/sessions", sort=sort, tag="none") == []


def test_a_cursor_belongs_to_its_order(many: Any) -> None:
    following = many.get("/sessions?sort=title&limit=2").json()["next"]
    for sort in ("created", "updated", "-updated"):
        assert refusal(many.get(f"/sessions?sort={sort}&cursor={following}")) == (422, "invalid")
    for cursor in ("x", "W10", "bnVsbA", "e30", "WyJ0aXRsZSIsMSwyXQ", "%00", "é"):
        assert refusal(many.get(f"/sessions?sort=title&cursor={cursor}")) == (422, "invalid")


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_times_that_utc_does_not_have_are_refused(many: Any, at: str) -> None:
    assert refusal(many.get(f"/sessions?{urlencode({'since': at})}")) == (422, "invalid")
    assert refusal(many.get(f"/sessions?{urlencode({'until': at})}")) == (422, "invalid")
    for sort in ("created", "-created", "updated"):
        cursor = base64.urlsafe_b64encode(json.dumps([sort, at, str(uuid.uuid4())]).encode()).decode()
        assert refusal(many.get(f"/sessions?sort={sort}&cursor={cursor}")) == (422, "invalid")


def test_each_filter_finds_what_it_names(one: Any) -> None:
    project = project_of(one, "/p")
    plain = made(one, project, title="Plain")
    external = made(one, project, external_id="a/b ü", title="100% External")
    tagged = made(one, project, tags=["b", "a"], pinned=True)
    archived = made(one, project)
    one.patch(f"/sessions/{archived}", {"archived": True})
    trashed = made(one, project, tags=["a"])
    one.delete(f"/sessions/{trashed}")
    current = made(one, project)
    with_ai = made(one, project, current=False)
    one.put(f"/sessions/{with_ai}/ai-states/claude", {"working_notes": "x"})
    one.put(f"/sessions/{plain}/ai-states/codex", {"working_notes": "x"})
    one.delete(f"/sessions/{plain}/ai-states/codex")
    for address in ("/sessions", f"/projects/{project}/sessions"):

        def finds(address: str = address, **query: Any) -> set[str]:
            return set(listed(one, address, **query))

        assert finds() == {plain, external, tagged, archived, current, with_ai}
        assert finds(external_id="a/b ü") == {external}
        assert finds(external_id="unknown") == finds(tag="c") == finds(agent="codex") == set()
        assert finds(tag="a") == finds(tag=["a", "b"]) == finds(pinned="true") == {tagged}
        assert tagged not in finds(pinned="false")
        assert finds(agent="claude") == {with_ai}
        assert finds(state="trash") == finds(state="trash", tag="a") == {trashed}
        assert finds(state="current") == {current}
        assert finds(state="archived") == {archived}
        assert finds(state="earlier") == {plain, external, tagged, with_ai}
        assert finds(q="100% ext") == {external}
        assert finds(q="plain", state="earlier") == {plain}
        assert finds(q="PLAIN", tag="a") == set()
    assert set(listed(one, f"/projects/{project}/sessions", deleted=True)) == {trashed}


def test_times_are_included_at_both_ends(many: Any) -> None:
    times = sorted(set(ChatSession.objects.values_list("updated_at", flat=True)))
    since, until = times[2], times[5]
    expected = {str(row.id) for row in ChatSession.objects.filter(updated_at__gte=since, updated_at__lte=until)}
    for sort in ORDERS:
        found = listed(many, "/sessions", sort=sort, since=since.isoformat(), until=until.isoformat(), limit=3)
        assert (len(found), set(found)) == (len(expected), expected)
    assert set(listed(many, "/sessions", since=since.replace(tzinfo=None).isoformat())) >= expected
    assert refusal(many.get("/sessions?since=yesterday")) == (422, "invalid")


def test_errors_and_questions_are_found_while_they_are_open(one: Any) -> None:
    project = project_of(one, "/p")
    failed, asking, neither, late = (made(one, project) for _ in range(4))
    question = {"id": "a1", "kind": "deploy"}
    one.put(f"/sessions/{failed}/agent-state", {"last_error": {"message": "x"}})
    one.put(f"/sessions/{neither}/agent-state", {"last_error": None, "context": {"last_error": "only a word"}})
    one.put(f"/sessions/{asking}/agent-state", {"pending_action": question})
    one.put(f"/sessions/{late}/agent-state", {"pending_action": {**question, "expires_at": "2030-01-01T00:00:00Z"}})
    PendingAction.objects.filter(session_id=uuid.UUID(late)).update(expires_at=START)
    assert listed(one, "/sessions", has="errors") == [failed]
    assert listed(one, f"/projects/{project}/sessions", has="question") == [asking]
    one.post(f"/sessions/{asking}/agent-state/pending-action/a1/resolve", {"decision": "approve"})
    one.patch(f"/sessions/{failed}/agent-state", {"last_error": None})
    assert listed(one, "/sessions", has="question") == listed(one, "/sessions", has="errors") == []
    one.put(f"/sessions/{neither}/agent-state", {"pending_action": {**question, "id": "a2"}})
    one.put(f"/sessions/{neither}/agent-state", {"context": "the question was withdrawn"})
    assert listed(one, "/sessions", has="question") == []


def test_sessions_with_conflicts_are_found_until_all_are_settled(one: Any) -> None:
    chat, other = Chat(one, project="/p"), Chat(one, project="/p")
    other.say("m1", "alone")
    chat.say("m1", "standing")
    for writer in ("w1", "w2"):
        chat.ops({"op": "upsert", "id": "m1", "role": "user", "text": f"of {writer}"}, writer_id=writer)
    for copy in chat.conflicts():
        assert listed(one, "/sessions", has="conflicts") == [chat.id]
        one.post(f"/sessions/{chat.id}/conflicts/{copy['copy_id']}/settle", {"keep": "theirs"})
    assert listed(one, "/sessions", has="conflicts") == []


def test_only_own_sessions_are_listed(one: Any, api: Callable[..., Any], bob: User, alice: User) -> None:
    project, other = project_of(one, "/p"), project_of(one, "/q")
    mine, elsewhere = made(one, project, tags=["x"], external_id="e"), made(one, other, tags=["x"])
    for query in ({}, {"tag": "x"}, {"external_id": "e"}, {"state": "current"}, {"q": "x"}):
        assert listed(api(bob), "/sessions", **query) == []
    limited = api(alice, project_path="/p")
    assert listed(limited, "/sessions") == listed(limited, "/sessions", tag="x") == [mine]
    assert set(listed(one, "/sessions", tag="x")) == {mine, elsewhere}
    one.delete(f"/projects/{other}")
    assert listed(one, "/sessions") == listed(one, "/sessions", tag="x") == [mine]


@pytest.mark.parametrize(
    "query", ["state=x", "has=x", "sort=-title", "pinned=x", "limit=0", "limit=501", f"tag={'x' * 65}", "tag=", "since=%00"]
)
def test_wrong_filters_are_refused(one: Any, query: str) -> None:
    for address in ("/sessions", f"/projects/{project_of(one, '/p')}/sessions"):
        assert refusal(one.get(f"{address}?{query}")) == (422, "invalid")


@pytest.mark.parametrize("odd", ["%00", "%ED%A0%80", "'", '"', "%", "\\", "{", "*", "(", "🙂"])
def test_odd_values_find_nothing(one: Any, odd: str) -> None:
    made(one, project_of(one, "/p"), tags=["x"])
    value = odd if odd.startswith("%") and len(odd) > 1 else quote(odd)
    for name in ("external_id", "tag", "agent", "q"):
        answer = one.get(f"/sessions?{name}={value}")
        assert (answer.status_code, answer.json()["items"]) == (200, []), answer.content


def test_the_index_of_tags_follows_the_sessions(one: Any, alice: User) -> None:
    """However they are written: created, patched, moved, forked, deleted for good."""
    project, other = project_of(one, "/p"), project_of(one, "/q")

    def indexed() -> set[tuple[str, str, str]]:
        return {(str(row.session_id), str(row.project_id), row.tag) for row in SessionTag.objects.all()}

    session = made(one, project, tags=["a", "b"])
    assert indexed() == {(session, project, "a"), (session, project, "b")}
    one.patch(f"/sessions/{session}", {"tags": ["b", "ü"]})
    assert indexed() == {(session, project, "b"), (session, project, "ü")}
    one.post(f"/sessions/{session}/move", {"to_project": "/q"})
    assert indexed() == {(session, other, "b"), (session, other, "ü")}
    fork = one.post(f"/sessions/{session}/fork", {}).json()["id"]
    assert {row for row in indexed() if row[0] == fork} == {(fork, other, "b"), (fork, other, "ü")}
    ChatSession.objects.filter(id=session).delete()
    assert {row[0] for row in indexed()} == {fork}
    one.patch(f"/sessions/{fork}", {"tags": []})
    assert indexed() == set()
    Chat(one, project="/p")
    assert indexed() == set()
