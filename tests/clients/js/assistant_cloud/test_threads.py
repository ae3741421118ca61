"""Threads of assistant-ui are sessions of a project, for the real client."""

from typing import Any

from tests.clients.js.assistant_cloud.conftest import Script
from tests.clients.js.conftest import needs_packages

pytestmark = needs_packages
LIFE = """
const { threads } = cloud();
const own = { title: "Checkout", metadata: { a: [1, null] }, external_id: "e1" };
const { thread_id } = await threads.create({ ...own, last_message_at: now() });
const made = await threads.get(thread_id);
await threads.update(thread_id, { title: "Cart" });
await threads.update(thread_id, { metadata: { b: 2 }, is_archived: true });
const archived = await threads.list({ is_archived: true });
const open = await threads.list({ is_archived: false });
const changed = await threads.get(thread_id);
const taken = await refused(threads.create({ last_message_at: now(), external_id: "e1" }));
const same = await threads.create({ last_message_at: now(), external_id: "e1", upsert: true });
await threads.update(thread_id, { is_archived: false });
const back = await threads.list({ is_archived: false });
await threads.delete(thread_id);
const all = await threads.list();
say({ made, changed, taken, same: same.thread_id === thread_id, gone: await refused(threads.get(thread_id)),
  unknown: await refused(threads.get("00000000-0000-4000-8000-000000000000")),
  counts: [archived, open, back, all].map(({ threads }) => threads.length) });
"""
PAGES = """
const { threads } = cloud();
for (let at = 0; at < 7; at += 1) await threads.create({ title: `${at}`, last_message_at: now() });
const { thread_id } = await threads.create({ title: "archived", last_message_at: now() });
await threads.update(thread_id, { is_archived: true });
const titles = [];
for (let after; ; ) {
  const page = await threads.list({ is_archived: false, limit: 3, ...(after ? { after } : {}) });
  titles.push(page.threads.map(({ title }) => title));
  if (page.threads.length < 3) break;
  after = page.threads.at(-1).id;
}
say(titles);
"""
TWO_TABS = """
const { threads } = cloud();
for (let at = 0; at < 4; at += 1) await threads.create({ title: `${at}`, last_message_at: now() });
const { id } = (await threads.list({ limit: 2 })).threads[1];
await threads.delete(id);
const rest = await threads.list({ limit: 4, after: id });
say({ rest: rest.threads.map(({ title }) => title), again: await refused(threads.delete(id)) });
"""
TITLE = """
const { thread_id } = await cloud().threads.create({ last_message_at: now() });
const said = (role, text) => ({ role, content: [{ type: "text", text }] });
const asked = (text) => [said("system", "Be brief."), said("user", text)];
const title = await generateThreadTitle(cloud(), { threadId: thread_id, messages: asked(GIVEN.question) });
const nothing = await generateThreadTitle(cloud(), { threadId: thread_id, messages: [] });
say({ title, nothing, stored: (await cloud().threads.get(thread_id)).title });
"""
WORKSPACES = """
const { thread_id } = await cloud("/users/ana").threads.create({ last_message_at: now() });
const other = cloud("/users/ben").threads;
await other.create({ last_message_at: now() });
say({
  own: (await cloud("/users/ana").threads.list()).threads.length,
  none: (await cloud("/users/nobody").threads.list()).threads.length,
  get: await refused(other.get(thread_id)), update: await refused(other.update(thread_id, { title: "x" })),
  remove: await refused(other.delete(thread_id)), rows: await refused(other.messages.list(thread_id)),
  write: await refused(other.messages.create(thread_id, { parent_id: null, format: "aui/v0", content: {} })),
  title: await refused(generateThreadTitle(cloud("/users/ben"), { threadId: thread_id, messages: [] })),
  unnamed: await refused(cloud("").threads.list()),
});
"""


def test_a_thread_is_made_changed_archived_and_deleted(script: Script) -> None:
    said = script(LIFE)
    made, changed = said["made"], said["changed"]
    assert (made["title"], made["external_id"], made["metadata"]) == ("Checkout", "e1", {"a": [1, None]})
    assert (made["workspace_id"], made["is_archived"]) == ("/users/ana", False)
    assert (changed["title"], changed["metadata"], changed["is_archived"]) == ("Cart", {"b": 2}, True)
    assert said["counts"] == [1, 0, 1, 0]
    assert (said["taken"], said["same"], said["gone"], said["unknown"]) == (409, True, 410, 404)


def test_lists_begin_with_the_newest_and_go_on(script: Script) -> None:
    assert script(PAGES) == [["6", "5", "4"], ["3", "2", "1"], ["0"]]


def test_what_another_tab_deleted_is_no_error(script: Script) -> None:
    """A list goes on from the beginning, because the deleted one has no place in it."""
    assert script(TWO_TABS) == {"rest": ["3", "1", "0"], "again": 0}


def test_a_title_is_the_beginning_of_the_first_question(script: Script) -> None:
    question = "Why does the  checkout\nfail when the cart is empty, although it should not even be offered?"
    said = script(TITLE, question=question)
    assert said["title"] == said["stored"] == "Why does the checkout fail when the cart is empty, although…"[:59] + "…"
    assert said["nothing"] is None
    assert script(TITLE, question="Hello?")["title"] == "Hello?"


def test_another_workspace_knows_nothing_of_a_thread(script: Script) -> None:
    said = script(WORKSPACES)
    assert {said.pop(name) for name in ("get", "update", "remove", "rows", "write", "title")} == {404}
    assert said == {"own": 1, "none": 0, "unnamed": 422}


def test_a_thread_is_a_session_of_the_project(script: Script, api: Any, alice: Any) -> None:
    script(LIFE.replace("await threads.delete(thread_id);", ""))
    (session,) = api(alice).get("/sessions?external_id=e1").json()["items"]
    assert (session["project"], session["title"], session["metadata"]) == ("/users/ana", "Cart", {"b": 2})
    assert not session["current"]
