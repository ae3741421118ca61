"""What an agent holds, by the browser module: saved as surely as messages, restored before anybody asks for it."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from sessions_app.models import AgentState, PendingAction
from tests.browser.driving import Browser, wait_for
from tests.browser.frontends import Frontend
from tests.support.live_server import LiveServer
from tests.support.suite import first_of

pytestmark = [pytest.mark.browser, pytest.mark.once]
PLAN = {"title": "A plan", "steps": [{"id": "s1", "title": "Begin", "status": "pending"}]}
SAVE = "return await window.chat.saveState(args[0], args[1]);"
NO_ANSWERS = """
    const send = window.fetch;
    window.fetch = async (url, options) => {
      const answer = await send(url, options);
      if (options?.method === "PATCH") throw new TypeError("lost");
      return answer;
    };
"""
NEVER_SENT = """
    const send = window.fetch;
    window.fetch = (url, options) => (options?.method === "PATCH" ? new Promise(() => {}) : send(url, options));
"""
SAVE_UNSEEN = "window.chat.saveState(args[0]);"


@pytest.fixture
def page(browser: Browser, server: LiveServer, alice: User) -> Iterator[Frontend]:
    yield Frontend(browser, server, alice)
    browser.leave()


@pytest.fixture
def agent(api: Callable[..., Any], alice: User) -> Any:
    """Somebody else who works in the same session."""
    return api(alice)


def begin(page: Frontend) -> str:
    """A page whose session the server has."""
    page.load()
    page.say("m1", "Hello")
    page.settle()
    return str(page.browser.run("return window.chat.session.id;"))


def test_a_state_is_saved_merged_replaced_and_read(page: Frontend, agent: Any) -> None:
    session = begin(page)
    assert page.browser.run("return await window.chat.state();") is None
    saved = page.browser.run(SAVE, {"plan": PLAN, "context": {"file": "a.py"}}, {})
    assert (saved["rev"], saved["plan"]) == (1, PLAN)
    assert page.browser.run(SAVE, {"context": None, "last_error": "oh"}, {})["plan"] == PLAN
    agent.patch(f"/sessions/{session}/agent-state/plan/steps/s1", {"status": "completed"})
    now = page.browser.run("return await window.chat.state();")
    assert (now["plan"]["steps"][0]["status"], now["last_error"], "context" in now) == ("completed", "oh", False)
    assert "plan" not in page.browser.run(SAVE, {"context": "fresh"}, {"replace": True})
    assert page.browser.run(SAVE, {"plan": {"steps": 1}}, {}) is None
    assert [refused["status"] for refused in page.heard("refused")] == [422]


def test_a_state_may_come_before_the_first_message(page: Frontend) -> None:
    page.load()
    assert page.browser.run(SAVE, {"plan": PLAN}, {})["plan"] == PLAN
    assert page.load()["agentState"]["plan"] == PLAN


def test_the_session_is_restored_and_then_its_plan(page: Frontend) -> None:
    begin(page)
    page.browser.run(SAVE, {"plan": PLAN}, {})
    assert page.load()["agentState"]["plan"] == PLAN
    types = [frame["type"] for frame in page.browser.run("return window.heard;")]
    assert [type for type in types if type.endswith("RESTORED")] == ["SESSION_RESTORED", "PLAN_RESTORED"]
    assert page.heard("PLAN_RESTORED")[0]["data"] == PLAN
    page.browser.run(SAVE, {"plan": None}, {})
    page.load()
    assert page.heard("PLAN_RESTORED") == []


@pytest.mark.slow
def test_peek_paints_the_plan_without_a_request(page: Frontend) -> None:
    begin(page)
    page.browser.run(SAVE, {"plan": PLAN}, {})
    page.browser.offline()
    page.browser.run(SAVE_UNSEEN, {"context": "unsent"})
    page.browser.online()
    page.browser.open(f"{page.server.url}/healthz")
    page.browser.requests()
    script = "const { connect } = await import(args[0]); return connect(args[1]).peek();"
    peeked = page.browser.run(
        script, "/static/js/stillhere.js", {"project": page.project, "auth": {"cookie": True, "user": "alice"}}
    )
    assert (peeked["agentState"]["plan"], peeked["agentState"]["context"]) == (PLAN, "unsent")
    assert not [sent for sent in page.browser.requests() if "/api/" in sent["url"]]


@pytest.mark.slow
def test_a_state_saved_in_a_tunnel_goes_when_the_network_is_back(page: Frontend) -> None:
    begin(page)
    page.browser.offline()
    for number in range(5):
        page.browser.run(SAVE_UNSEEN, {"context": {"turn": number}})
    assert not page.browser.run("return await window.chat.settled(100);")
    page.browser.online()
    page.settle()
    wait_for(lambda: '"turn":4' in (AgentState.objects.values_list("content", flat=True).first() or "").replace(" ", ""))


@pytest.mark.parametrize("meanwhile", [False, True])
@pytest.mark.slow
def test_a_closed_page_s_own_save_whose_answer_was_lost_holds_nothing_up(page: Frontend, agent: Any, meanwhile: bool) -> None:
    session = begin(page)
    first = page.browser.driver.current_window_handle
    second = page.browser.new_tab("about:blank")
    page.browser.go_to(first)
    page.browser.run(SAVE, {"context": "saved"}, {})
    page.browser.run(NO_ANSWERS)
    page.browser.run(SAVE_UNSEEN, {"context": {"turn": 1, "of": [2]}})
    wait_for(lambda: agent.get(f"/sessions/{session}/agent-state").json()["context"] == {"of": [2], "turn": 1})
    page.browser.offline()
    page.browser.run(SAVE_UNSEEN, {"context": "unsent"})
    page.browser.run("await chat.stored();")
    page.browser.crash_tab(then=second)
    if meanwhile:
        agent.put(f"/sessions/{session}/agent-state", {"context": "theirs"})
    assert page.load()["agentState"]["context"] == ("theirs" if meanwhile else "unsent")
    page.settle()
    assert agent.get(f"/sessions/{session}/agent-state").json()["context"] == ("theirs" if meanwhile else "unsent")


KEEP = """
    const { storage } = chat._sessionClient.parts;
    for (const [writer, at, context] of args[1])
      storage.keepState(writer, { session: args[0], fields: { context }, replace: false, rev: 1, at });
"""


@pytest.mark.slow
def test_of_what_several_closed_pages_left_the_newest_goes(page: Frontend, agent: Any) -> None:
    session = begin(page)
    page.browser.run(SAVE, {"context": "saved"}, {})
    page.browser.run(KEEP, session, [["a", 1_000, "first"], ["b", 3_000, "third"], ["c", 2_000, "second"]])
    assert page.load()["agentState"]["context"] == "third"
    page.settle()
    assert agent.get(f"/sessions/{session}/agent-state").json()["context"] == "third"


@pytest.mark.parametrize("meanwhile", first_of([True, False], 1))
def test_what_a_living_page_has_not_sent_is_sent_by_another_when_it_has_ended(
    page: Frontend, agent: Any, meanwhile: bool
) -> None:
    """Before, it would be sent a second time, perhaps after a newer one."""
    session = begin(page)
    first = page.browser.driver.current_window_handle
    page.browser.run(NEVER_SENT)
    page.browser.run(SAVE_UNSEEN, {"context": "kept"})
    page.browser.run("await chat.stored();")
    page.browser.driver.switch_to.new_window("window")
    second = page.browser.driver.current_window_handle
    page.load()
    page.settle()
    path = f"/sessions/{session}/agent-state"
    assert agent.get(path).status_code == 404
    if meanwhile:
        agent.put(path, {"context": "theirs"})
    page.browser.go_to(first)
    page.browser.crash_tab(then=second)
    if meanwhile:
        wait_for(lambda: page.browser.run("return Object.keys(localStorage).every((key) => !key.includes(':state:'));"))
        page.settle()
    wait_for(lambda: agent.get(path).json().get("context") == ("theirs" if meanwhile else "kept"))


def test_what_was_left_for_another_session_waits_for_it(page: Frontend) -> None:
    """For a month."""
    begin(page)
    now = page.browser.run("return Date.now();")
    page.browser.run(KEEP, str(uuid.uuid4()), [["a", now, "of last time"], ["b", now - 31 * 86_400_000, "of long ago"]])
    page.load()
    kept = page.browser.run("return (await chat._sessionClient.parts.storage.keptStates()).map(([writer]) => writer);")
    assert kept == ["a"]


@pytest.mark.slow
def test_a_state_that_goes_to_the_joined_chat_is_as_old_as_it_was(page: Frontend) -> None:
    session = begin(page)
    page.browser.run(KEEP, "never-made", [["a", 1_000, "first"]])
    kept = page.browser.run(
        "const { storage, agentStates } = chat._sessionClient.parts; await agentStates.join('never-made', args[0]);"
        "return (await storage.keptStates()).map(([, { session, at }]) => [session, at]);",
        str(uuid.uuid4()),
    )
    assert [at for _, at in kept] == [1_000]
    assert kept[0][0] not in {"never-made", session}


@pytest.mark.parametrize("meanwhile", first_of([False, True], 1))
def test_what_a_closed_page_could_not_send_goes_unless_somebody_saved_since(page: Frontend, agent: Any, meanwhile: bool) -> None:
    session = begin(page)
    page.browser.run(SAVE, {"context": "saved"}, {})
    page.browser.offline()
    page.browser.run(SAVE_UNSEEN, {"context": "unsent"})
    page.browser.driver.get("data:,")
    page.browser.online()
    if meanwhile:
        agent.put(f"/sessions/{session}/agent-state", {"context": "theirs"})
    assert page.load()["agentState"]["context"] == ("theirs" if meanwhile else "unsent")
    if not meanwhile:
        wait_for(lambda: agent.get(f"/sessions/{session}/agent-state").json()["context"] == "unsent")
    page.settle()
    assert page.browser.run("return Object.keys(localStorage).filter((key) => key.includes(':state:')).length;") == 0


def test_an_action_is_resolved_and_who_is_late_gets_the_first_answer(page: Frontend, agent: Any) -> None:
    session = begin(page)
    asked = {"pending_action": {"id": "a1", "kind": "deploy"}}
    agent.put(f"/sessions/{session}/agent-state", asked)
    done = page.browser.run("return await window.chat.resolveAction('approve', { note: 'go' });")
    assert (done["status"], done["resolution"]["note"], "late" in done) == ("resolved", "go", False)
    late = page.browser.run("return await window.chat.resolveAction('reject', { action: 'a1' });")
    assert (late["resolution"]["decision"], late["late"]) == ("approve", True)
    agent.put(f"/sessions/{session}/agent-state", {"pending_action": {**asked["pending_action"], "id": "a2"}})
    PendingAction.objects.filter(action_id="a2").update(expires_at="2020-01-01T00:00:00Z")
    assert page.browser.run("return await window.chat.resolveAction('reject');")["status"] == "expired"


def test_the_handoff_is_read_live_and_frozen(page: Frontend, agent: Any) -> None:
    page.load()
    assert page.browser.run("return await window.chat.handoff();") is None
    project = agent.post("/projects", {"path": page.project}).json()["id"]
    agent.post(f"/projects/{project}/handoff/decisions", {"text": "Ship it"})
    handoff = page.browser.run("return await window.chat.handoff();")
    assert (handoff["frozen"]["derived"], handoff["live"]["decisions"][0]["text"]) == (True, "Ship it")
    begin(page)
    frozen = agent.post(f"/projects/{project}/handoff/freeze").json()
    agent.patch(f"/projects/{project}/handoff", {"summary": "later"})
    handoff = page.browser.run("return await window.chat.handoff();")
    assert handoff["frozen"] == {name: frozen[name] for name in ("number", "sha256", "payload")}
    assert handoff["live"]["summary"] == "later"


@pytest.mark.slow
def test_a_state_that_follows_the_first_words_at_once_waits_for_their_session(page: Frontend) -> None:
    page.load()
    state = page.browser.run(
        "chat.save([{ id: 'm1', role: 'user', text: 'the first words' }]);"
        "const { port1, port2 } = new MessageChannel();"
        "const turn = () => new Promise((resolve) => { port1.onmessage = resolve; port2.postMessage(0); });"
        "while (!chat.session) await turn();"
        "return chat.saveState({ context: 'at once' });"
    )
    assert state["context"] == "at once"
    assert page.heard("refused") == []
