"""What the plans behind this store promise of handoff, phase, project, plan and AI state, by the names they have there
(seeds 000, 001, 003). Through the real server."""

import hashlib
import json
from collections.abc import Callable

from tests.support.live_server import LiveServer
from tests.support.page_load import ASK, OTHER, PLAN, SHOP, TODO, Page, handoff_of, texts

# Seed 000: acceptance criteria


def test_000_page_refresh_preserves_selected_project_and_active_phase(reload: Callable[[], Page]) -> None:
    page = reload()
    page.api.session(SHOP)
    page.api.call("PUT", "/app-state", {"selected_project": SHOP})
    page.api.call("PUT", "/app-state", {"active_phase": "review"})
    page = reload()
    state = page.get("/app-state")
    assert (state["selected_project"], state["active_phase"], state["recent_projects"]) == (SHOP, "review", [SHOP])
    assert page.resume(state["selected_project"])["app_state"] == state
    page.api.call("PUT", "/app-state", {"selected_project": SHOP})
    assert reload().get("/app-state") == state
    chosen = reload().api.call("PUT", "/app-state", {"selected_project": OTHER})
    assert (chosen["active_phase"], chosen["recent_projects"]) == ("plan", [OTHER, SHOP])


def test_000_switching_projects_and_returning_restores_that_project_s_session(reload: Callable[[], Page]) -> None:
    page = reload()
    sessions = {}
    for project in (SHOP, OTHER):
        _, sessions[project] = page.api.session(project)
        page.say(sessions[project], f"of {project}", opening_step=f"step {project[-4:]}")
        page.api.call("PUT", f"/sessions/{sessions[project]}/agent-state", {"plan": {**PLAN, "title": project}})
    for project in (SHOP, OTHER, SHOP):
        page = reload()
        page.api.call("PUT", "/app-state", {"selected_project": project})
        back = page.resume(page.get("/app-state")["selected_project"])
        assert (back["session"]["id"], texts(back)) == (sessions[project], [f"of {project}"])
        assert (back["session"]["opening_step"], back["agent_state"]["plan"]["title"]) == (f"step {project[-4:]}", project)


def test_000_frozen_payload_survives_refresh(reload: Callable[[], Page], secret: str) -> None:
    page = reload()
    page.api.session(SHOP)
    handoff = handoff_of(page, SHOP, "Use SQLite", "Ship on Friday")
    frozen = page.api.call("POST", f"{handoff}/freeze")
    page.api.call("PUT", "/app-state", {"selected_project": SHOP, "active_phase": "work"})
    with LiveServer() as another:  # A refresh may meet another process.
        for later in (reload(), Page(another.host, secret)):
            found = later.resume(SHOP)["handoff"]["frozen"]
            assert (found["number"], found["sha256"], found["payload"]) == (1, frozen["sha256"], frozen["payload"])
            later.api.close()
    canonical = json.dumps(frozen["payload"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert hashlib.sha256(canonical.encode()).hexdigest() == frozen["sha256"]


def test_000_add_decision_does_not_change_the_frozen_payload(page: Page) -> None:
    page.api.session(SHOP)
    handoff = handoff_of(page, SHOP, "Use SQLite")
    frozen = page.api.call("POST", f"{handoff}/freeze")["payload"]
    handoff_of(page, SHOP, "and PostgreSQL")
    bundle = page.resume(SHOP)["handoff"]
    assert bundle["frozen"]["payload"] == frozen
    assert [item["text"] for item in bundle["live"]["decisions"]] == ["Use SQLite", "and PostgreSQL"]
    drift = page.get(f"{handoff}/snapshots/1")["drift"]
    assert ([entry["item"]["text"] for entry in drift["added"]], drift["removed"]) == (["and PostgreSQL"], [])


def test_000_a_frozen_payload_is_derived_where_there_are_decisions(page: Page) -> None:
    page.api.session(SHOP)
    assert page.resume(SHOP)["handoff"] is None
    handoff_of(page, SHOP, "Use SQLite")
    frozen = page.resume(SHOP)["handoff"]["frozen"]
    assert (frozen["derived"], [item["text"] for item in frozen["payload"]["decisions"]]) == (True, ["Use SQLite"])


def test_000_project_a_s_handoff_survives_switching_to_b_and_back(reload: Callable[[], Page]) -> None:
    page = reload()
    addresses = {}
    for project in (SHOP, OTHER):
        page.api.session(project)
        addresses[project] = handoff_of(page, project, f"decided in {project}")
        page.api.call("POST", f"{addresses[project]}/freeze")
    before = {project: (page.get(at), page.resume(project)["handoff"]) for project, at in addresses.items()}
    for project in (OTHER, SHOP, OTHER, SHOP):
        page = reload()
        page.api.call("PUT", "/app-state", {"selected_project": project})
        decided = page.resume(project)["handoff"]["live"]["decisions"]
        assert [item["text"] for item in decided] == [f"decided in {project}"]
    assert {project: (page.get(at), page.resume(project)["handoff"]) for project, at in addresses.items()} == before


# Seed 001: the immortality test


def test_001_the_immortality_test_with_a_plan(reload: Callable[[], Page], secret: str) -> None:
    page = reload()
    _, session = page.api.session(SHOP)
    page.say(session, "My secret code is 777.")
    state = {"context": {"goal": "remember 777", "tools": ["editor"]}, "plan": PLAN, "pending_action": ASK, "last_error": "disk"}
    saved = page.api.call("PUT", f"/sessions/{session}/agent-state", state)
    with LiveServer() as restarted:
        for born_again in (reload(), Page(restarted.host, secret)):
            back = born_again.resume(SHOP)
            assert texts(back) == ["My secret code is 777."]
            assert {name: back["agent_state"][name] for name in state} == state
            assert (back["agent_state"]["saved_at"], back["agent_state"]["rev"]) == (saved["saved_at"], 1)
            born_again.api.close()
    page = reload()
    page.api.call("PATCH", f"/sessions/{session}/agent-state/plan/steps/s2", {"status": "completed"})
    page.api.call("POST", f"/sessions/{session}/agent-state/pending-action/a1/resolve", {"decision": "approve"})
    back = reload().resume(SHOP)["agent_state"]
    assert [step["status"] for step in back["plan"]["steps"]] == ["completed", "completed"]
    assert back["pending_action"]["resolution"]["decision"] == "approve"
    assert back["context"] == state["context"]


# Seed 003: usage patterns


def test_003_pattern_1_save_state_by_hook_or_periodically(page: Page) -> None:
    _, session = page.api.session(SHOP)
    at = f"/sessions/{session}/ai-states/claude"
    whole = {"todos": [TODO], "working_notes": "Current focus areas", "context_summary": "What I was working on"}
    assert page.api.call("PUT", at, whole)["rev"] == 1
    for number in range(3):
        kept = page.api.call("PATCH", at, {"working_notes": f"Focus {number}"})
        assert (kept["todos"], kept["context_summary"]) == ([TODO], "What I was working on")
    assert [item["rev"] for item in page.get(f"{at}/history")["items"]] == [4, 3, 2, 1]


def test_003_pattern_2_restore_state_on_recovery(reload: Callable[[], Page]) -> None:
    page = reload()
    _, session = page.api.session(SHOP)
    states = {name: {"todos": [TODO], "working_notes": f"of {name}"} for name in ("claude", "gemini", "lars")}
    for name, state in states.items():
        page.api.call("PUT", f"/sessions/{session}/ai-states/{name}", state)
    page = reload()
    found = page.resume(SHOP)["ai_states"]
    assert {item["ai_id"]: {"todos": item["todos"], "working_notes": item["working_notes"]} for item in found} == states
    assert page.get(f"/sessions/{session}/ai-states/gemini")["working_notes"] == "of gemini"


def test_003_pattern_3_transfer_between_sessions(page: Page) -> None:
    _, first = page.api.session(SHOP)
    _, second = page.api.session(OTHER)
    page.api.call("PUT", f"/sessions/{first}/ai-states/claude", {"todos": [TODO], "working_notes": "carry me"})
    with page.listen(SHOP) as here, page.listen(OTHER) as there:
        page.api.call("POST", f"/sessions/{first}/transfer", {"to_session": second, "ai_ids": ["claude"]})
        told = [socket.until_type("AI_STATE_TRANSFERRED") for socket in (here, there)]
    assert [frame["session"] for frame in told] == [first, second]
    state = page.get(f"/sessions/{second}/ai-states/claude")
    assert (state["todos"], state["working_notes"], state["transferred_from"]) == ([TODO], "carry me", first)
    assert state["transferred_at"] >= page.get(f"/sessions/{first}/ai-states/claude")["updated_at"]
