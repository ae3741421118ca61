"""Imports that were interrupted are resumed, completed, or left to the client that has the file."""

import hashlib
import io
import json
import os
import signal
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from config.backups.post_restore import begin_incarnation
from sessions_app.core.callers import caller_of_user
from sessions_app.models import ChatSession, ImportJob, Message, Project
from sessions_app.models.import_job import ImportState, file_of
from sessions_app.models.times import now
from sessions_app.portability.imports import jobs
from sessions_app.portability.imports.background_runner import ImportRunner
from sessions_app.portability.imports.jobs import RESUMABLE_FOR, STALE_AFTER, steps, take_over
from sessions_app.portability.imports.publishing import settle
from sessions_app.portability.imports.services import import_file
from sessions_app.portability.imports.staged_rows import Stopped
from tests.portability.background_imports import account, leave, pieces, post, stop_in_the_middle, work
from tests.support.account_contents import everything, fill
from tests.support.chat import Chat
from tests.support.export_files import download, purge, rows, upload
from tests.support.suite import first_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("short_pieces")]


@pytest.mark.parametrize("share", first_of([0.5, 0.1, 0.9], 1))
def test_an_interrupted_import_goes_on_where_it_was(api: Callable[..., Any], alice: User, share: float) -> None:
    mine = api(alice)
    content, before = account(mine), everything(mine)
    purge(mine)
    job, left = pieces(alice, content)
    while job.place == {} or job.place["line"] < share * content.count(b"\n"):
        next(left)
        job.refresh_from_db(fields=["place"])
    left.close()
    leave(alice)
    stored = set(Message.objects.values_list("pk", flat=True))
    assert stored or share < 0.2
    ImportJob.objects.update(sha256=hashlib.sha256(content).hexdigest())
    done = import_file(caller=caller_of_user(alice), file=io.BytesIO(content))
    assert done.added["session"] == sum(line.startswith(b'{"session"') for line in rows(content))
    assert stored <= set(Message.objects.values_list("pk", flat=True))
    assert everything(mine) == before
    assert rows(download(mine)) == rows(content)
    assert ImportJob.objects.get().state == ImportState.DONE


def test_the_server_leaves_it_for_an_hour_to_who_has_the_file(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    content = account(mine)
    purge(mine)
    stop_in_the_middle(alice, content)
    work()
    assert ImportJob.objects.get().state == ImportState.RUNNING
    ImportJob.objects.update(heartbeat_at=now() - 2 * RESUMABLE_FOR)
    work()
    assert (ImportJob.objects.get().state, Message.objects.count()) == (ImportState.FAILED, 0)


@pytest.mark.slow
def test_an_import_that_waits_behind_one_left_behind_waits_seconds(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    content, before = account(mine), everything(mine)
    purge(mine)
    stop_in_the_middle(alice, content)
    post(mine, content)
    work()
    assert sorted(ImportJob.objects.values_list("state", flat=True)) == [ImportState.DONE, ImportState.FAILED]
    assert everything(mine) == before


def test_what_another_file_left_behind_is_taken_back_first(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    content = account(mine)
    purge(mine)
    stop_in_the_middle(alice, content)
    other = Chat(mine, project="/home/alice/other")
    other.say("a", "another file")
    small = download(mine, f"/sessions/{other.id}/export")
    mine.delete(f"/sessions/{other.id}?purge=1")
    assert upload(mine, small).json()["added"]["session"] == 1
    assert ChatSession.objects.count() == 1
    assert not Project.objects.filter(owner=None).exists()


def test_a_publishing_that_was_interrupted_is_completed_without_the_file(
    api: Callable[..., Any], alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessions_app.portability.imports.publishing.AT_ONCE", 1)
    mine = api(alice)
    fill(mine, 4)
    content, before = download(mine), everything(mine)
    for line in rows(content):
        if line.startswith(b'{"session"'):
            mine.delete(f"/sessions/{json.loads(line)['session']['id']}?purge=1")
    job, left = pieces(alice, content)
    while job.state == ImportState.RUNNING:
        next(left)
    next(left)
    left.close()
    leave(alice)
    work()
    assert ImportJob.objects.get().state == ImportState.DONE
    assert everything(mine).keys() == before.keys()
    assert not Project.objects.filter(owner=None).exists()


def test_who_lost_a_job_to_another_process_adds_nothing_more(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    content, before = account(mine), everything(mine)
    purge(mine)
    lost, slow = pieces(alice, content)
    while not Message.objects.exists():
        next(slow)
    while now() == lost.heartbeat_at:
        pass  # The heartbeat is what tells the two processes apart, and this test is quicker than its milliseconds.
    ImportJob.objects.update(heartbeat_at=now() - 2 * STALE_AFTER, sha256=hashlib.sha256(content).hexdigest())
    other = ImportJob.objects.get()
    assert take_over(other)
    with pytest.raises(Stopped):
        list(slow)
    list(steps(caller_of_user(alice), other, io.BytesIO(content)))
    assert everything(mine) == before


def test_an_import_goes_on_after_a_restored_backup(api: Callable[..., Any], alice: User) -> None:
    """A restore gives every session that somebody has seen a new epoch."""
    mine = api(alice)
    chat = Chat(mine)
    for number in range(20):
        chat.say(f"m{number}", f"words {number}")
    content, before = download(mine), chat.texts()
    purge(mine)
    stop_in_the_middle(alice, content)
    begin_incarnation()
    assert import_file(caller=caller_of_user(alice), file=io.BytesIO(content)).added["message"] == 20
    assert (chat.texts(), chat.read()["session"]["message_count"]) == (before, 20)


@pytest.mark.parametrize("command", [False, True])
def test_who_waits_for_an_import_is_told_that_it_was_stopped(
    api: Callable[..., Any], alice: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: bool
) -> None:
    mine = api(alice)
    content = account(mine)
    purge(mine)

    def settle_too_late(job: ImportJob) -> Any:
        assert mine.delete(f"/imports/{job.pk}").json()["state"] == "removing"
        return settle(job)

    monkeypatch.setattr(jobs, "settle", settle_too_late)
    if command:
        file = tmp_path / "all.ndjson"
        file.write_bytes(content)
        with pytest.raises(CommandError, match="This import was stopped"):
            call_command("import", "--user", "alice", str(file))
    else:
        refused = upload(mine, content)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "import_stopped")
    work()
    assert (mine.get("/imports").json()["items"][0]["state"], Message.objects.exists()) == ("stopped", False)


def test_a_job_that_is_silent_for_a_moment_only_is_left_alone(alice: User) -> None:
    ImportJob.objects.create(user=alice, state=ImportState.RUNNING, heartbeat_at=now() - STALE_AFTER + timedelta(seconds=8))
    assert ImportRunner().work() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_a_signal_ends_says_how_it_goes_on(
    alice: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: int
) -> None:
    file, told = tmp_path / "all.ndjson", io.StringIO()
    file.touch()
    monkeypatch.setattr("config.management.commands.import.import_file", lambda **_: os.kill(os.getpid(), number))
    with pytest.raises(SystemExit) as ended:
        call_command("import", "--user", "alice", str(file), stderr=told)
    assert ended.value.code == 128 + number
    assert "Repeat the command" in told.getvalue()


def test_the_file_of_a_job_is_on_the_disk_when_the_job_is_accepted(
    api: Callable[..., Any], alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a power failure leaves a job whose file is empty."""
    synced, sync = set[int](), os.fsync

    def note(handle: int) -> None:
        synced.add(os.fstat(handle).st_ino)
        sync(handle)

    mine = api(alice)
    content = account(mine)
    monkeypatch.setattr("os.fsync", note)
    kept = file_of(uuid.UUID(post(mine, content)["id"]))
    assert {kept.stat().st_ino, kept.parent.stat().st_ino} <= synced
