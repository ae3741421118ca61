"""Imports in the background: invisible until complete, resumed or removed when interrupted, undone on request."""

import json
import os
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import F

from sessions_app.chats.lifecycle.deletion import delete_account
from sessions_app.core.limits import quotas
from sessions_app.models import AppState, ChatSession, Event, Message, Project, SessionFile
from sessions_app.models.import_job import ImportState
from sessions_app.portability.imports.background_runner import ImportRunner
from sessions_app.portability.imports.jobs import MOST_UNFINISHED, remove_left_files
from tests.portability.background_imports import account, pieces, post, status, work
from tests.support.account_contents import everything, projects
from tests.support.chat import Chat
from tests.support.export_files import download, purge, resealed, rows, upload
from tests.support.suite import is_patient

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("short_pieces")]


def test_an_import_in_the_background_brings_everything(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    content, before = account(mine), everything(mine)
    purge(mine)
    job = post(mine, content)
    assert (job["state"], projects(mine)) == ("queued", [])
    work()
    done = status(mine, job)
    messages = [line for line in rows(content) if line.startswith(b'{"message"')]
    assert (done["state"], done["found"], done["done"]) == ("done", done["done"], done["found"])
    assert (done["found"]["messages"], done["error"], done["left_out"]) == (len(messages), None, [])
    assert everything(mine) == before
    assert rows(download(mine)) == rows(content)
    assert mine.get("/imports").json()["items"][0] == done


def test_nothing_of_it_is_seen_by_any_read_until_all_of_it_is_there(api: Callable[..., Any], alice: User, bob: User) -> None:
    mine, his = api(alice), api(bob)
    there = Chat(mine, project="/home/alice/0")
    there.say("own", "stays")
    kept = download(mine)
    content = account(mine)
    ids = [uuid.UUID(json.loads(line)["session"]["id"]) for line in rows(content) if line.startswith(b'{"session"')]
    purge(mine)
    AppState.objects.all().delete()
    assert upload(mine, kept).status_code == 200
    before, exported = everything(mine), rows(download(mine))
    job, left = pieces(alice, content)
    seen = 0
    while job.state == ImportState.RUNNING and next(left, None) is not None:
        hidden = Message.objects.filter(session_id__in=ids).exclude(session__id=uuid.UUID(there.id))
        seen += job.state == ImportState.RUNNING and hidden.exists()
        if job.state != ImportState.RUNNING or seen % (8 if is_patient() else 16) != 1:
            continue
        assert everything(mine) == before
        assert rows(download(mine)) == exported
        assert mine.get("/search?q=text%202%20of").json()["items"] == []
        assert {mine.get(f"/sessions/{pk}").status_code for pk in ids if str(pk) != there.id} == {404}
        assert {his.get(f"/sessions/{pk}").status_code for pk in ids} == {404}
    assert seen > 5
    list(left)
    assert {mine.get(f"/sessions/{pk}").status_code for pk in ids} <= {200, 410}
    assert mine.get("/search?q=text%202%20of").json()["items"] != []


def test_an_import_that_was_stopped_leaves_nothing(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    content = account(mine)
    purge(mine)
    job = post(mine, content)
    runner = ImportRunner()
    while not Message.objects.exists():
        assert runner.work()
    stopped = mine.delete(f"/imports/{job['id']}")
    assert (stopped.status_code, stopped.json()["state"]) == (200, "removing")
    while runner.work():
        pass
    assert status(mine, job)["state"] == "stopped"
    assert not any(model.objects.exists() for model in (Message, ChatSession, Project))
    assert mine.delete(f"/imports/{job['id']}").status_code == 409


def test_a_damaged_file_fails_and_says_where(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    content = account(mine)
    purge(mine)
    job = post(mine, content.replace(b"text 1 of 0", b"text 1 of 7"))
    work()
    failed = status(mine, job)
    assert (failed["state"], failed["error"]["code"]) == ("failed", "bad_export")
    assert failed["error"]["details"] == {"line": content.count(b"\n")}
    assert projects(mine) == []


@pytest.mark.slow
def test_what_cannot_stand_beside_the_rest_takes_all_of_it_back(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    content = account(mine)
    purge(mine)
    lines = content.splitlines()[:-1]
    lines.append(next(line for line in reversed(lines) if line.startswith(b'{"handoff_snapshot"')))
    answer = upload(mine, resealed(lines))
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "import_conflict")
    assert not any(model.objects.exists() for model in (Message, ChatSession, Project))
    assert upload(mine, content).status_code == 200


def test_a_dry_run_tells_and_adds_nothing(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    content = account(mine)
    purge(mine)
    told = post(mine, content, "?dry_run=true")
    work()
    told = status(mine, told)
    assert (told["state"], told["dry_run"], projects(mine)) == ("done", True, [])
    assert told["added"] == upload(mine, content).json()["added"]
    assert mine.post(f"/imports/{told['id']}/undo").status_code == 409


def test_an_undo_takes_back_what_nobody_has_touched(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    own = Chat(mine, project="/home/alice/0")
    own.say("a", "was there before")
    kept = download(mine)
    content = account(mine)
    purge(mine)
    upload(mine, kept)
    before = everything(mine)
    job = post(mine, content)
    work()
    undo = mine.post(f"/imports/{job['id']}/undo")
    assert (undo.status_code, undo.json()["state"]) == (200, "removing")
    work()
    undone = status(mine, job)
    assert (undone["state"], undone["left_out"]) == ("undone", [])
    AppState.objects.all().delete()
    without_events = {address: answer[:2] for address, answer in everything(mine).items() if "/resume" not in address}
    assert without_events.keys() == {address for address in before if "/resume" not in address}
    assert own.texts() == ["was there before"]
    assert ChatSession.objects.count() == 1
    assert upload(mine, content).json()["added"]["session"] == sum(b'{"session"' in line for line in rows(content)) - 1


def test_an_undo_takes_back_what_another_clock_wrote(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    chat = Chat(mine)
    chat.say("a", "of the file")
    Chat(mine, session_id=chat.id).ops({"op": "upsert", "id": "a", "role": "user", "text": "a copy"})
    lines = [line.replace(b'_at":"20', b'_at":"21') for line in download(mine).splitlines()[:-1]]
    purge(mine)
    job = post(mine, resealed(lines))
    work()
    assert chat.read()["session"]["updated_at"] < "2100"
    mine.post(f"/imports/{job['id']}/undo")
    work()
    assert (status(mine, job)["left_out"], projects(mine)) == ([], [])


def test_an_undo_keeps_what_was_written_since(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    chats = [Chat(mine, project=f"/undo/{number}") for number in range(2)]
    for chat in chats:
        chat.say("a", "of the file")
    content = download(mine)
    purge(mine)
    job = post(mine, content)
    work()
    chats[0].say("b", "written since")
    mine.post(f"/imports/{job['id']}/undo")
    work()
    undone = status(mine, job)
    assert undone["state"] == "undone"
    assert {left["where"].split()[0] for left in undone["left_out"]} == {"session", "project"}
    assert chats[0].texts() == ["of the file", "written since"]
    assert mine.get(f"/sessions/{chats[1].id}").status_code == 404
    assert [mine.get(f"/projects/{pk}").json()["path"] for pk in projects(mine)] == ["/undo/0"]


@pytest.mark.parametrize("joined", [False, True])
def test_an_undo_keeps_what_was_written_while_the_clock_was_set_back(api: Callable[..., Any], alice: User, joined: bool) -> None:
    """`joined`: the session came into a project that was there before."""
    mine = api(alice)
    chat = Chat(mine, project="/undo/here")
    chat.say("a", "of the file")
    content = download(mine)
    purge(mine)
    if joined:
        mine.post("/projects", {"path": "/undo/here"})
    job = post(mine, content)
    work()
    chat.say("b", "written since")
    written = Event.objects.filter(session_id=chat.id).latest("event_seq")
    for row, name in ((Event.objects.filter(pk=written.pk), "at"), (ChatSession.objects.filter(pk=chat.id), "updated_at")):
        assert row.update(**{name: F(name) - timedelta(hours=1)}) == 1
    mine.post(f"/imports/{job['id']}/undo")
    work()
    assert chat.texts() == ["of the file", "written since"]


@pytest.mark.parametrize("purged", [False, True])
def test_an_undo_keeps_a_session_that_was_moved_since(api: Callable[..., Any], alice: User, purged: bool) -> None:
    mine = api(alice)
    chat = Chat(mine, project="/undo/here")
    chat.say("a", "of the file")
    content = download(mine)
    purge(mine)
    job = post(mine, content)
    work()
    chat.say("b", "written since")
    there = Chat(mine, project="/undo/there")
    assert chat.post_plain("move", {"to_project": there.project}).status_code == 200
    if purged:
        Project.objects.get(path="/undo/here").delete()
    mine.post(f"/imports/{job['id']}/undo")
    work()
    assert {"where": f"session {chat.id}", "reason": "changed since"} in status(mine, job)["left_out"]
    assert chat.texts() == ["of the file", "written since"]


def test_an_undo_keeps_a_session_with_a_new_upload(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    chat = Chat(mine, project="/undo/here")
    chat.say("a", "of the file")
    content = download(mine)
    purge(mine)
    job = post(mine, content)
    work()
    SessionFile.objects.create(session_id=uuid.UUID(chat.id), sha256="0" * 64, name="plan.txt")
    mine.post(f"/imports/{job['id']}/undo")
    work()
    assert chat.texts() == ["of the file"]


def test_two_imports_of_one_user_run_one_after_the_other(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    content = account(mine)
    purge(mine)
    first, second = post(mine, content), post(mine, content)
    runner = ImportRunner()
    assert runner.work()
    assert upload(mine, content).json()["error"]["code"] == "import_running"
    while runner.work():
        pass
    assert [status(mine, job)["state"] for job in (first, second)] == ["done", "done"]
    assert status(mine, second)["added"] == {}


def test_few_imports_wait_at_once_and_their_files_count(api: Callable[..., Any], alice: User, bob: User) -> None:
    mine = api(alice)
    content = download(mine)
    empty = quotas.usage_now(alice.pk).size_bytes
    waiting = [post(mine, content) for _ in range(MOST_UNFINISHED)]
    assert quotas.usage_now(alice.pk).size_bytes == empty + MOST_UNFINISHED * len(content)
    refused = mine.client.generic("POST", "/api/v1/imports", content, content_type="application/x-ndjson")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "import_running")
    assert len(files()) == MOST_UNFINISHED
    assert post(api(bob), download(api(bob)))["state"] == "queued"
    mine.delete(f"/imports/{waiting[0]['id']}")
    work()
    assert files() == []
    assert quotas.usage_now(alice.pk).size_bytes == empty
    assert post(mine, content)["state"] == "queued"


def test_no_file_of_an_import_stays(api: Callable[..., Any], alice: User, bob: User) -> None:
    waiting, other = post(api(alice), download(api(alice))), post(api(bob), download(api(bob)))
    delete_account(user_id=alice.pk)
    (kept,) = files()
    assert kept.stem == uuid.UUID(other["id"]).hex != uuid.UUID(waiting["id"]).hex
    left, young = kept.with_stem("left"), kept.with_stem("young")
    for path in (left, young):
        path.write_bytes(b"{}")
    for path in (kept, left):
        os.utime(path, (0, 0))
    remove_left_files()
    assert set(files()) == {kept, young}


def files() -> list[Path]:
    return list((Path(settings.DATA_DIR) / "imports").iterdir())
