"""The limitations that the plans behind this store lived with (seeds 000 and 001) are gone. Through the real server."""

from collections.abc import Callable

from tests.support.page_load import ASK, OTHER, PLAN, SHOP, TODO, Page, handoff_of, texts


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
    page.say(session, "Change the title")
    tools = {"open_files": ["a.py"], "calls": [{"id": "call-1", "tool": "grep", "result": None}], "cursor": 2**60, "ratio": 0.1}
    state = {"context": tools, "plan": PLAN, "last_error": {"step": "s2", "message": "no such file"}, "pr_data": {"number": 7}}
    page.api.call("PUT", f"/sessions/{session}/agent-state", state)
    page.api.call("PUT", f"/sessions/{session}/ai-states/claude", {"todos": [TODO], "working_notes": "half way"})
    handoff_of(page, SHOP, "Use a door")
    back = reload().resume(SHOP)
    assert texts(back) == ["Change the title"]
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
