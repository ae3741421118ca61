"""The session store of the Claude Agent SDK in JavaScript: what the server refuses, and a server that is away."""

import json
import re
import threading
import time
from typing import Any

import pytest

from stillhere import Client
from tests.clients.js.claude_agent.conftest import Script, Start
from tests.clients.js.claude_agent.test_store import AWAY, KEY, PROJECT, said
from tests.clients.js.conftest import MODULES, NODE
from tests.clients.python.gate import Gate
from tests.support.live_server import LiveServer

pytestmark = pytest.mark.skipif(
    NODE is None or not (MODULES / "@anthropic-ai/claude-agent-sdk").exists(), reason="Node or the SDK is missing."
)
TRASH = """
const store = open();
await store.append(KEY, [said(1)]);
await store.load(KEY);
const headers = { Authorization: `Bearer ${key}` };
const { id } = await store.client.findSession(GIVEN.name);
await fetch(`${url}/api/v1/sessions/${id}`, { method: "DELETE", headers });
const other = { ...KEY, sessionId: "other" };
await store.append(KEY, [said(2)]);
await store.append(other, [said(3)]);
say([await store.load(KEY), await store.load(other), (await store.refused()).length]);
"""
WRONG_KEY = """
const store = new StillhereSessionStore({ url, key: "sh_wrong", project: "/home/alice/agents", spool: folder });
await store.append(KEY, [said(1)]);
const begun = performance.now();
const errors = [];
for (const read of [() => store.load(KEY), () => store.listSessions("p")]) {
  errors.push(await read().then(() => null, ({ name, message, cause }) => [name, message, cause.status]));
}
say([errors, await store.close(), performance.now() - begun]);
"""
DEEP = """
const deep = (levels) => (levels === 0 ? "x" : { inner: deep(levels - 1) });
const results = [59, 60, 500].map((levels, n) => ({ ...said(n + 2), result: deep(levels) }));
const entries = [said(1), ...results, said(5)];
const store = open();
await store.append(KEY, entries);
assert.deepEqual(await store.load(KEY), entries);
say((await store.refused()).length);
"""
CLOSED = """
const store = open();
await store.append(KEY, [said(1)]);
console.log("appended");
for await (const _ of process.stdin) break;
const begun = performance.now();
console.log(await store.close(500), performance.now() - begun);
process.on("exit", () => console.log(performance.now() - begun));
process.stdin.destroy();
"""
READING = """
const store = open();
await store.append(KEY, [said(1)]);
for await (const _ of process.stdin) break;
const reading = store.load(KEY);
console.log("reading");
say(await reading);
process.stdin.destroy();
"""
PROJECTS = """
const other = "/home/alice/others";
if (GIVEN.first) {
  const [store, second] = [open(), open(other)];
  await store.append(KEY, [said(1)]);
  await second.append(KEY, [said(2)]);
  say([await store.close(50), await second.close(50)]);
} else {
  const second = open(other);
  const alone = [await second.load(KEY), await second.close()];
  const store = open();
  say([alone, await store.load(KEY), await store.close()]);
}
"""
FAILING = """
const store = open();
const other = { ...KEY, sessionId: "other" };
await store.append(KEY, [{ ...said(1), uuid: "poison" }]);
await store.append(KEY, [said(2)]);
await store.append(other, [said(3)]);
const found = await store.load(other);
const reason = await store.load(KEY).then(String, String);
await store.append(KEY, [said(5)]);
await store.append(other, [said(4)]);
say([found, await store.load(other), (await store.listSessions(KEY.projectKey)).map(({ sessionId }) => sessionId), reason]);
for await (const _ of process.stdin) break;
say([await store.load(KEY), await store.close(), (await store.refused()).length]);
process.stdin.destroy();
"""


def warnings(start: Start, code: str, **given: Any) -> tuple[Any, str]:
    """What the code says, and what the log has."""
    with start(code, **given) as process:
        output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, output + errors
    return json.loads(output), errors


def test_a_session_in_the_trash_holds_nothing_up_and_is_named(start: Start, server: LiveServer, secret: str) -> None:
    name = f'claude-agent:["{KEY["project_key"]}", "{KEY["session_id"]}"]'
    loaded, log = warnings(start, TRASH, name=name)
    assert loaded == [None, [said(3)], 1]
    assert f"Entries of {name} are not stored" in log
    assert "is in the trash" in log
    assert "(u2)" in log
    assert f"The session {name} is in the trash. Restore it on its page to continue it." in log


def test_entries_that_the_server_rejects_are_named(start: Start) -> None:
    """The store makes valid ones: an unknown role stands for all."""
    code = """
    const store = open();
    const save = store.sender._saveOps.bind(store.sender);
    store.sender._saveOps = (session, ops, options) =>
      save(session, ops.map((op) => (op.id === "u2" ? { ...op, colour: "red" } : op)), options);
    await store.append(KEY, [said(1), said(2), said(3)]);
    say([await store.load(KEY), await store.refused()]);
    """
    (loaded, (file,)), log = warnings(start, code)
    assert loaded == [said(1), said(3)]
    assert re.search(rf"\[Stillhere\] Entries of claude-agent:.* are not stored, they are in .*{file}: .*\(colour\) \(u2\)", log)


def test_only_the_entry_that_is_refused_is_set_aside(start: Start, gate: Gate) -> None:
    code = """
    const store = open();
    await store.append(KEY, [said(1), said(2), said(3)]);
    say([await store.load(KEY), (await store.refused()).length]);
    """
    # Project, session, all three, the first two, the first, the second, the third.
    gate.next.extend(["passed", "passed", (400, 0), (400, 0), "passed", (400, 0)])
    outcome, log = warnings(start, code)
    assert outcome == [[said(1), said(3)], 1]
    assert "(u2)" in log


def test_entries_that_are_nested_too_deeply_come_back_as_they_were(script: Script) -> None:
    assert script(DEEP) == 0


def test_a_wrong_key_is_said_at_once(start: Start) -> None:
    (errors, closed, milliseconds), log = warnings(start, WRONG_KEY)
    for name, message, status in errors:
        assert (name, status) == ("SpoolError", 401)
        assert message.startswith("The server has not taken everything that was appended: ")
    assert not closed
    assert milliseconds < 10_000
    assert log.count("The server refuses the key: ") == 1


@pytest.mark.timed
@pytest.mark.slow
def test_a_read_sees_at_once_that_the_server_is_back(start: Start, gate: Gate) -> None:
    """Pauses grow to 30 seconds while nobody waits."""
    gate.away = True
    with start(AWAY) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "appended\n"
        while len(gate.seen) < 5:
            time.sleep(0.1)
        gate.away = False
        begun = time.monotonic()
        output, errors = process.communicate("go\n", timeout=60)
    assert len(json.loads(output)) == 12, errors
    assert time.monotonic() - begun < 5


@pytest.mark.timed
@pytest.mark.parametrize("away", [True, False])
def test_a_close_without_a_server_ends_in_time(start: Start, gate: Gate, server: LiveServer, secret: str, away: bool) -> None:
    """Also one that takes requests and does not answer them."""
    gate.away, gate.silent = away, not away
    with start(CLOSED) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "appended\n"
        while not gate.seen:
            time.sleep(0.05)
        output, errors = process.communicate("go\n", timeout=60)
        (everything, closed), (ended,) = (line.split() for line in output.splitlines())
    gate.silent = False
    assert (everything, errors) == ("false", "")
    assert float(closed) < 1500
    assert float(ended) < 3000
    gate.away = False
    with start("const store = open(); say(await store.load(KEY)); await store.close();") as process:
        output, errors = process.communicate(timeout=60)
    assert json.loads(output) == [said(1)], errors
    with Client(server.url, secret, PROJECT) as client:
        assert len(client.list_sessions(tag="claude-agent").items) == 1


def test_a_refusal_on_its_way_is_no_answer_to_a_later_read(start: Start, gate: Gate) -> None:
    arrives, goes_on = threading.Event(), threading.Event()

    def signed_out(body: bytes) -> int:
        arrives.set()
        goes_on.wait(20)
        return 401

    gate.own_refusal = signed_out
    with start(READING) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert arrives.wait(20)
        gate.own_refusal = lambda body: None
        process.stdin.write("go\n")
        process.stdin.flush()
        assert process.stdout.readline() == "reading\n"
        time.sleep(0.3)
        goes_on.set()
        output, errors = process.communicate(timeout=60)
    assert json.loads(output) == [said(1)], errors


def test_stores_of_several_projects_may_share_a_folder(script: Script, gate: Gate) -> None:
    gate.away = True
    assert script(PROJECTS, first=True) == [False, False]
    gate.away = False
    assert script(PROJECTS) == [[[said(2)], True], [said(1)], True]


def test_a_read_waits_for_what_was_appended_before_it_and_for_no_more(script: Script) -> None:
    code = """
    const store = open();
    await store.append(KEY, [said(0)]);
    let reading = true;
    const appending = (async () => {
      for (let number = 1; reading; number += 1) {
        await store.append({ ...KEY, sessionId: "other" }, [said(number)]);
        await new Promise((go) => setTimeout(go, 5)); // So that a slow server has them all in the time of a close.
      }
    })();
    const found = await store.load(KEY);
    reading = false;
    await appending;
    say([found, await store.close()]);
    """
    assert script(code) == [[said(0)], True]


def test_a_transcript_at_which_the_server_fails_holds_up_no_other_one(start: Start, gate: Gate) -> None:
    gate.own_refusal = lambda body: 500 if b"poison" in body else None
    with start(FAILING) as process:
        assert process.stdout is not None
        found, other, listed, reason = json.loads(process.stdout.readline())
        gate.own_refusal = lambda body: None
        output, errors = process.communicate("go\n", timeout=60)
    assert (found, other) == ([said(3)], [said(3), said(4)]), errors
    assert "500" in reason
    assert "other" in listed
    poisoned = [{**said(1), "uuid": "poison"}, said(2), said(5)]
    assert json.loads(output) == [poisoned, True, 0], errors
    assert errors.count("The server fails at entries of ") == 1
