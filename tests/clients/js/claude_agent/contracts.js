// The 14 contracts that `claude_agent_sdk.testing` of the Python SDK checks; the JavaScript SDK has no such suite.
const entry = (fields) => ({ type: "x", ...fields });
const KEY1 = { projectKey: "proj", sessionId: "sess" };
const SUB1 = { ...KEY1, subpath: "subagents/agent-1" };
const SUB2 = { ...KEY1, subpath: "subagents/agent-2" };
const one = [entry({ n: 1 })];

async function appended(...batches) {
  const store = make();
  for (const [key, entries] of batches) await store.append(key, entries);
  return store;
}
const ids = async (store, project) => (await store.listSessions(project)).map(({ sessionId }) => sessionId).sort();

const CONTRACTS = {
  async order_within_a_batch() {
    const entries = [entry({ uuid: "b", n: 1 }), entry({ uuid: "a", n: 2 })];
    assert.deepEqual(await (await appended([KEY1, entries])).load(KEY1), entries);
  },
  async unknown_keys_are_null() {
    const store = make();
    assert.equal(await store.load({ projectKey: "proj", sessionId: "nope" }), null);
    await store.append(KEY1, [entry({ uuid: "x" })]);
    assert.equal(await store.load({ ...KEY1, subpath: "nope" }), null);
  },
  async order_of_batches() {
    const all = ["z", "a", "m", "b"].map((uuid, n) => entry({ uuid, n }));
    const store = await appended([KEY1, all.slice(0, 1)], [KEY1, all.slice(1, 3)], [KEY1, all.slice(3)]);
    assert.deepEqual(await store.load(KEY1), all);
  },
  async an_empty_batch_is_nothing() {
    assert.deepEqual(await (await appended([KEY1, one], [KEY1, []])).load(KEY1), one);
  },
  async subpaths_are_apart() {
    const store = await appended([KEY1, [entry({ uuid: "m" })]], [SUB1, [entry({ uuid: "s" })]]);
    assert.deepEqual(await store.load(KEY1), [entry({ uuid: "m" })]);
    assert.deepEqual(await store.load(SUB1), [entry({ uuid: "s" })]);
  },
  async projects_are_apart() {
    const [a, b] = ["A", "B"].map((projectKey) => ({ projectKey, sessionId: "s1" }));
    const store = await appended([a, [entry({ from: "A" })]], [b, [entry({ from: "B" })]]);
    assert.deepEqual(await store.load(a), [entry({ from: "A" })]);
    assert.deepEqual(await store.load(b), [entry({ from: "B" })]);
    assert.deepEqual([await ids(store, "A"), await ids(store, "B")], [["s1"], ["s1"]]);
  },
  async sessions_of_a_project() {
    const keys = [
      ["proj", "a"],
      ["proj", "b"],
      ["other", "c"],
    ].map(([projectKey, sessionId]) => ({ projectKey, sessionId }));
    const store = await appended(...keys.map((key) => [key, one]));
    assert.deepEqual(await ids(store, "proj"), ["a", "b"]);
    for (const { mtime } of await store.listSessions("proj")) assert.ok(Number.isInteger(mtime) && mtime > 1e12);
    assert.deepEqual(await store.listSessions("never"), []);
  },
  async no_subagents_among_sessions() {
    assert.deepEqual(await ids(await appended([KEY1, one], [SUB1, one]), "proj"), ["sess"]);
  },
  async deleted_is_null() {
    const store = make();
    await store.delete({ projectKey: "proj", sessionId: "never" });
    await store.append(KEY1, one);
    await store.delete(KEY1);
    assert.equal(await store.load(KEY1), null);
  },
  async a_delete_takes_subagents_along() {
    const others = [
      { projectKey: "proj", sessionId: "sess2" },
      { projectKey: "other", sessionId: "sess" },
    ];
    const store = await appended(...[KEY1, SUB1, SUB2, ...others].map((key) => [key, one]));
    await store.delete(KEY1);
    for (const key of [KEY1, SUB1, SUB2]) assert.equal(await store.load(key), null);
    for (const key of others) assert.equal((await store.load(key)).length, 1);
    assert.deepEqual(await store.listSubkeys(KEY1), []);
    assert.deepEqual(await ids(store, "proj"), ["sess2"]);
  },
  async a_subagent_is_deleted_alone() {
    const store = await appended(...[KEY1, SUB1, SUB2].map((key) => [key, one]));
    await store.delete(SUB1);
    assert.equal(await store.load(SUB1), null);
    for (const key of [KEY1, SUB2]) assert.equal((await store.load(key)).length, 1);
    assert.deepEqual(await store.listSubkeys(KEY1), ["subagents/agent-2"]);
  },
  async subkeys_of_a_session() {
    const other = { projectKey: "proj", sessionId: "other", subpath: "subagents/agent-x" };
    const store = await appended(...[KEY1, SUB1, SUB2, other].map((key) => [key, one]));
    assert.deepEqual((await store.listSubkeys(KEY1)).sort(), ["subagents/agent-1", "subagents/agent-2"]);
  },
  async no_main_transcript_among_subkeys() {
    const store = await appended([KEY1, one]);
    assert.deepEqual(await store.listSubkeys(KEY1), []);
    assert.deepEqual(await store.listSubkeys({ projectKey: "proj", sessionId: "never" }), []);
  },
  async summaries() {
    const at = (second, more = {}) => entry({ timestamp: `2024-01-01T00:00:0${second}.000Z`, ...more });
    const store = await appended(
      [KEY1, [at(0, { customTitle: "first" }), at(1)]],
      [KEY1, [at(2, { customTitle: "second" })]],
      [{ projectKey: "other", sessionId: "elsewhere" }, [at(0)]],
    );
    const [summary, ...more] = await store.listSessionSummaries("proj");
    assert.deepEqual([summary.sessionId, more], ["sess", []]);
    const [{ mtime }] = await store.listSessions("proj");
    assert.ok(summary.mtime >= mtime && mtime > 1e12);
    const refolded = sdk.foldSessionSummary(summary, KEY1, [at(3)]);
    assert.deepEqual([refolded.sessionId, refolded.mtime], ["sess", summary.mtime]);
    await store.append(SUB1, [at(9, { customTitle: "subagent" })]);
    assert.deepEqual((await store.listSessionSummaries("proj"))[0].data, summary.data);
    assert.deepEqual(await store.listSessionSummaries("never"), []);
    await store.delete(KEY1);
    assert.deepEqual(await store.listSessionSummaries("proj"), []);
  },
};
for (const [name, contract] of Object.entries(CONTRACTS)) {
  await contract().catch((error) => Promise.reject(new Error(name, { cause: error })));
}
say(Object.keys(CONTRACTS).length);
