"""Reads of what may be long: within a budget, with the way to the rest."""

from typing import Any

import pytest

from mcp_app.core.outcomes import size_of
from tests.mcp.conftest import Connect
from tests.mcp.mcp_client import McpClient

BUDGET = 1_000


def paged(client: McpClient, tool: str, part: str, **arguments: Any) -> Any:
    """All of one part, page by page."""
    found: Any = None
    cursor: str | None = None
    while True:
        answer = client.call(tool, part=part, cursor=cursor, budget=BUDGET, **arguments)
        assert size_of(answer["stored"]) <= BUDGET * 4
        piece = answer["stored"][part]
        found = piece if found is None else found + piece
        cursor = answer["next"]
        if cursor is None:
            return found


def test_a_long_state_fits_into_its_budget_and_all_of_it_can_be_read(connect: Connect) -> None:
    client = connect()
    client.call("session_save", messages=[{"role": "user", "text": "hi"}])
    todos = [{"content": f'{number} ⌘"' * 50, "status": "pending"} for number in range(120)]
    notes, summary = "".join(f"note {number}⌘\n" for number in range(1_500)), "short"
    client.call("ai_state_save", ai_id="a", todos=todos, working_notes=notes, context_summary=summary)
    assert size_of(client.call("ai_state_get", ai_id="a")["stored"]) <= 32_000  # Also if nobody names a budget.
    stored = client.call("ai_state_get", ai_id="a", budget=BUDGET)["stored"]
    assert 3_000 < size_of(stored) <= 4_000
    assert stored["todos"] == todos[: len(stored["todos"])]
    assert notes.startswith(stored["working_notes"])
    assert stored["context_summary"] == summary
    left, cut = len(todos) - len(stored["todos"]), len(notes) - len(stored["working_notes"])
    assert stored["omitted"] == [
        {"part": "todos", "items": left, "cursor": str(len(stored["todos"]))},
        {"part": "working_notes", "characters": cut, "cursor": str(len(stored["working_notes"]))},
    ]
    following = client.call(
        "ai_state_get", ai_id="a", budget=BUDGET, **{key: stored["omitted"][0][key] for key in ("part", "cursor")}
    )
    assert following["stored"]["todos"][0] == todos[len(stored["todos"])]
    assert paged(client, "ai_state_get", "todos", ai_id="a") == todos
    assert paged(client, "ai_state_get", "working_notes", ai_id="a") == notes
    assert client.call("ai_state_get", ai_id="a", budget=100_000)["stored"]["omitted"] == []


def test_a_long_handoff_fits_into_its_budget_and_all_of_it_can_be_read(connect: Connect, house: Any, path: str) -> None:
    client = connect()
    client.call("handoff_add", kind="summary", text="half done")
    project = house.api.http.get("/projects", params={"path": path}).json()["items"][0]["id"]
    decisions = [{"id": f"d{number}", "text": f"{number}: " + "because " * 30} for number in range(80)]
    house.api.call("PATCH", f"/projects/{project}/handoff", {"decisions": decisions})
    frozen = client.call("handoff_freeze")["number"]
    client.call("handoff_add", kind="risk", text="no backups")
    assert size_of(client.call("handoff_get")["stored"]) <= 32_000
    live = client.call("handoff_get", budget=BUDGET)["stored"]
    assert 3_000 < size_of(live) <= 4_000
    assert (live["summary"], [risk["text"] for risk in live["risks"]]) == ("half done", ["no backups"])
    assert [(one["part"], one["items"]) for one in live["omitted"]] == [("decisions", 80 - len(live["decisions"]))]
    kept = client.call("handoff_get", number=frozen, budget=BUDGET)["stored"]
    assert size_of(kept) <= 4_000
    assert [change["item"]["text"] for change in kept["drift"]["added"]] == ["no backups"]
    assert [one["id"] for one in paged(client, "handoff_get", "decisions")] == [one["id"] for one in decisions]
    assert [one["id"] for one in paged(client, "handoff_get", "decisions", number=frozen)] == [one["id"] for one in decisions]
    assert paged(client, "handoff_get", "added", number=frozen) == kept["drift"]["added"]


def test_an_item_that_is_longer_than_the_budget_is_cut(connect: Connect) -> None:
    client = connect()
    client.call("handoff_add", kind="decision", text="x" * 10_000, rejected=["y" * 10_000])
    client.call("handoff_add", kind="decision", text="short")
    assert client.call("handoff_get", budget=BUDGET)["stored"]["omitted"][0] == {"part": "decisions", "items": 2, "cursor": "0"}
    long, short = paged(client, "handoff_get", "decisions")
    assert (long["cut"], set(long["text"]), set(long["rejected"][0])) == (True, {"x"}, {"y"})
    assert ("cut" in short, short["text"]) == (False, "short")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [({"cursor": "3"}, "cursor"), ({"part": "risks", "cursor": "x"}, "cursor"), ({"part": "added"}, "part")],
)
def test_a_page_that_cannot_be_is_refused(connect: Connect, arguments: dict[str, str], field: str) -> None:
    client = connect()
    client.call("handoff_add", kind="risk", text="no backups")
    assert client.refusal("handoff_get", **arguments)["error"]["details"]["field"] == field
