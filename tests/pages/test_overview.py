"""The overview of all projects and of one, and the list of all sessions that its figures lead to."""

import csv
import io
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from sessions_app.models import ChatSession, Message, Project
from sessions_app.models.times import now
from sessions_app.pages.overview import activity_counts
from sessions_app.pages.overview.activity_counts import count_activity, first_day
from sessions_app.pages.overview.heat_map import squares, week
from tests.support.chat import Chat

pytestmark = pytest.mark.usefixtures("nothing_counted")


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    """Three messages: two of today, one of ten days ago."""
    chat = Chat(api(alice), project="/home/alice/shop")
    for number in range(3):
        chat.say(f"m{number}", f"text {number}")
    Message.objects.filter(session__id=chat.id, message_id="m0").update(created_at=now() - timedelta(days=10))
    return chat


def by_day(page: Client, address: str = "/overview/") -> dict[str, int]:
    rows = csv.DictReader(io.StringIO(page.get(f"{address}?as=csv").content.decode()))
    return {row["day"]: int(row["messages"]) for row in rows if row["messages"] != "0"}


def ago(days: int) -> str:
    return str((now() - timedelta(days=days)).date())


def test_messages_are_counted_by_day_hour_and_project(
    page: Client, chat: Chat, api: Callable[..., Any], alice: User, bob: User
) -> None:
    Chat(api(alice), project="blog").say("m1", "a post")
    Chat(api(bob), project="his").say("m1", "his")
    other = Chat(chat.api, project="gone")
    other.say("m1", "gone")
    chat.api.delete(f"/sessions/{other.id}")
    assert by_day(page) == {ago(10): 1, ago(0): 3}
    project = Project.objects.get(path="blog")
    assert by_day(page, f"/projects/{project.id}/overview/") == {ago(0): 1}
    activity, today = count_activity(user_id=alice.pk), now().date()
    assert sum(number for row in week(activity) for number, _ in row.hours) == 4
    shown = squares(activity, today)
    assert (shown[0].day.weekday(), shown[-1].day, shown[-1].shade) == (0, today, 4)
    assert {square.shade for square in shown if square.number == 0} == {0}


def test_what_is_new_is_counted_on_and_old_messages_by_and_by(page: Client, chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity_counts, "PIECE", 1)
    monkeypatch.setattr(activity_counts, "SECONDS", 0.0)
    for _ in range(50):
        if "still being counted" not in page.get("/overview/").content.decode():
            break
        monkeypatch.setattr(activity_counts, "SECONDS", 0.01)
    chat.say("m3", "new")
    assert by_day(page) == {ago(10): 1, ago(0): 3}


@pytest.mark.once
def test_a_piece_costs_the_same_however_many_sessions_there_are(page: Client, chat: Chat) -> None:
    """Each begins with its messages, by number. SQLite would rather begin with all of the user's sessions."""
    with CaptureQueriesContext(connection) as seen:
        page.get("/overview/")
    pieces = [query["sql"] for query in seen if "m.id <= " in query["sql"]]
    assert len(pieces) >= 2, "activity and tools"
    for sql in pieces:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
            steps = [row[-1] for row in cursor.fetchall() if row[-1].startswith(("SEARCH", "SCAN"))]
        assert "m USING INTEGER PRIMARY KEY" in steps[0], steps
        assert not any("owner_id" in step for step in steps), steps


def test_every_figure_leads_to_a_list(page: Client, chat: Chat, api: Callable[..., Any], alice: User) -> None:
    project = Project.objects.get()
    chat.api.patch(f"/sessions/{chat.id}", {"title": "<b>Cart</b>"})
    chat.api.put(f"/sessions/{chat.id}/ai-states/reviewer", {"working_notes": "x"})
    chat.api.post(f"/projects/{project.id}/errors", {"errors": [{"message": "broken"}]})
    html = page.get("/overview/").content.decode()
    main = html[html.index("<main") :]
    assert "<b>Cart" not in main
    addresses = {address.replace("&amp;", "&") for address in re.findall(r'href="(/[^"]+)"', main)}
    assert f"/projects/{project.id}/errors/?state=unresolved" in addresses
    assert f"/sessions/?since={ago(0)}&until={ago(0)}" in addresses
    for address in addresses:
        assert page.get(address).status_code == 200, address
    for address in ("/sessions/?agent=reviewer", f"/sessions/?since={ago(0)}&until={ago(0)}&project={project.id}"):
        assert "&lt;b&gt;Cart" in page.get(address).content.decode()
    at = Message.objects.latest("id").created_at
    ChatSession.objects.update(updated_at=at)
    assert f"/sessions/?since={first_day(at.date())}" in addresses
    hour = f"/sessions/?weekday={at.weekday()}&hour={at.hour}"
    assert hour in addresses
    assert f"/sessions/{chat.id}/history/" in addresses
    [cart] = ChatSession.objects.all()
    for day, asked, shown in (
        (at.weekday(), at.hour, True),
        ((at.weekday() + 1) % 7, at.hour, False),
        (at.weekday(), (at.hour + 1) % 24, False),
    ):
        html = page.get(f"/sessions/?weekday={day}&hour={asked}").content.decode()
        assert (f"session-{cart.id}" in html) == shown, (day, asked)
        assert f"between {asked}:00 and {asked}:59 UTC" in html
    assert "No session matches" in page.get(f"/sessions/?until={ago(1)}").content.decode()


def test_a_project_is_told_apart_in_figures_and_csv(
    page: Client, chat: Chat, api: Callable[..., Any], alice: User, bob: User
) -> None:
    Project.objects.update(name="=cmd()")
    rows = list(csv.DictReader(io.StringIO(page.get("/overview/?as=projects.csv").content.decode())))
    assert [(row["project"], row["sessions"], row["messages"], row["open_errors"]) for row in rows] == [
        ("'=cmd()", "1", "3", "0")
    ]
    Chat(api(bob), project="his")
    his = Project.objects.get(path="his")
    assert page.get(f"/projects/{his.id}/overview/").status_code == 404
    assert page.get(f"/sessions/?project={his.id}").status_code == 404


def test_all_sessions_are_filtered_and_go_on(page: Client, chat: Chat) -> None:
    project = Project.objects.get()
    ChatSession.objects.bulk_create(ChatSession(project=project, title=f"session {number:02}") for number in range(40))
    first = page.get("/sessions/?q=session").content.decode()
    [more] = set(re.findall(r'hx-get="(\?[^"]+)"', first))
    second = page.get(f"/sessions/{more.replace('&amp;', '&')}").content.decode()
    found = [set(re.findall(r">session (\d\d)</a>", html)) for html in (first, second)]
    assert (len(found[0]), len(found[0] | found[1])) == (30, 40)
    assert 'value="session"' in second
    assert "Sessions of <bdi>shop</bdi>" in page.get(f"/sessions/?project={project.id}&q=text").content.decode()


def test_filters_by_day_say_that_days_are_those_of_utc(page: Client, alice: User) -> None:
    for address, words in (("/search/", ("From (UTC)", "To (UTC)")), ("/sessions/", ("Changed from (UTC)", "Changed to (UTC)"))):
        shown = page.get(address).content.decode()
        assert all(f">{word}</label>" in shown for word in words)
