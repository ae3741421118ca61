"""The session store of the Claude Agent SDK in JavaScript: its contracts, and what happens while the server or the disk fails."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from stillhere import Client
from stillhere.claude_agent import StillhereSessionStore
from tests.clients.js.claude_agent.conftest import Script, Start
from tests.clients.js.conftest import MODULES, NODE
from tests.clients.python.gate import Gate
from tests.support.live_server import LiveServer
from tests.support.suite import first_of

pytestmark = pytest.mark.skipif(
    NODE is None or not (MODULES / "@anthropic-ai/claude-agent-sdk").exists(), reason="Node or the SDK is missing."
)
PROJECT = "/home/alice/agents"
KEY: Any = {"project_key": "-home-ana-shop", "session_id": "5b1c9a52-9a4c-4d3f-8a6e-0d1d6b8f7c11"}
UNUSUAL = r"""
const entries = [
  { type: "user", uuid: "a".repeat(70), message: { role: "user", content: "NUL \0, 😊, \ud83d" }, n: 1e30, f: 0.1 },
  { type: "mode", n: 1 }, { type: "mode", n: 1 },
  { type: "user", uuid: "u2", message: { role: "user", content: [{ type: "image", source: { data: '"'.repeat(2_000_000) } }] } },
  { type: "assistant", uuid: "u3", message: { role: "assistant", content: "x".repeat(99_999) + "😊".repeat(60_000) } },
  { type: "user", uuid: "u4", message: "damaged" },
];
const store = open();
await store.append(KEY, entries);
assert.deepEqual(await open().load(KEY), entries);
await store.append(KEY, [entries[3], said(5)]);
assert.deepEqual(await store.load(KEY), [...entries, said(5)]);
await store.append(KEY, [{ ...said(5), again: true }]);
assert.deepEqual((await store.load(KEY)).at(-1), { ...said(5), again: true });
assert.deepEqual(await store.refused(), []);
"""
READ_BY_THE_SDK = """
const store = open();
const dir = "/home/ana/shop";
await store.append(KEY, [{ ...said(1), parentUuid: null, sessionId: KEY.sessionId, timestamp: "2026-01-01T00:00:00.000Z" }]);
const listed = async () =>
  (await sdk.listSessions({ sessionStore: open(), dir })).map((one) => [one.customTitle ?? null, one.firstPrompt]);
const before = await listed();
await store.append(KEY, [{ type: "custom-title", customTitle: "Checkout", sessionId: KEY.sessionId }]);
await store.load(KEY);
const messages = await sdk.getSessionMessages(KEY.sessionId, { sessionStore: store, dir });
say([before, await listed(), messages.map(({ uuid }) => uuid)]);
"""
# Says when the entries are on the disk, and goes on when it is told to.
AWAY = """
const store = open();
for (let number = 0; number < 6; number += 1) await store.append(KEY, [said(number), { type: "mode", n: number }]);
console.log("appended");
for await (const _ of process.stdin) {
  say(await store.load(KEY));
  await store.close();
  process.exit();
}
"""
APPENDING = """
const store = open();
for (let number = 0; ; number += 1) {
  await store.append({ projectKey: "p", sessionId: "s" }, [0, 1, 2].map((part) => ({ type: "mode", n: [number, part] })));
  console.log(number);
}
"""
LOADED = "say(await open().load(GIVEN.key ?? KEY));"
# The folder is a file: nothing can be written below it.
NO_DISK = """
import { writeFileSync } from "node:fs";
writeFileSync(`${folder}-full`, "");
const store = open(undefined, `${folder}-full`);
const batch = Array.from({ length: 150 }, (_, n) => ({ type: "mode", text: "x".repeat(50_000), n }));
console.log("ready");
for await (const line of process.stdin) {
  const outcome = await store.append(KEY, batch).then(() => "stored", (error) => error.name);
  console.log(outcome);
  if (outcome === "stored") process.exit();
}
"""


def said(number: int) -> dict[str, Any]:
    return {"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": str(number)}}


def test_the_contracts_of_the_sdk(script: Script) -> None:
    assert script(Path(__file__).with_name("contracts.js").read_text()) == 14


@pytest.mark.slow
def test_unusual_entries_come_back_as_they_were(script: Script) -> None:
    script(UNUSUAL)


@pytest.mark.parametrize("lengths", first_of([(1_500_000, 905_000), (1_500_000, 10), (905_000, 1_500_000)], 1))
def test_a_long_entry_is_replaced_by_one_of_another_length(script: Script, lengths: tuple[int, int]) -> None:
    """4, 3 or 0 pieces: those that are left over belong to nothing."""
    code = """
    const store = open();
    const long = (length) => ({ type: "user", uuid: "long", message: { role: "user", content: "x".repeat(length) } });
    const loaded = async () => (await store.load(KEY)).map(({ message }) => message.content.length);
    await store.append(KEY, [said(1), long(GIVEN.lengths[0]), said(2)]);
    const before = await loaded();
    await store.append(KEY, [long(GIVEN.lengths[1])]);
    say([before, (await loaded()).sort()]);
    """
    assert script(code, lengths=lengths) == [[1, lengths[0], 1], [1, 1, lengths[1]]]


def test_the_sdk_lists_and_reads_sessions(script: Script) -> None:
    assert script(READ_BY_THE_SDK) == [[[None, "1"]], [["Checkout", "1"]], ["u1"]]


def test_both_packages_read_the_same_transcripts(script: Script, server: LiveServer, secret: str, tmp_path: Path) -> None:
    sub: Any = {**KEY, "subpath": "subagents/" + "ä" * 120}
    with StillhereSessionStore(server.url, secret, PROJECT, spool=tmp_path / "python.db") as store:
        asyncio.run(store.append(KEY, [said(1)]))  # type: ignore[list-item]
        asyncio.run(store.append(sub, [said(2)]))  # type: ignore[list-item]
        assert asyncio.run(store.load(sub)) is not None
        given = {"projectKey": KEY["project_key"], "sessionId": KEY["session_id"], "subpath": sub["subpath"]}
        code = "const store = open(); await store.append(GIVEN.key, [said(3)]);"
        assert script(code + "say([await store.listSubkeys(KEY), await store.load(GIVEN.key)]);", key=given) == [
            [sub["subpath"]],
            [said(2), said(3)],
        ]
        assert asyncio.run(store.load(sub)) == [said(2), said(3)]


def test_pages_and_search_show_what_was_said(script: Script, server: LiveServer, secret: str) -> None:
    entries = [
        {"type": "summary", "summary": "Empty cart"},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "total = 0"}]}},
        {"type": "user", "isMeta": True, "message": {"content": "<command-name>/init"}},
    ]
    script("const store = open(); await store.append(KEY, GIVEN.entries); await store.close();", entries=entries)
    with Client(server.url, secret, PROJECT) as client:
        (session,) = client.list_sessions(tag="claude-agent").items
        assert not session.current
        assert [each.role for each in client.read_messages(session.id).items] == ["system", "assistant", "tool", "system"]
        result = {"role": "tool", "tool_call_id": "t1", "content": "total = 0"}
        assert client.read_as(session.id, "openai.chat").items[2] == result


@pytest.mark.once
def test_nothing_is_lost_while_the_server_is_away(start: Start, gate: Gate) -> None:
    gate.away = True
    with start(AWAY) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "appended\n"
        gate.next.extend(["lost", (503, 0), "lost"])
        gate.away = False
        output, errors = process.communicate("go\n", timeout=60)
    assert output, errors
    assert json.loads(output) == [entry for n in range(6) for entry in (said(n), {"type": "mode", "n": n})]


@pytest.mark.once
def test_a_process_that_is_killed_loses_nothing(start: Start, script: Script) -> None:
    with start(APPENDING) as process:
        assert process.stdout is not None
        numbers = [int(process.stdout.readline()) for _ in range(20)]
        process.send_signal(signal.SIGKILL)
        numbers += [int(line) for line in process.stdout]
    found = [entry["n"] for entry in script(LOADED, key={"projectKey": "p", "sessionId": "s"})]
    whole = [[number, part] for number in [*numbers, len(numbers)] for part in range(3)]
    # One more may be on the disk than was said, and no part of one.
    assert found in (whole[:-3], whole)


@pytest.mark.once
def test_without_a_disk_the_server_takes_the_entries(start: Start, script: Script, gate: Gate) -> None:
    """Without both the SDK is told, and sends them again: none is stored twice."""
    with start(NO_DISK) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        gate.next.extend([(403, 0)])
        process.stdin.write("go\n")
        process.stdin.flush()
        assert process.stdout.readline() == "SpoolError\n"
        gate.next.extend(["passed", "passed", "passed", (403, 0)])  # Project, session, the first of several requests.
        process.stdin.write("go\n")
        process.stdin.flush()
        assert process.stdout.readline() == "SpoolError\n"
        process.stdin.write("go\n")
        process.stdin.flush()
        assert process.stdout.readline() == "stored\n"
        process.communicate(timeout=30)
    assert [entry["n"] for entry in script(LOADED)] == list(range(150))


@pytest.mark.once
def test_without_a_disk_appends_keep_their_order(script: Script) -> None:
    code = """
    import { writeFileSync } from "node:fs";
    writeFileSync(`${folder}-full`, "");
    const store = open(undefined, `${folder}-full`);
    await store.append(KEY, [said(0)]);
    const save = store.client._saveOps.bind(store.client);
    // The first one takes its time.
    store.client._saveOps = async (session, ops, options) => {
      if (ops[0].id === "u1") await new Promise((go) => setTimeout(go, 300));
      return save(session, ops, options);
    };
    await Promise.all([1, 2, 3].map((number) => store.append(KEY, [said(number)])));
    say(await store.load(KEY));
    """
    assert script(code) == [said(number) for number in range(4)]


@pytest.mark.slow
def test_what_the_server_refuses_is_kept_and_holds_nothing_up(script: Script, gate: Gate) -> None:
    code = """
    const store = open();
    await store.append(KEY, [said(1)]);
    await store.append(KEY, [said(2)]);
    say([await store.load(KEY), (await store.refused()).length]);
    """
    gate.next.extend(["passed", "passed", (422, 0)])
    assert script(code) == [[said(2)], 1]


@pytest.mark.once
def test_a_clock_that_is_set_back_changes_no_order(script: Script, gate: Gate) -> None:
    """Two programs append while the server is away, the second one with an earlier clock."""
    append = "const store = open(); await store.append(KEY, [said(GIVEN.number)]); await store.close(100); process.exit();"
    gate.away = True
    script("const now = Date.now; Date.now = () => now() + 3600_000;" + append, number=1)
    script(append, number=2)
    gate.away = False
    assert script("say(await open().load(KEY));") == [said(1), said(2)]


@pytest.mark.once
def test_a_damaged_file_is_set_aside_and_holds_nothing_up(script: Script) -> None:
    code = """
    import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${folder}/1-000000001-1.json`, '{"key": "cut');
    const store = open();
    await store.append(KEY, [said(1)]);
    const loaded = await Promise.race([store.load(KEY), new Promise((resolve) => setTimeout(resolve, 10_000, "waits"))]);
    say([loaded, (await store.refused()).map((name) => readFileSync(`${folder}/refused/${name}`, "utf8"))]);
    process.exit();
    """
    assert script(code) == [[said(1)], ['{"key": "cut']]


def test_a_delete_erases_what_is_in_the_trash_too(script: Script) -> None:
    code = """
    const store = open();
    await store.append(KEY, [said(0)]);
    await store.load(KEY);
    const [{ id }] = await store._mainSessions(KEY.projectKey);
    await store.client._send("DELETE", `/sessions/${id}`);
    await store.delete(KEY);
    const status = await store.client._send("GET", `/sessions/${id}`).then(() => 200, (error) => error.status);
    await store.delete(KEY);
    await store.append(KEY, [said(1)]);
    say([status, await store.load(KEY)]);
    """
    assert script(code) == [404, [said(1)]]


@pytest.mark.slow
def test_an_erased_session_begins_anew(script: Script) -> None:
    code = """
    const [store, other] = [open(), open(undefined, `${folder}/other`)];
    await store.append(KEY, [said(0)]);
    await store.load(KEY);
    await other.delete(KEY);
    await store.append(KEY, [said(1)]);
    say(await store.load(KEY));
    """
    assert script(code) == [said(1)]


def test_a_project_that_was_erased_is_set_up_again(script: Script) -> None:
    code = """
    const store = open();
    const settings = async () => (await store.client._sendIn("GET", "/memory-settings")).items.map(({ exact }) => exact);
    await store.append(KEY, [said(0)]);
    await store.listSessionSummaries(KEY.projectKey);
    const before = await settings();
    await store.client._send("DELETE", `/projects/${await store.client._project()}?purge=1`);
    const empty = await store.listSessions(KEY.projectKey);
    await store.append(KEY, [said(1)]);
    const [{ sessionId }] = await store.listSessionSummaries(KEY.projectKey);
    say([before, empty, await store.load(KEY), sessionId === KEY.sessionId, await settings()]);
    """
    assert script(code) == [[True], [], [said(1)], True, [True]]
