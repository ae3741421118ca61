"""Rows of assistant-ui come back as they were sent, and pages show what they say."""

from typing import Any

import pytest

from tests.clients.js.assistant_cloud.conftest import Script
from tests.clients.js.conftest import needs_packages

pytestmark = needs_packages
USER = {"role": "user", "parts": [{"type": "text", "text": "Why does the checkout fail?"}], "metadata": {"a": 1.0}}
ANSWER = {
    "role": "assistant",
    "parts": [
        {"type": "step-start"},
        {"type": "reasoning", "text": "Look first.", "providerMetadata": {"anthropic": {"signature": "c2ln"}}},
        {"type": "tool-read", "toolCallId": "c1", "state": "output-available", "input": {"f": "cart.py"}, "output": [None, 2.50]},
        {"type": "text", "text": "The cart is empty.", "state": "done"},
    ],
    "metadata": {"custom": {"runId": "\0"}},
}
AUI = {
    "role": "assistant",
    "content": [
        {"type": "text", "text": "It is warm."},
        {
            "type": "tool-call",
            "toolCallId": "c1",
            "toolName": "weather",
            "args": {"city": "Köln"},
            "argsText": "{}",
            "result": 21.5,
        },
    ],
    "metadata": {"unstable_state": None, "steps": [], "custom": {}},
    "status": {"type": "complete", "reason": "stop"},
}
# As `useChatRuntime` does it, with its format adapter.
KEPT = """
const { id: _, ...adapter } = { format: GIVEN.format, getId: ({ id }) => id,
  encode: ({ message: { id, ...content } }) => content,
  decode: ({ id, parent_id, content }) => ({ parentId: parent_id, message: { id, ...content } }) };
const persistence = () => createFormattedPersistence(new CloudMessagePersistence(cloud()), adapter);
const { thread_id } = await cloud().threads.create({ last_message_at: now(), external_id: "t" });
const first = persistence();
let parentId = null;
for (const [at, content] of GIVEN.contents.entries()) {
  await first.append(thread_id, { parentId, message: { id: `m${at}`, ...content } });
  parentId = `m${at}`;
}
const loaded = await persistence().load(thread_id);
"""
CHANGED = """
await first.update(thread_id, { parentId: "m0", message: { id: "m1", ...GIVEN.other } }, "m1");
await first.append(thread_id, { parentId: "m0", message: { id: "beside", ...GIVEN.contents[1] } });
await first.delete(thread_id, [{ parentId: "m1", message: { id: "m2" } }]);
const feedback = await cloud().threads.messages.feedback(thread_id, "m1", { type: "negative", comment: " Too short " });
await cloud().threads.messages.feedback(thread_id, "m1", { type: "positive" });
const { messages } = await persistence().load(thread_id);
const again = await first.append(thread_id, { parentId: "m1", message: { id: "m2", ...GIVEN.contents[1] } });
const unknown = await refused(cloud().threads.messages.update(thread_id, "none", { content: {} }));
say({ messages, feedback, unknown, last: (await cloud().threads.messages.list(thread_id)).messages[0].parent_id });
"""
LONG = """
const { thread_id } = await cloud().threads.create({ last_message_at: now() });
const { messages } = cloud().threads;
let parent_id = null;
for (let at = 0; at < 410; at += 1) {
  const content = { role: "user", parts: [{ type: "text", text: `${at}` }] };
  const made = await messages.create(thread_id, { parent_id, format: "ai-sdk/v6", content });
  parent_id = made.message_id;
}
const rows = await new CloudMessagePersistence(cloud()).load(thread_id, "ai-sdk/v6");
say({ texts: rows.map(({ content }) => Number(content.parts[0].text)),
  chain: rows.every(({ parent_id }, at) => parent_id === (rows[at + 1]?.id ?? null)) });
"""
LONG_IDS = """
const { thread_id } = await cloud().threads.create({ last_message_at: now() });
const append = (id, parentId, text) => // As after a reload: nothing is known of what was sent before.
  new CloudMessagePersistence(cloud()).append(thread_id, id, parentId, "ai-sdk/v6", { ...GIVEN.message, metadata: { text } });
const long = "m".repeat(200);
for (const text of ["lost answer", "again"]) await append(long, null, text);
await append("next", long, "next");
const rows = (await cloud().threads.messages.list(thread_id)).messages;
say({ texts: rows.map(({ content }) => content.metadata.text), follows: rows[0].parent_id === rows[1].id });
"""
FOREIGN = """
const rows = (await cloud().threads.messages.list(GIVEN.thread, GIVEN.format ? { format: GIVEN.format } : {})).messages;
say(rows.map(({ id, parent_id, format, content }) => [id, parent_id, format, content]));
"""
REFUSED = """
const { thread_id } = await cloud().threads.create({ last_message_at: now() });
const make = (content) => refused(cloud().threads.messages.create(thread_id, { parent_id: null, format: "ai-sdk/v6", content }));
say([await make({ role: "user" }), await make({ role: "user", parts: [{ type: "text", text: "x".repeat(1_100_000) }] })]);
"""


def test_rows_of_the_ai_sdk_come_back_as_they_were(script: Script, api: Any, alice: Any) -> None:
    loaded = script(KEPT + "say(loaded);", format="ai-sdk/v6", contents=[USER, ANSWER])
    expected = [{"parentId": None, "message": {"id": "m0", **USER}}, {"parentId": "m0", "message": {"id": "m1", **ANSWER}}]
    assert loaded == {"messages": expected}
    # Other clients of the AI SDK read the same messages, and pages show them.
    (session,) = api(alice).get("/sessions?external_id=t").json()["items"]
    messages = api(alice).get(f"/sessions/{session['id']}/messages").json()["items"]
    assert [(each["role"], each["text"], each["format"]) for each in messages] == [
        ("user", "Why does the checkout fail?", "ai-sdk"),
        ("assistant", "The cart is empty.", "ai-sdk"),
    ]
    assert messages[1]["raw"] == ANSWER


def test_rows_of_other_runtimes_come_back_as_they_were(script: Script, api: Any, alice: Any) -> None:
    question = {"role": "user", "content": [{"type": "text", "text": "How is the weather?"}], "attachments": []}
    loaded = script(KEPT + "say(loaded);", format="aui/v0", contents=[question, AUI])
    assert [each["message"] for each in loaded["messages"]] == [{"id": "m0", **question}, {"id": "m1", **AUI}]
    (session,) = api(alice).get("/sessions?external_id=t").json()["items"]
    messages = api(alice).get(f"/sessions/{session['id']}/messages").json()["items"]
    assert [(each["role"], each["text"]) for each in messages] == [("user", "How is the weather?"), ("assistant", "It is warm.")]
    assert [part["type"] for part in messages[1]["parts"]] == ["text", "tool_call", "tool_result"]


def test_updates_branches_deletions_and_feedback(script: Script, api: Any, alice: Any) -> None:
    other = {"role": "assistant", "parts": [{"type": "text", "text": "No."}]}
    said = script(KEPT + CHANGED, format="ai-sdk/v6", contents=[USER, ANSWER, USER], other=other)
    assert [(each["message"]["id"], each["parentId"]) for each in said["messages"]] == [
        ("m0", None),
        ("m1", "m0"),
        ("beside", "m0"),
    ]
    assert said["messages"][1]["message"] == {"id": "m1", **other}
    assert said["feedback"]["comment"] == "Too short"
    assert said["unknown"] == 404
    assert said["last"] == "m1"
    (session,) = api(alice).get("/sessions?external_id=t").json()["items"]
    message = api(alice).get(f"/sessions/{session['id']}/messages/m1").json()
    assert message["metadata"] == {"feedback": {"type": "positive"}}


@pytest.mark.slow
def test_a_long_thread_is_read_by_pages(script: Script) -> None:
    assert script(LONG) == {"texts": list(range(409, -1, -1)), "chain": True}


def test_an_id_that_is_too_long_for_a_message_is_the_same_message_each_time(script: Script) -> None:
    assert script(LONG_IDS, message=USER) == {"texts": ["next", "again"], "follows": True}


def test_sessions_of_other_clients_are_threads_too(script: Script, api: Any, alice: Any) -> None:
    """What has no place in a page of assistant-ui is left out, and the next message follows the one before it."""
    client = api(alice)
    session = client.put("/sessions/11111111-1111-4111-8111-111111111111", {"project": "/users/ana"}, **{"If-None-Match": "*"})
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    ops: list[dict[str, Any]] = [
        {"id": "a", "role": "user", "text": "Hello"},
        {"id": "b", "format": "openai.chat", "raw": {"role": "assistant", "content": None, "tool_calls": [call]}},
        {"id": "c", "format": "openai.chat", "raw": {"role": "tool", "tool_call_id": "c", "content": "4"}},
        {"id": "d", "format": "ai-sdk", "raw": {"id": "shown", **USER}},
        {"id": "e", "format": "aui/v0", "role": "assistant", "text": "It is warm.", "raw": AUI},
    ]
    sent = {"ops": [{"op": "upsert", **op} for op in ops], "epoch": 1, "writer_id": "w", "seq": 1}
    assert client.post("/sessions/11111111-1111-4111-8111-111111111111/changes", sent).json()["rejected"] == []
    rows = script(FOREIGN, thread=session.json()["id"], format="ai-sdk/v6")
    assert [row[:3] for row in rows] == [["d", "b", "ai-sdk/v6"], ["b", "a", "ai-sdk/v6"], ["a", None, "ai-sdk/v6"]]
    assert rows[0][3] == USER
    assert rows[2][3] == {"role": "user", "parts": [{"type": "text", "text": "Hello"}]}
    assert script(FOREIGN, thread=session.json()["id"], format="aui/v0") == [["e", None, "aui/v0", AUI]]


def test_what_cannot_be_stored_is_refused(script: Script) -> None:
    assert script(REFUSED) == [422, 413]
