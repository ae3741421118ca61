"""What lists of sessions cost does not depend on how many are stored: they are read from indexes."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from sessions_app.chats.reading import session_lists
from sessions_app.chats.reading.session_filters import ORDERS, Place, SessionFilter
from sessions_app.chats.reading.session_lists import Listing
from sessions_app.core.callers import caller_of_user
from sessions_app.core.storage.sql import execute, fetch_rows
from sessions_app.models import AgentState, AiState, ChatSession, ConflictCopy, PendingAction, Project
from sessions_app.models.session import SessionState
from tests.chats.test_session_lists import listed
from tests.conftest import Alone
from tests.support.databases import ON_POSTGRESQL

pytestmark = pytest.mark.django_db
START = datetime(2026, 1, 1, tzinfo=UTC)
# The plan of each list names the index that keeps its cost flat, and no scan of a table.
PLANS: dict[str, tuple[SessionFilter, str]] = {
    "tag": (SessionFilter(tags=("rare",)), "session_by_tag"),
    "external_id": (SessionFilter(external_id="e1"), "session_external_id_unique_in_project"),
    "pinned": (SessionFilter(pinned=True), "session_pinned"),
    "archived": (SessionFilter(state=SessionState.ARCHIVED), "session_archived"),
    "trash": (SessionFilter(state=SessionState.TRASH), "session_trash"),
    "errors": (SessionFilter(has="errors"), "agent_state_with_error"),
    "question": (SessionFilter(has="question"), "action_open"),
    "agent": (SessionFilter(agent="claude"), "ai_state_by_ai"),
    "conflicts": (SessionFilter(has="conflicts"), "copy_to_settle"),
}
WALKS = {
    "-updated": "session_browse",
    "updated": "session_browse",
    "created": "session_by_creation",
    "-created": "session_by_creation",
    "title": "session_by_title",
}


@pytest.fixture
def filled(alice: User, bob: User) -> list[Project]:
    """Enough rows that a planner prefers an index where it has one: 6,000 sessions, the rarest filters meeting a few."""
    projects = [Project.objects.create(owner=owner, path=f"/{name}") for owner, name in ((alice, "a"), (alice, "b"), (bob, "c"))]
    rows = [
        ChatSession(
            project=projects[number % 3],
            title=f"title {number}",
            created_at=START + timedelta(seconds=number),
            updated_at=START + timedelta(seconds=number),
            external_id=f"e{number}" if number % 10 == 0 else None,
            tags='["rare"]' if number % 500 == 0 else None,
            pinned=True if number % 500 == 1 else None,
            archive_requested_at=START if number % 500 == 2 else None,
            deleted_at=START if number % 500 == 3 else None,
        )
        for number in range(6_000)
    ]
    ChatSession.objects.bulk_create(rows, batch_size=500)
    _fill(rows[:3_000])
    if ON_POSTGRESQL:  # It analyses by itself; SQLite does not.
        execute("ANALYZE")
    return projects


def _fill(rows: list[ChatSession]) -> None:
    AiState.objects.bulk_create(
        AiState(session=row, ai_id="claude" if number % 500 == 4 else "codex", content="{}") for number, row in enumerate(rows)
    )
    AgentState.objects.bulk_create(
        AgentState(session=row, content='{"last_error":"x"}' if number % 100 == 0 else "{}") for number, row in enumerate(rows)
    )
    PendingAction.objects.bulk_create(
        PendingAction(session=row, action_id="a", content="{}", resolution="{}" if number % 100 else None)
        for number, row in enumerate(rows)
    )
    ConflictCopy.objects.bulk_create(
        ConflictCopy(session=row, epoch=1, role="user", text="x", message_id="m", settled_at=START if number % 100 else None)
        for number, row in enumerate(rows)
    )


def plan_of(sql: str, parameters: list[Any]) -> str:
    explain = "EXPLAIN" if ON_POSTGRESQL else "EXPLAIN QUERY PLAN"
    return "\n".join(str(row[-1]) for row in fetch_rows(f"{explain} {sql}", parameters))


def test_pages_are_read_from_the_index_of_their_order_and_filters_are_served_by_theirs(
    filled: list[Project], alice: User, alone: Alone
) -> None:
    for name in PLANS:
        with alone(name):
            check_filter(filled, alice, name)
    for sort in WALKS:
        for of_project in (True, False):
            with alone(f"{sort}, of one project: {of_project}"):
                check_walk(filled, alice, sort, of_project=of_project)


def check_walk(filled: list[Project], alice: User, sort: str, *, of_project: bool) -> None:
    row = ChatSession.objects.filter(project=filled[0])[50]
    value = row.title if sort == "title" else row.created_at.isoformat()
    for after in (None, Place(value, row.id)):
        listing = Listing(caller_of_user(alice), filled[0].id if of_project else None, SessionFilter(), ORDERS[sort])
        plan = plan_of(*listing.walk_sql("s.id", [], after, 51))
        assert WALKS[sort] in plan, plan
        assert "Seq Scan on sessions_app_chatsession" not in plan, plan
        assert "SCAN s" not in plan, plan
        assert "SCAN x" not in plan, plan


def test_an_external_id_is_found_by_its_index_also_among_all_projects(filled: list[Project], alice: User) -> None:
    by_id = Listing(caller_of_user(alice), None, SessionFilter(external_id="e30"), ORDERS["-updated"])
    text = replace(by_id, wanted=SessionFilter(text="e30"))
    assert text.named == [ChatSession.objects.get(external_id="e30").id]
    if ON_POSTGRESQL:
        execute("SET LOCAL enable_seqscan = off")  # As `time_limit(by_index=True)`.
    plan = plan_of(*by_id.search_sql("s.id", None))
    assert "session_external_id_unique_in_project" in plan, plan
    assert not re.search(r"Seq Scan on sessions_app_chatsession|SCAN s\b", plan), plan
    plan = plan_of(*text.search_sql("s.id", None))
    assert not re.search(r"Seq Scan on sessions_app_chatsession|SCAN (s|sessions_app_chatsession)\b", plan), plan


def check_filter(filled: list[Project], alice: User, name: str) -> None:
    wanted, index = PLANS[name]
    listing = Listing(caller_of_user(alice), filled[0].id, wanted, ORDERS["-updated"])
    if ON_POSTGRESQL:
        execute("SET LOCAL enable_seqscan = off")  # As `time_limit(by_index=True)`.
    sql, parameters = listing.search_sql("s.id", None)
    plan = plan_of(f"{sql} ORDER BY {listing.order.clause('s')} LIMIT 51", parameters)
    assert index in plan, plan
    assert "Seq Scan" not in plan.replace("Seq Scan on sessions_app_project", ""), plan
    assert "SCAN s\n" not in f"{plan}\n", plan


@pytest.mark.slow
def test_the_rarest_is_found_among_all(filled: list[Project], api: Any, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the index, not by reading on: the first read has none of them."""
    monkeypatch.setattr(session_lists, "ROWS", 0)
    monkeypatch.setattr(session_lists, "INDEX_SECONDS", 10.0)
    one = api(alice)
    assert len(listed(one, "/sessions", tag="rare")) == ChatSession.objects.filter(project__owner=alice, tags='["rare"]').count()
    assert len(listed(one, f"/projects/{filled[0].id}/sessions", state="trash", sort="title")) > 0
