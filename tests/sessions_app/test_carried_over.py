"""What the plans behind this store promise of handoff, phase, project, plan and AI state, by the names they have there
(seeds 000, 001, 003), and that the limitations which they lived with are gone. Through the real server."""

import hashlib
import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from websockets.sync.client import connect

from sessions_app.auth import caller_of_user
from sessions_app.services import keys
from tests.live_server import LiveServer
from tests.server import Api
from tests.sockets import Socket

SHOP, OTHER = "/home/alice/shop", "/home/alice/other"
PLAN = {
    "title": "Create file secret.txt",
    "steps": [
        {"id": "s1", "title": "Open an editor", "status": "completed"},
        {"id": "s2", "title": "Write the code into it", "status": "in_progress"},
    ],
}
ASK = {"id": "a1", "kind": "write_file", "payload": {"path": "secret.txt"}}
TODO = {"content": "Task description", "status": "in_progress", "activeForm": "Working on task"}


@dataclass
class Page:
    """One page load: it knows nothing but where the server is and who it is."""

    host: str
    secret: str

    def __post_init__(self) -> None:
        self.api = Api(f"http://{self.host}", self.secret)
        self.writer = str(uuid.uuid4())

    def get(self, path: str, **parameters: Any) -> Any:
        return self.api.call("GET", path, **parameters)

    def resume(self, project: str) -> Any:
        return self.get("/resume", project=project)

    def ask(self, project: str, tag: str = "") -> dict[str, Any]:
        """A resume of one who may have a version already."""
        headers = {"If-None-Match": tag} if tag else {}
        answer = self.api.http.get("/resume", params={"project": project}, headers=headers)
        return {"status": answer.status_code, "body": answer.json() if answer.content else None, "ETag": answer.headers["ETag"]}

    def say(self, session: str, *texts: str, seq: int = 1, **more: Any) -> None:
        ops = [{"op": "upsert", "id": f"m{number}", "role": "user", "text": text} for number, text in enumerate(texts)]
        body = {"epoch": 1, "writer_id": self.writer, "seq": seq, "ops": ops, **more}
        assert len(self.api.call("POST", f"/sessions/{session}/changes", body)["applied"]) == len(texts)

    @contextmanager
    def listen(self, project: str) -> Iterator[Socket]:
        address = f"ws://{self.host}/ws/events/?project={quote(project)}"
        headers = {"Authorization": f"Bearer {self.secret}"}
        with connect(address, additional_headers=headers, compression=None, close_timeout=2) as connection:
            yield Socket(connection)


@pytest.fixture
def secret(transactional_db: None, alice: User) -> str:
    return keys.create_key(caller=caller_of_user(alice)).secret


@pytest.fixture
def reload(server: LiveServer, secret: str) -> Iterator[Callable[[], Page]]:
    """A hard refresh: whatever a page held is gone, another one opens."""
    pages: list[Page] = []

    def opened() -> Page:
        for page in pages:
            page.api.close()
        pages[:] = [Page(server.host, secret)]
        return pages[0]

    yield opened
    for page in pages:
        page.api.close()


@pytest.fixture
def page(reload: Callable[[], Page]) -> Page:
    return reload()


def texts(bundle: Any) -> list[str]:
    return [message["text"] for message in bundle["messages"]]


def handoff_of(page: Page, project: str, *decisions: str) -> str:
    """The address of this project's handoff, with these decisions added."""
    made = page.api.call("POST", "/projects", {"path": project})
    for text in decisions:
        page.api.call("POST", f"/projects/{made['id']}/handoff/decisions", {"text": text})
    return f"/projects/{made['id']}/handoff"


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
        page.resume(project)
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


# Limitations that are gone


def test_001_the_plan_sidebar_repaints(page: Page) -> None:
    _, session = page.api.session(SHOP)
    with page.listen(SHOP) as mine:
        mine.say(type="resume")
        assert [frame["type"] for frame in (mine.until_type("SESSION_RESTORED"), *mine.silence(0.3))] == ["SESSION_RESTORED"]
    page.api.call("PUT", f"/sessions/{session}/agent-state", {"plan": PLAN})
    with page.listen(SHOP) as mine, page.listen(SHOP) as other:
        mine.say(type="resume")
        frames = [mine.next(), mine.next()]
        assert [frame["type"] for frame in frames] == ["SESSION_RESTORED", "PLAN_RESTORED"]
        assert (frames[0]["data"]["agent_state"]["plan"], frames[1]["data"]) == (PLAN, PLAN)
        assert [(frame["type"], "data" in frame) for frame in (other.next(), other.next())] == [
            ("SESSION_RESTORED", False),
            ("PLAN_RESTORED", False),
        ]
        page.resume(SHOP)
        assert [other.next()["type"], other.next()["type"]] == ["SESSION_RESTORED", "PLAN_RESTORED"]


def test_001_sessions_are_isolated(page: Page) -> None:
    sessions = [page.api.session(SHOP)[1], page.api.session(SHOP)[1], page.api.session(OTHER)[1]]
    for session in sessions:
        page.say(session, f"of {session}")
        page.api.call(
            "PUT", f"/sessions/{session}/agent-state", {"pr_data": {"pr": session}, "plan": PLAN, "pending_action": ASK}
        )
        page.api.call("PUT", f"/sessions/{session}/ai-states/claude", {"working_notes": f"of {session}"})
    first, *others = sessions
    page.api.call("PATCH", f"/sessions/{first}/agent-state/plan/steps/s2", {"status": "failed"})
    page.api.call("POST", f"/sessions/{first}/agent-state/pending-action/a1/resolve", {"decision": "reject"})
    page.api.call("DELETE", f"/sessions/{first}/ai-states/claude")
    for session in others:
        assert texts(page.get(f"/sessions/{session}")) == [f"of {session}"]
        state = page.get(f"/sessions/{session}/agent-state")
        assert (state["pr_data"], state["plan"], state["pending_action"]) == ({"pr": session}, PLAN, ASK)
        assert page.get(f"/sessions/{session}/agent-state/pending-action/a1")["status"] == "pending"
        assert page.get(f"/sessions/{session}/ai-states/claude")["working_notes"] == f"of {session}"


def test_001_there_is_no_ceiling_of_5_megabytes(page: Page) -> None:
    _, session = page.api.session(SHOP)
    long = [f"{number} " + "x" * 99_990 for number in range(72)]
    for start in (0, 36):
        ops = [
            {"op": "upsert", "id": f"m{start + n}", "role": "user", "text": text}
            for n, text in enumerate(long[start : start + 36])
        ]
        body = {"epoch": 1, "writer_id": page.writer, "seq": start + 1, "ops": ops}
        assert len(page.api.call("POST", f"/sessions/{session}/changes", body)["applied"]) == 36
    page.api.call("PUT", f"/sessions/{session}/agent-state", {"context": "y" * 4_000_000, "plan": PLAN})
    back = page.resume(SHOP)
    assert back["session"]["size_bytes"] > 7_000_000
    assert (len(back["agent_state"]["context"]), back["agent_state"]["plan"]) == (4_000_000, PLAN)
    found = list(back["messages"])
    while len(found) < 72:
        older = page.get(f"/sessions/{session}/messages", before=found[0]["id"], limit=20)["items"]
        assert older
        found = older + found
    assert [message["text"] for message in found] == long


def test_000_an_agent_s_own_state_is_there_after_a_restore(reload: Callable[[], Page]) -> None:
    """The "agent context gap": the chat came back, but what the agent knew beside it did not."""
    page = reload()
    _, session = page.api.session(SHOP)
    page.say(session, "Change the door")
    tools = {"open_files": ["a.py"], "calls": [{"id": "call-1", "tool": "grep", "result": None}], "cursor": 2**60, "ratio": 0.1}
    state = {"context": tools, "plan": PLAN, "last_error": {"step": "s2", "message": "no such file"}, "pr_data": {"number": 7}}
    page.api.call("PUT", f"/sessions/{session}/agent-state", state)
    page.api.call("PUT", f"/sessions/{session}/ai-states/claude", {"todos": [TODO], "working_notes": "half way"})
    handoff_of(page, SHOP, "Use a door")
    back = reload().resume(SHOP)
    assert texts(back) == ["Change the door"]
    assert {name: back["agent_state"][name] for name in state} == state
    assert [(item["ai_id"], item["working_notes"]) for item in back["ai_states"]] == [("claude", "half way")]
    assert [item["text"] for item in back["handoff"]["live"]["decisions"]] == ["Use a door"]


def test_000_no_stale_chat_after_a_project_switch(page: Page) -> None:
    sessions = {project: page.api.session(project)[1] for project in (SHOP, OTHER)}
    for project, session in sessions.items():
        page.say(session, f"of {project}")
    tags = {project: page.ask(project)["ETag"] for project in sessions}
    for project, other in ((SHOP, OTHER), (OTHER, SHOP)):
        crossed = page.ask(project, tags[other])
        assert (crossed["status"], texts(crossed["body"])) == (200, [f"of {project}"])
        assert page.ask(project, tags[project])["status"] == 304
    with page.listen(SHOP) as here:
        page.say(sessions[OTHER], "of the other project", seq=2)
        assert here.silence(0.3) == []
    stray = {"epoch": 1, "writer_id": page.writer, "seq": 3, "ops": [{"op": "delete", "id": "m0"}]}
    page.api.call("POST", f"/sessions/{sessions[OTHER]}/changes", stray)
    assert texts(page.resume(SHOP)) == [f"of {SHOP}"]


def test_000_no_stale_chat_where_a_path_was_given_to_another_project(page: Page) -> None:
    project, session = page.api.session(SHOP)
    page.say(session, "of the old one")
    tag = page.ask(SHOP)["ETag"]
    page.api.call("DELETE", f"/projects/{project}", purge=1)
    page.say(page.api.session(SHOP)[1], "of the new one")
    assert texts(page.ask(SHOP, tag)["body"]) == ["of the new one"]
