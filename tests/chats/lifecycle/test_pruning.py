"""What is kept only for a while goes when its time is over, not before; what the protocol needs to remember stays."""

import threading
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.utils.timezone import now

from config.server.background import TASKS, BackgroundTask, BackgroundTasks, Batches
from sessions_app.chats.lifecycle import pruning
from sessions_app.chats.lifecycle.pruning import prune
from sessions_app.models import (
    ChatSession,
    Clearing,
    ConflictCopy,
    Event,
    FlushToken,
    Login,
    Message,
    Project,
    SaveReceipt,
    SignInLink,
    SocketTicket,
)
from tests.support.chat import Chat

DUE, NOT_YET = timedelta(days=30, minutes=1), timedelta(days=29, hours=23)


def removed_message(chat: Chat, age: timedelta) -> None:
    chat.say("m1", "stays")
    chat.say("m2", "the secret plan")
    chat.ops({"op": "delete", "id": "m2"})
    Message.objects.filter(message_id="m2").update(updated_at=now() - age)


def cleared(chat: Chat, age: timedelta) -> None:
    chat.say("m1", "an old story")
    chat.clear()
    Clearing.objects.update(cleared_at=now() - age)


def conflict(chat: Chat, age: timedelta) -> None:
    chat.say("m1", "one")
    Chat(chat.api, session_id=chat.id).ops({"op": "upsert", "id": "m1", "role": "user", "text": "two"})
    ConflictCopy.objects.update(created_at=now() - age)


def test_a_deleted_message_loses_its_content_after_30_days_and_stays_deleted(chat: Chat) -> None:
    removed_message(chat, DUE)
    assert prune()["removed messages"] == 1
    assert chat.removed() == []
    assert not Message.objects.filter(text__contains="secret").exists()
    late = chat.ops({"op": "upsert", "id": "m2", "role": "user", "text": "the secret plan"})
    assert [item["reason"] for item in late["ignored"]] == ["removed"]
    assert chat.texts() == ["stays"]


def test_a_cleared_chat_can_be_brought_back_until_its_time_is_over(chat: Chat) -> None:
    cleared(chat, DUE)
    late = chat.post("undo-clear", of=1, epoch=2)
    assert (late.status_code, late.json()["error"]["code"]) == (410, "purged")
    prune()
    assert not Message.objects.filter(text="an old story").exists()
    assert Clearing.objects.get().purged_at is not None
    assert chat.post("undo-clear", of=1, epoch=2).status_code == 410


@pytest.mark.parametrize("make", [removed_message, cleared, conflict])
def test_a_day_before_nothing_goes(chat: Chat, make: Any) -> None:
    make(chat, NOT_YET)
    counts = Message.objects.count(), ConflictCopy.objects.count()
    assert not any(prune().values())
    assert (Message.objects.count(), ConflictCopy.objects.count()) == counts
    assert chat.removed() or chat.conflicts()


def test_conflict_copies_go_after_30_days(chat: Chat) -> None:
    conflict(chat, DUE)
    assert prune()["conflict copies"] == 1
    assert chat.conflicts() == []


def test_answers_go_after_a_day_and_the_log_after_a_week(chat: Chat) -> None:
    chat.say("m1", "one")
    chat.say("m2", "two")
    SaveReceipt.objects.filter(pk=SaveReceipt.objects.earliest("pk").pk).update(created_at=now() - timedelta(hours=25))
    Event.objects.filter(pk=Event.objects.earliest("pk").pk).update(at=now() - timedelta(days=8))
    events = Event.objects.count()
    counts = prune()
    assert (counts["receipts"], counts["events"]) == (1, 1)
    assert (SaveReceipt.objects.count(), Event.objects.count()) == (1, events - 1)
    assert chat.texts() == ["one", "two"]


def test_the_trash_is_emptied_after_30_days(chat: Chat) -> None:
    chat.say("m1", "one")
    chat.api.delete(f"/sessions/{chat.id}")
    kept = Chat(chat.api, project=chat.project)
    kept.say("m1", "kept")
    ChatSession.objects.filter(id=chat.id).update(deleted_at=now() - DUE)
    assert chat.api.post(f"/sessions/{chat.id}/undelete").status_code == 404
    assert prune()["sessions"] == 1
    assert [str(pk) for pk in ChatSession.objects.values_list("pk", flat=True)] == [kept.id]
    assert kept.texts() == ["kept"]


def test_a_project_in_the_trash_goes_with_all_that_is_in_it(chat: Chat) -> None:
    chat.say("m1", "one")
    handoff = f"/projects/{chat.read()['session']['project_id']}/handoff"
    chat.api.patch(handoff, {"summary": "frozen, and goes all the same"})
    chat.api.post(f"{handoff}/freeze")
    other = Chat(chat.api, project="/home/alice/other")
    Project.objects.filter(path=chat.project).update(deleted_at=now() - DUE)
    project = Project.objects.get(path=chat.project)
    assert chat.api.post(f"/projects/{project.id}/undelete").status_code == 404
    assert prune()["projects"] == 1
    assert not Message.objects.exists()
    assert [found.path for found in Project.objects.all()] == [other.project]


def test_links_tickets_tokens_and_logins_go_when_they_have_expired(chat: Chat, alice: Any) -> None:
    for at in (now() - timedelta(seconds=1), now() + timedelta(hours=1)):
        SignInLink.objects.create(user=alice, token_sha256=uuid.uuid4().hex, expires_at=at)
        SocketTicket.objects.create(user=alice, token_sha256=uuid.uuid4().hex, expires_at=at)
        FlushToken.objects.create(user=alice, session_id=chat.id, token_sha256=uuid.uuid4().hex, expires_at=at)
        Login.objects.create(session_key=uuid.uuid4().hex, session_data="", expire_date=at)
    prune()
    assert [model.objects.count() for model in (SignInLink, SocketTicket, FlushToken, Login)] == [1, 1, 1, 1]


def test_many_go_in_small_batches(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "AT_ONCE", 2)
    for number in range(5):
        chat.say(f"m{number}", "a text")
    SaveReceipt.objects.update(created_at=now() - timedelta(days=2))
    assert [each for each in pruning.prune_in_batches() if each[0] == "receipts"] == [("receipts", count) for count in (2, 2, 1)]


def test_projects_go_one_batch_at_a_time_after_the_rows_of_all_apps(
    chat: Chat, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that go with a project go in one transaction: they must be few."""
    monkeypatch.setattr(pruning, "AT_ONCE", 2)
    asked: list[str] = []
    for path in ("/a", "/b", "/c"):
        Project.objects.create(owner=alice, path=path, name=path, deleted_at=now() - DUE)

    def asks_others() -> list[Any]:
        asked.append("others")
        return []

    monkeypatch.setattr(pruning, "extensions", asks_others)
    for kind, count in pruning.prune_in_batches():
        asked.append(f"{count} {kind}")
    assert asked == ["others", "2 projects", "others", "1 projects", "others"]


def test_a_task_of_batches_goes_on_where_it_was_and_begins_again_after_an_error() -> None:
    begun: list[int] = []

    def batches() -> Iterator[tuple[str, int]]:
        begun.append(len(begun))
        yield "receipts", 2
        if len(begun) == 1:
            raise OSError("a full disk")
        yield "files", 1

    work = Batches(batches)
    assert work() == 2
    with pytest.raises(OSError, match="full disk"):
        work()
    assert [work() for _ in range(4)] == [2, 1, 0, 2]
    assert len(begun) == 3


def test_the_command_tells_what_went(chat: Chat, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("prune")
    assert capsys.readouterr().out == "nothing was due\n"
    removed_message(chat, DUE)
    call_command("prune")
    assert capsys.readouterr().out == "1 removed messages\n"


def test_a_server_that_is_up_for_minutes_prunes_too() -> None:
    """Every hour is too late for one that is started each day for half an hour."""
    called = threading.Event()

    def work() -> int:
        called.set()
        return 0

    chores = BackgroundTasks((BackgroundTask("pruning", 3_600.0, work, first=0.01),))
    chores.start()
    assert called.wait(10)
    chores.stop()
    [first] = [task.first for task in TASKS if task.name == "pruning"]
    assert first is not None
    assert first <= 15 * 60
