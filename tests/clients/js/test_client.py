"""The client for servers: what it sends, what it refuses, and what happens while the server fails."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stillhere import Client
from tests.clients.js.conftest import NODE, run
from tests.clients.python.gate import Gate
from tests.support.live_server import LiveServer
from tests.support.suite import is_patient

pytestmark = [pytest.mark.skipif(NODE is None, reason="Node is missing."), pytest.mark.once]
PROJECT = "/home/alice/shop"
PREPARED = """
import assert from "node:assert/strict";
import { Client, ApiError } from "stillhere";
const [url, key, given] = process.argv.slice(2);
const GIVEN = JSON.parse(given);
const open = (project = "/home/alice/shop") => new Client({ url, key, project });
const say = (value) => console.log(JSON.stringify(value));
const refusal = (promise) => promise.then(() => null, ({ name, status, code }) => [name, status, code]);
const client = open();
const { id } = await client.openSession("a");
"""
type Script = Callable[..., Any]


@pytest.fixture
def script(installed: Path, gate: Gate, secret: str, tmp_path: Path) -> Script:
    """Runs code in Node behind the gateway and returns what it says, if it says something."""
    (tmp_path / "node_modules").symlink_to(installed)

    def ran(code: str, **given: Any) -> Any:
        (tmp_path / "script.mjs").write_text(PREPARED + code)
        said = run("node", tmp_path / "script.mjs", gate.url, secret, json.dumps(given))
        return json.loads(said) if said else None

    return ran


def test_a_list_is_divided_by_its_bytes(script: Script, gate: Gate) -> None:
    """Each of these characters has three bytes: 60 messages are 18 MB, and 20 are 6 MB."""
    code = """
    const messages = Array.from({ length: GIVEN.count }, (_, n) => ({ id: `m${n}`, role: "user", text: "漢".repeat(99_999) }));
    const saved = await client.save(id, messages);
    assert.deepEqual((await client.messages(id)).map((one) => one.id), messages.map((one) => one.id));
    say([saved.length, saved.flatMap(({ rejected }) => rejected)]);
    """
    requests, rejected = script(code, count=60 if is_patient() else 20)
    assert rejected == []
    assert requests > 1
    assert requests == sum(path.endswith("/changes") for path in gate.seen)


def test_what_is_undefined_is_left_out(script: Script) -> None:
    code = """
    const messages = [{ id: undefined, role: "user", text: "one" }, { role: "user", text: "two", parts: undefined }];
    const [saved] = await client.save(id, messages);
    assert.deepEqual(saved.rejected, []);
    assert.equal(new Set(saved.applied.map(({ id }) => id)).size, 2);
    await assert.rejects(client.save(id, messages[0]), { name: "TypeError", message: "Pass a list of messages: [{…}]." });
    say((await client.messages(id)).map(({ text }) => text));
    """
    assert script(code) == ["one", "two"]


def test_a_rejected_message_is_named(script: Script) -> None:
    code = 'say((await client.save(id, [{ id: "m1", role: "user", text: "" , raw: 1, color: "red" }]))[0].rejected);'
    (rejected,) = script(code)
    assert {"id", "index", "reason", "message"} <= set(rejected)
    assert (rejected["id"], rejected["index"], rejected["reason"]) == ("m1", 0, "unknown_field")


def test_a_project_may_be_named_by_its_id(script: Script, server: LiveServer, secret: str) -> None:
    with Client(server.url, secret, PROJECT) as client:
        project = client.get_project()
    code = """
    const byId = open(GIVEN.project);
    await byId.save(id, [{ id: "m1", role: "user", text: "one" }]);
    const same = (await byId.openSession("a")).id === id && (await byId.findSession("a")).id === id;
    const { project, messages } = await byId.resume();
    const unknown = open("00000000-0000-4000-8000-000000000000");
    const refused = await Promise.all([refusal(unknown.openSession("a")), refusal(unknown.resume())]);
    say([same, project.path, messages.map(({ text }) => text), refused.map(([, status]) => status)]);
    """
    assert script(code, project=project.id) == [True, PROJECT, ["one"], [404, 404]]
    with Client(server.url, secret, PROJECT) as client:
        assert [each.path for each in client.list_projects().items] == [PROJECT]


def test_a_session_whose_id_has_no_address_is_refused(script: Script) -> None:
    code = """
    for (const call of ["openSession", "findSession", "messages"])
      for (const name of [".", ".."])
        await assert.rejects(client[call](name), { name: "TypeError", message: "The id of a session is neither `.` nor `..`." });
    """
    script(code)


def test_an_id_that_is_missing_is_not_that_of_a_session(script: Script) -> None:
    """It was the id "undefined", in which all chats met."""
    code = """
    const calls = ["openSession", "findSession", "messages"].map((name) => (id) => client[name](id));
    calls.push((id) => client.save(id, [{ role: "user", text: "x" }]), (id) => client.openStream(id, "a1"));
    for (const call of calls) {
      for (const id of [undefined, null, ""])
        await assert.rejects(call(id), { name: "TypeError", message: "The id of a session is not empty." }, `${call} ${id}`);
      await assert.rejects(call(42), { name: "TypeError", message: "The id of a session is a text, not number: 42" });
    }
    """
    script(code)


def test_a_message_that_is_no_object_is_named(script: Script) -> None:
    code = """
    for (const wrong of [undefined, null, "x", 7])
      await assert.rejects(client.save(id, [{ role: "user", text: "a" }, wrong]), { message: "messages[1] is no object." });
    say((await client.messages(id)).length);
    """
    assert script(code) == 0


def test_what_is_no_key_is_refused(script: Script) -> None:
    code = """
    for (const key of GIVEN.keys) {
      const made = () => new Client({ url, key, project: "p" });
      assert.throws(made, { name: "TypeError", message: /^`key` has a line break, or characters that no key has/ }, key);
    }
    """
    script(code, keys=["sh_x\n", "sh_ä", "sh_\u2026x"])


def test_a_refused_append_leaves_the_stream_open(script: Script) -> None:
    """What waits behind it is refused with it: a stream has no gaps."""
    code = """
    const read = async ({ id }, options) => {
      const chunks = [];
      for await (const chunk of client.readStream(id, options)) chunks.push(chunk);
      return chunks;
    };
    const stream = await client.openStream(id, "a1");
    await stream.append(["one"]);
    const outcomes = await Promise.allSettled([stream.append([1]), stream.append([" no"])]);
    await stream.append([" two"]).then(() => stream.append([" three"]));
    await refusal(stream.append([2]));
    await stream.end();
    say([outcomes.map(({ status, reason }) => [status, reason.status]), await read(stream), stream.offset]);
    """
    assert script(code) == [[["rejected", 422]] * 2, ["one", " two", " three"], 3]


def test_an_append_without_an_answer_is_not_written_over(script: Script, gate: Gate) -> None:
    code = """
    client.patience = 0;
    const stream = await client.openStream(id, "a1");
    await stream.append(["one"]);
    say([await refusal(stream.append([" two"])), await stream.append([" three"]), stream.offset]);
    """
    gate.next.extend(["passed"] * 4 + ["lost"])
    assert script(code) == [["ApiError", 0, "unreachable"], None, 3]


def test_a_reader_learns_how_a_stream_ended(script: Script, server: LiveServer) -> None:
    code = """
    const outcomes = [];
    for (const how of [{}, { interrupted: true }]) {
      const stream = await client.openStream(id, `a${outcomes.length}`);
      await stream.append(["one"]);
      await stream.end(how);
      let ended;
      const onEnd = (state) => { ended = state; };
      for await (const _ of client.readStream(stream.id, { onEnd })) assert.equal(ended, undefined);
      const reading = client.readStream(stream.id);
      const read = [await reading.next(), await reading.next()];
      outcomes.push([ended, read]);
    }
    const direct = new Client({ url: GIVEN.url, key, project: "/home/alice/shop" });
    const unended = await client.openStream(id, "a2");
    await unended.append(["one"]);
    const stop = new AbortController();
    let told = 0;
    for await (const _ of direct.readStream(unended.id, { signal: stop.signal, onEnd: () => { told += 1; } })) stop.abort();
    say([outcomes, told]);
    """
    outcomes, told = script(code, url=server.url)  # The gateway holds an answer back until its end.
    chunk = {"done": False, "value": "one"}
    assert outcomes == [[state, [chunk, {"done": True, "value": state}]] for state in ("complete", "interrupted")]
    assert told == 0


@pytest.mark.slow
def test_a_server_that_is_back_is_asked_soon(script: Script, gate: Gate) -> None:
    """The pauses grew to 13 seconds."""
    code = 'say([await client.findSession("a") !== null, performance.now()]);'
    gate.next.extend(["passed", "passed", *[(503, 0)] * 6])
    begun = time.monotonic()
    assert script(code)[0]
    assert time.monotonic() - begun < 12


def test_a_wrong_key_is_said_at_once(script: Script, gate: Gate) -> None:
    code = """
    const wrong = new Client({ url, key: "sh_wrong", project: "/home/alice/shop" });
    say(await Promise.all([refusal(wrong.openSession("a")), refusal(wrong.resume()), refusal(wrong.save(id, []))]));
    """
    seen = len(gate.seen)
    assert [status for _, status, _ in script(code)] == [401] * 3
    assert len(gate.seen) - seen == 5


def test_a_full_account_is_said_at_once(script: Script, gate: Gate) -> None:
    code = 'say(await refusal(client.save(id, [{ role: "user", text: "x" }])));'
    gate.next.extend(["passed", "passed", (507, 0)])
    assert script(code)[1] == 507
    assert sum(request.endswith("/changes") for request in gate.seen) == 1


def test_a_clock_that_is_set_back_prolongs_nothing(script: Script) -> None:
    code = """
    const refused = new Client({ url: "http://127.0.0.1:9", key, project: "/home/alice/shop" });
    refused.patience = 1000;
    const now = Date.now;
    let hours = 0;
    Date.now = () => now() - (hours += 1) * 3600_000;
    const ended = await Promise.race([refusal(refused.resume()), new Promise((resolve) => setTimeout(resolve, 10_000, "waits"))]);
    say(ended);
    process.exit();
    """
    assert script(code) == ["ApiError", 0, "unreachable"]


def test_a_project_that_was_erased_is_created_again_if_its_path_is_known(script: Script) -> None:
    code = """
    const project = await client._project();
    await client._send("DELETE", `/projects/${project}?purge=1`);
    const byId = await refusal(open(project).openSession("a"));
    const found = await client.findSession("a");
    const again = await client.openSession("a");
    say([byId, found, again.project_id !== project, await refusal(client.save(again.id, [{ role: "user", text: "x" }]))]);
    """
    assert script(code) == [["ApiError", 404, "not_found"], None, True, None]
