"""Metadata, tags, pins and external ids of sessions; `current: false`; one message by its id."""

import json
import threading
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from sessions_app.models import ChatSession, Project
from sessions_app.models.session import METADATA_BYTES
from tests.api.test_hostile_bodies import JUNK
from tests.support.chat import Chat
from tests.support.export_files import download, resealed, upload
from tests.support.saves import refusal

pytestmark = pytest.mark.django_db
ODD = {"nul": "a\0b", "\0": ["\0"], "big": 10**30, "float": 0.1, "deep": {"a": [None, {"b": {}}]}, "ü": "🙂"}
LABELS = {"metadata": ODD, "tags": ["b", "a", "ü 🙂"], "pinned": True}


@pytest.fixture
def project(chat: Chat) -> str:
    """The id of the project of `chat`, whose current session `chat` is."""
    project: str = chat.read()["session"]["project_id"]
    return project


def labels_of(session: Any) -> Any:
    return {name: session[name] for name in LABELS}


def external(project: str, external_id: str) -> str:
    return f"/projects/{project}/sessions/by-external/{quote(external_id, safe='')}"


def test_every_way_of_creating_a_session_takes_labels_and_every_read_shows_them(chat: Chat, project: str) -> None:
    put = {"project": "/put", **LABELS}
    made = [
        chat.api.post(f"/projects/{project}/sessions", LABELS),
        chat.api.put(external(project, "e1"), LABELS),
        chat.api.put(f"/sessions/{uuid.uuid4()}", put, **{"If-None-Match": "*"}),
    ]
    assert [answer.status_code for answer in made] == [201, 201, 201]
    last = made[-1].json()
    reads = [
        *(answer.json() for answer in made),
        chat.api.get(f"/sessions/{last['id']}").json()["session"],
        chat.api.get(f"/sessions/{last['id']}?messages=0").json()["session"],
        chat.api.get("/resume?project=/put").json()["session"],
        *chat.api.get("/sessions?pinned=true").json()["items"],
        *chat.api.get(f"/projects/{last['project_id']}/sessions").json()["items"],
    ]
    assert len(reads) == 10
    assert all(labels_of(session) == LABELS for session in reads)
    assert labels_of(chat.read()["session"]) == {"metadata": {}, "tags": [], "pinned": False}


def test_a_patch_merges_metadata_and_replaces_the_rest(chat: Chat) -> None:
    def patched(**fields: Any) -> Any:
        answer = chat.api.patch(f"/sessions/{chat.id}", fields)
        assert answer.status_code == 200, answer.content
        return labels_of(answer.json())

    patched(**LABELS)
    before = chat.read()["session"]["rev"]
    merged = patched(metadata={"nul": None, "deep": {"a": 1, "c": {"d": None, "e": "\0"}}, "float": {"x": 1}})
    kept = {name: ODD[name] for name in ("\0", "big", "ü")}
    assert merged == {**LABELS, "metadata": {**kept, "float": {"x": 1}, "deep": {"a": 1, "c": {"e": "\0"}}}}
    assert chat.read()["session"]["rev"] == before + 1
    assert patched(title="x") == merged
    assert patched(tags=["z"], pinned=False) == {**merged, "tags": ["z"], "pinned": False}
    assert patched(metadata=None, tags=[]) == {"metadata": {}, "tags": [], "pinned": False}


def test_patches_at_the_same_time_lose_nothing(api: Callable[..., Any], alice: User, transactional_db: None) -> None:
    chat = Chat(api(alice))

    def patch(number: int) -> None:
        try:
            assert chat.api.patch(f"/sessions/{chat.id}", {"metadata": {str(number): number}}).status_code == 200
        finally:
            connection.close()

    at_once(patch, 8)
    assert chat.read()["session"]["metadata"] == {str(number): number for number in range(8)}


def at_once(work: Callable[[int], None], count: int) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_limits(chat: Chat) -> None:
    room = METADATA_BYTES - len('{"x":""}')
    address = f"/sessions/{chat.id}"
    assert chat.api.patch(address, {"metadata": {"x": "a" * room}}).status_code == 200
    assert refusal(chat.api.patch(address, {"metadata": {"y": 1}})) == (413, "too_large")
    assert refusal(chat.api.patch(address, {"metadata": {"x": "ü" * (room // 2 + 1)}})) == (413, "too_large")
    assert chat.api.patch(address, {"tags": [str(number) * 32 for number in range(10, 30)]}).status_code == 200
    for tags in (["x"] * 2, [""], ["x" * 65], [str(number) for number in range(21)], [1], "x", {"x": 1}):
        assert refusal(chat.api.patch(address, {"tags": tags})) == (422, "invalid")
    assert len(chat.read()["session"]["tags"]) == 20


@pytest.mark.parametrize("name", ["metadata", "tags", "pinned", "current"])
def test_wrong_types_are_no_fault_of_the_server(chat: Chat, project: str, name: str) -> None:
    for junk in JUNK:
        for method, address in (
            ("post", f"/projects/{project}/sessions"),
            ("put", external(project, "junk")),
            ("patch", f"/sessions/{chat.id}"),
        ):
            answer = getattr(chat.api, method)(address, {name: junk})
            assert answer.status_code in {200, 201, 422}, (address, junk, answer.content)


def test_damaged_labels_do_not_break_a_read(chat: Chat) -> None:
    ChatSession.objects.filter(id=chat.id).update(metadata="{", pinned=True)
    assert labels_of(chat.read()["session"]) == {"metadata": {}, "tags": [], "pinned": True}
    assert chat.api.patch(f"/sessions/{chat.id}", {"metadata": {"a": 1}}).json()["metadata"] == {"a": 1}


@pytest.mark.parametrize("name", ["thread-7", "a/b", "a%2Fb", "...", "ü 🙂", "line\nfeed", "q?x=1#y", " ", "x" * 128])
def test_a_session_is_found_and_made_by_its_external_id(chat: Chat, project: str, name: str) -> None:
    address = external(project, name)
    assert refusal(chat.api.get(address)) == (404, "not_found")
    made = chat.api.put(address, {"title": "one", "external_id": name, "current": False})
    again = chat.api.put(address, {"title": "two", "tags": ["x"]})
    assert (made.status_code, again.status_code) == (201, 200)
    assert made.json() == again.json() == chat.api.get(address).json()
    assert (made.json()["external_id"], made.json()["title"]) == (name, "one")
    assert chat.api.get(address)["ETag"] == made["ETag"]


def test_external_ids_that_do_not_fit_are_refused(chat: Chat, project: str) -> None:
    assert refusal(chat.api.put(external(project, "x" * 129), {})) == (422, "invalid")
    assert refusal(chat.api.put(external(project, "x"), {"external_id": "y"})) == (422, "invalid")
    assert refusal(chat.api.get(external(project, "x" * 129))) == (404, "not_found")
    assert refusal(chat.api.get(f"/projects/{project}/sessions/by-external/")) == (404, "not_found")
    assert chat.api.put(f"/projects/{project}/sessions/by-external/a%00b", {}).json()["external_id"] == "a\ufffdb"


def test_an_external_id_in_the_trash_is_told_as_such(chat: Chat, project: str) -> None:
    made = chat.api.put(external(project, "e"), {}).json()
    chat.api.delete(f"/sessions/{made['id']}")
    for method in (chat.api.get, chat.api.put):
        refused = method(external(project, "e"))
        assert (refusal(refused), refused.json()["error"]["details"]) == ((410, "session_deleted"), {"session": made["id"]})


def test_of_several_at_once_one_makes_the_session(api: Callable[..., Any], alice: User, transactional_db: None) -> None:
    chat, answers = Chat(api(alice)), list[Any]()
    address = external(chat.read()["session"]["project_id"], "e")

    def put(number: int) -> None:
        try:
            answers.append(chat.api.put(address, {"title": str(number)}))
        finally:
            connection.close()

    at_once(put, 8)
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert ChatSession.objects.filter(external_id="e").count() == 1


def test_current_false_leaves_the_current_session_alone(chat: Chat, project: str) -> None:
    """With every way of making a session; each of them is the current one without it."""
    chat.say("m1", "text")
    not_current: dict[str, Any] = {"current": False}
    calls: list[tuple[str, str, dict[str, Any], dict[str, str]]] = [
        ("post", f"/projects/{project}/sessions", {}, {}),
        ("put", external(project, "e"), {}, {}),
        ("put", "/sessions/{new}", {"project": chat.project}, {"If-None-Match": "*"}),
        ("post", f"/sessions/{chat.id}/fork", {}, {}),
        ("post", f"/sessions/{chat.id}/transfer", {"to_project": chat.project, "include": ["messages"]}, {}),
    ]
    for method, address, body, headers in calls:
        before = chat.read()["session"]
        answer = getattr(chat.api, method)(address.format(new=uuid.uuid4()), {**body, **not_current}, **headers)
        assert answer.status_code == 201, answer.content
        assert chat.read()["session"] == before
        assert chat.api.get(f"/resume?project={chat.project}").json()["session"]["id"] == chat.id
        made = answer.json().get("to_session") or answer.json()["id"]
        assert chat.api.get(f"/sessions/{made}").json()["session"]["state"] == "earlier"
    assert chat.api.post(f"/sessions/{chat.id}/fork", {}).json()["current"] is True


def test_without_a_current_session_none_is_made(api: Callable[..., Any], alice: User) -> None:
    one = api(alice)
    project = one.post("/projects", {"path": "/p"}).json()["id"]
    assert one.post(f"/projects/{project}/sessions", {"current": False}).json()["current"] is False
    assert one.get("/resume?project=/p").status_code == 404


def test_a_fork_has_the_metadata_and_tags_of_its_source(chat: Chat) -> None:
    chat.api.patch(f"/sessions/{chat.id}", LABELS)
    assert labels_of(chat.api.post(f"/sessions/{chat.id}/fork", {}).json()) == {**LABELS, "pinned": False}


def test_labels_are_exported_and_imported(chat: Chat, project: str, api: Callable[..., Any], bob: User) -> None:
    chat.api.patch(f"/sessions/{chat.id}", {"metadata": {"n": "\0", "big": 10**30}, "tags": ["b", "a"], "pinned": True})
    file = download(chat.api, f"/sessions/{chat.id}/export")
    before = chat.read()["session"]
    chat.api.post(f"/projects/{project}/sessions", {})
    ChatSession.objects.filter(id=chat.id).delete()
    current = Project.objects.get(id=project).current_session_id
    assert upload(chat.api, file).status_code == 200
    after = chat.read()["session"]
    assert labels_of(after) == labels_of(before)
    assert Project.objects.get(id=project).current_session_id == current
    assert [row["id"] for row in chat.api.get("/sessions?tag=b").json()["items"]] == [chat.id]


def test_one_message_is_read_as_in_lists(chat: Chat) -> None:
    ids = ["m1", "a/b", "...", "ü 🙂", "a%2Fb", "line\nfeed", "q?x#y", "x" * 64]
    chat.ops(*({"op": "upsert", "id": name, "role": "user", "text": name, "raw": {"n": 1.50}} for name in ids))
    listed = {item["id"]: item for item in chat.get("messages").json()["items"]}
    for name in ids:
        answer = chat.get(f"messages/{quote(name, safe='')}")
        assert (answer.status_code, answer.json()) == (200, listed[name])
    chat.ops({"op": "delete", "id": "m1"}, base_rev=chat.read()["session"]["rev"])
    for name in ("m1", "unknown", "x" * 200, "%00"):
        assert refusal(chat.get(f"messages/{name}")) == (404, "not_found")
    chat.clear()
    assert refusal(chat.get("messages/a%2Fb")) == (404, "not_found")


def test_a_removed_message_is_restored_whatever_its_id_has(chat: Chat) -> None:
    ids = ["m1", "a/b", "a/restore", "...", "a%2Fb", "line\nfeed", "q?x#y"]
    chat.ops(*({"op": "upsert", "id": name, "role": "user", "text": name} for name in ids))
    chat.ops(*({"op": "delete", "id": name} for name in ids), base_rev=chat.read()["session"]["rev"])
    for name in ids:
        answer = chat.post(f"removed/{quote(name, safe='')}/restore")
        assert (answer.status_code, answer.json().get("message")) == (200, name), name
    assert [item["id"] for item in chat.get("messages").json()["items"]] == ids
    assert refusal(chat.post("removed/x%2Frestore/restore")) == (404, "not_found")


def test_the_pages_show_and_change_tags_and_pins(client: Client, chat: Chat, project: str, alice: User) -> None:
    client.force_login(alice)
    others = [chat.api.post(f"/projects/{project}/sessions", {"title": f"other {number}"}).json()["id"] for number in range(3)]

    def act(name: str, **form: str) -> None:
        assert client.post(f"/sessions/{chat.id}/{name}/", form).status_code == 302

    act("tag", tag=" bug, <b>, bug,")
    act("tag", tag="ü,bug")
    act("pin")
    session = chat.read()["session"]
    assert (session["tags"], session["pinned"]) == (["bug", "<b>", "ü"], True)
    rows = client.get(f"/projects/{project}/").content.decode()
    assert rows.index(chat.id) < min(rows.index(other) for other in others)
    assert "&lt;b&gt;" in rows
    assert 'data-order="1 ' in rows
    page = client.get(f"/sessions/{chat.id}/").content.decode()
    assert "Unpin this session" in page
    assert 'value="&lt;b&gt;"' in page
    act("untag", tag="<b>")
    act("unpin")
    session = chat.read()["session"]
    assert (session["tags"], session["pinned"]) == (["bug", "ü"], False)
    rows = client.get(f"/projects/{project}/").content.decode()
    assert 'data-order="1 ' not in rows


def test_pinned_sessions_come_first_on_all_pages_of_a_project(client: Client, chat: Chat, project: str, alice: User) -> None:
    client.force_login(alice)
    for number in range(70):
        ChatSession.objects.create(project_id=project, title=f"t{number}", pinned=number % 2 == 0 or None)
    found: list[str] = []
    address = f"/projects/{project}/"
    while address:
        page = client.get(address)
        found += [str(row["session"].id) for row in page.context["rows"]]
        address = f"/projects/{project}/?cursor={quote(page.context['next'])}" if page.context["next"] else ""
    pinned = ChatSession.objects.filter(pinned=True).order_by("-updated_at", "id")
    others = ChatSession.objects.exclude(pinned=True).order_by("-updated_at", "id")
    assert found == [str(row.id) for row in [*pinned, *others]]


def test_a_file_with_labels_that_the_api_refuses_is_refused(chat: Chat) -> None:
    chat.api.patch(f"/sessions/{chat.id}", {"tags": ["x"], "metadata": {"a": 1}})
    file = download(chat.api, f"/sessions/{chat.id}/export")
    ChatSession.objects.filter(id=chat.id).delete()
    for name, wrong in (("tags", '["x","x"]'), ("tags", '["\\u0000"]'), ("tags", "{}"), ("metadata", "[]"), ("metadata", "{")):
        lines = [json.loads(line) for line in file.splitlines()[:-1]]
        next(line["session"] for line in lines if "session" in line)[name] = wrong
        assert upload(chat.api, resealed([json.dumps(line).encode() for line in lines])).status_code == 422, (name, wrong)
    assert not ChatSession.objects.filter(id=chat.id).exists()
