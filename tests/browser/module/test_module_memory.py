"""The browser module's side of a project's memory."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from memory_app.models import MemoryEntry
from sessions_app.models import Project
from tests.browser.driving import Browser
from tests.browser.frontends import Frontend
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
REFUSAL = "const refusal = (promise) => promise.then(() => null, ({ name, status, code }) => [name, status, code]);"


@pytest.fixture
def page(browser: Browser, server: LiveServer, alice: User) -> Iterator[Frontend]:
    page = Frontend(browser, server, alice)
    page.load()
    yield page
    browser.leave()


def do(page: Frontend, script: str, *arguments: Any) -> Any:
    return page.browser.run(f"{REFUSAL} const {{ memory }} = window.chat; {script}", *arguments)


def test_values_are_stored_read_listed_and_deleted(page: Frontend) -> None:
    assert do(page, "return [await memory.get('notes', 'a'), await memory.list(), await memory.delete('notes', 'a')];") == [
        None,
        [],
        False,
    ]
    assert not Project.objects.exists()
    saved = do(page, "return memory.set('notes', 'a b/ä'.length.toString(), { password: 'hunter2', n: null });")
    assert saved["redacted"] == {"password": 1}
    assert do(page, "return (await memory.get('notes', '5')).value;") == {"password": "[REDACTED:password]", "n": None}
    assert Project.objects.get().path == page.project
    assert do(page, "return (await memory.list()).map(({ namespace, count }) => [namespace, count]);") == [["notes", 1]]
    assert do(page, "return [await memory.delete('notes', '5'), await memory.get('notes', '5')];") == [True, None]


@pytest.mark.slow
def test_keys_are_listed_whole_however_many(page: Frontend) -> None:
    do(page, "await memory.set('notes', 'k0', 1);")
    project = Project.objects.get()
    MemoryEntry.objects.bulk_create(
        MemoryEntry(project=project, namespace="notes", key=f"m{number:04}", value="1", rev=1, size_bytes=1)
        for number in range(1_200)
    )
    assert do(page, "return (await memory.list('notes')).length;") == 1_201
    assert do(page, "return (await memory.list('notes', { prefix: 'm11' })).map(({ key }) => key)[99];") == "m1199"


def test_an_etag_guards_a_value_and_a_lease_the_memory(page: Frontend, api: Callable[..., Any]) -> None:
    etag = do(page, "return (await memory.set('notes', 'a', 1)).etag;")
    assert do(page, "return refusal(memory.set('notes', 'a', 2, { ifMatch: null }));")[1:] == [412, "precondition_failed"]
    assert do(page, "return refusal(memory.set('notes', 'a', 2, { ifMatch: '\"0\"' }));")[1] == 412
    assert do(page, "return (await memory.set('notes', 'a', 2, { ifMatch: args[0] })).value;", etag) == 2
    run = api(page.user).post(f"/projects/{Project.objects.get().id}/runs").json()["run_id"]
    assert do(page, "return refusal(memory.set('notes', 'a', 3));") == ["ApiError", 423, "lease_held"]
    assert do(page, "return (await memory.set('notes', 'a', 3, { run: args[0] })).value;", run) == 3


def test_a_value_that_json_cannot_hold_is_not_sent(page: Frontend) -> None:
    assert do(page, "return refusal(memory.set('notes', 'a', undefined));")[0] == "TypeError"


def test_a_name_that_has_no_address_is_refused(page: Frontend) -> None:
    do(page, "await memory.set('notes', 'a', 1);")
    told = "const told = (promise) => promise.then(() => null, ({ name, message }) => [name, message]);"
    for name in ("''", "'.'", "'..'", "7", "['a', 'b']", "undefined"):
        calls = f"memory.get('notes', {name}), memory.get({name}, 'a'), memory.set('notes', {name}, 1)"
        calls += f", memory.delete('notes', {name})" + ("" if name == "undefined" else f", memory.list({name})")
        for error, message in do(page, f"{told} return Promise.all([{calls}].map(told));"):
            assert error == "TypeError", name
            assert message.startswith("A namespace and a key are strings, not empty, and neither `.` nor `..`. This was "), name
    assert do(page, "return (await memory.list('notes')).map(({ key }) => key);") == ["a"]


def test_errors_are_reported_and_a_new_run_is_told_of_them(page: Frontend) -> None:
    assert do(page, "return window.chat.context();") is None
    what = "{ message: 'x is undefined', kind: 'ReferenceError', stack: new Error('x').stack }"
    report = f"return window.chat.reportErrors([{what}]);"
    first, second = do(page, report), do(page, report)
    assert (first["recorded"], first["new"], second["new"]) == (1, 1, 0)
    assert first["fingerprints"] == second["fingerprints"]
    told = do(page, "return window.chat.context({ budget: 2000 });")
    assert [error["count"] for error in told["errors"]["unresolved"]] == [2]
    assert told["session_count"] == 1


@pytest.mark.slow
def test_a_project_is_named_by_its_id_as_well(browser: Browser, server: LiveServer, alice: User, api: Callable[..., Any]) -> None:
    theirs = api(alice)
    project = theirs.post("/projects", {"path": "/home/alice/by-id"}).json()["id"]
    page = Frontend(browser, server, alice, project=project)
    page.load()
    page.say("m1", "mine")
    page.settle()
    assert do(page, "return (await memory.set('notes', 'a', 1)).etag;")
    assert browser.run("return (await chat.handoff()) === null;")
    assert [(one.path, str(one.id)) for one in Project.objects.all()] == [("/home/alice/by-id", project)]
    [session] = theirs.get("/sessions").json()["items"]
    op = {"op": "upsert", "id": "m2", "role": "user", "text": "theirs"}
    theirs.post(f"/sessions/{session['id']}/changes", {"epoch": 1, "writer_id": "w", "seq": 1, "ops": [op]})
    browser.until("return window.heard.some(({ type }) => type === 'changed');")
    assert page.texts() == ["mine", "theirs"]
    assert [message["text"] for message in page.load()["messages"]] == ["mine", "theirs"]
    page.project = "00000000-0000-4000-8000-000000000000"
    assert page.load()["messages"] == []
    assert do(page, "return memory.get('notes', 'a');") is None
