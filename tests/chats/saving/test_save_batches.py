"""Saves of many clients in one transaction: each as if it were alone, and all of them or none on the disk."""

import json
import threading
import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from sessions_app.chats.saving import idempotency
from sessions_app.chats.saving import services as saving
from sessions_app.chats.saving.receipts import Answer
from sessions_app.chats.saving.save_batches import Left, Save, save_together
from sessions_app.chats.saving.services import Changes
from sessions_app.core.callers import caller_of_user
from sessions_app.models import ChatSession, Event, Message
from sessions_app.models.times import now
from tests.support.chat import Chat
from tests.support.databases import ON_POSTGRESQL
from tests.support.saves import Op, delete, truncate, upsert

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def chats(api: Callable[..., Any], alice: User) -> list[Chat]:
    """Three sessions in two projects."""
    return [Chat(api(alice), project=project) for project in ("/one", "/two", "/two")]


def save_of(user: User, chat: Chat, *ops: Op, seq: int = 1, epoch: int = 1, body: str = "") -> Save:
    told = Changes(epoch=epoch, writer_id="w", seq=seq, body_sha256=(body or f"{seq}").zfill(64), ops=list(ops))
    return Save(caller_of_user(user), uuid.UUID(chat.id), told)


def statuses(answers: list[Any]) -> list[Any]:
    return [answer if isinstance(answer, Left) else answer.status for answer in answers]


def numbers(chat: Chat) -> list[int]:
    events = Event.objects.filter(project__path=chat.project).order_by("event_seq")
    return list(events.values_list("event_seq", flat=True))


def revs_of(chats: list[Chat]) -> list[int]:
    return [chat.read()["session"]["rev"] for chat in chats]


def test_each_is_answered_and_events_are_numbered_without_a_gap(chats: list[Chat], alice: User) -> None:
    before, revs = numbers(chats[1]), revs_of(chats)
    answers = save_together([save_of(alice, chat, upsert("m", f"words {at}")) for at, chat in enumerate(chats)])
    assert statuses(answers) == [200, 200, 200]
    assert [chat.texts() for chat in chats] == [["words 0"], ["words 1"], ["words 2"]]
    assert numbers(chats[1]) == [*before, before[-1] + 1, before[-1] + 2]
    assert revs_of(chats) == [rev + 1 for rev in revs]
    projects = [json.loads(event.frame)["project"] for event in Event.objects.order_by("pk")]
    assert projects == list(Event.objects.order_by("pk").values_list("project__path", flat=True))
    chats[1].say("next", "one more")
    assert numbers(chats[1])[-1] == before[-1] + 3


def test_a_session_s_saves_follow_one_another_in_one_batch(chats: list[Chat], alice: User) -> None:
    save = partial(save_of, alice, chats[0])
    saves = [
        save(upsert("a", "first"), upsert("b", "second")),
        save(upsert("a", "first, edited"), seq=2),
        save_of(alice, chats[1], upsert("m", "between")),
        save(truncate("a"), seq=3),
        save(delete("a"), upsert("c", "third"), seq=4),
        save(upsert("a", "first"), upsert("b", "second")),
        save(upsert("other", "body"), seq=2, body="f"),
        save(upsert("late", "words"), seq=5, epoch=7),
    ]
    answers = save_together(saves)
    assert statuses(answers) == [200, 200, 200, 200, 200, 200, Left.ALONE, 409]
    assert answers[5] == Answer(200, answers[0].body, answers[0].etag, replayed=True)  # type: ignore[union-attr]
    assert chats[0].texts() == ["third"]
    assert revs_of(chats[:1]) == [4]
    assert [copy["text"] for copy in chats[0].conflicts()] == ["words"]


def test_stored_messages_are_changed_together(chats: list[Chat], alice: User) -> None:
    """Those that the batch read before its first save: of each session, and none of another that has the same id."""
    for at, chat in enumerate(chats[:2]):
        chat.writer = "w"
        chat.ops(upsert("m", f"stored {at}"), upsert("n", "stays"), seq=1)
    saves = [save_of(alice, chat, upsert("m", f"changed {at}"), seq=2) for at, chat in enumerate(chats)]
    answers: list[Any] = save_together(saves)
    assert [json.loads(answer.body)["applied"] for answer in answers] == [[{"id": "m", "ver": ver}] for ver in (2, 2, 1)]
    assert [chat.texts() for chat in chats] == [["changed 0", "stays"], ["changed 1", "stays"], ["changed 2"]]


def test_saves_without_messages_are_saved_together(chats: list[Chat], alice: User) -> None:
    revs = revs_of(chats)
    assert statuses(save_together([save_of(alice, chat) for chat in chats])) == [200, 200, 200]
    assert revs_of(chats) == revs


def test_a_batch_recognises_requests_of_earlier_batches(chats: list[Chat], alice: User) -> None:
    saves = [save_of(alice, chat, upsert("m", "words")) for chat in chats]
    first: list[Any] = save_together(saves)
    another = save_of(alice, chats[1], upsert("m", "other words"), body="f")
    again = save_together([saves[0], another, saves[2]])
    assert again[::2] == [replace(answer, replayed=True) for answer in first[::2]]
    assert (again[1], [chat.texts() for chat in chats]) == (Left.ALONE, [["words"]] * 3)


def test_what_is_not_theirs_or_unknown_is_left_out(chats: list[Chat], alice: User, bob: User) -> None:
    unknown = Save(caller_of_user(alice), uuid.uuid4(), save_of(alice, chats[0]).changes)
    answers = save_together([save_of(bob, chats[0], upsert("m", "mine")), unknown, save_of(alice, chats[1], upsert("m", "hers"))])
    left = Left.HELD if ON_POSTGRESQL else Left.ALONE
    assert statuses(answers) == [left, left, 200]
    assert [chat.texts() for chat in chats[:2]] == [[], ["hers"]]


def test_one_that_fails_after_it_wrote_takes_nothing_to_the_disk(
    chats: list[Chat], alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = idempotency.answer

    def fails(session: Any, **body: Any) -> Any:
        if session.id == uuid.UUID(chats[1].id):
            raise LookupError
        return answer(session, **body)

    revs = revs_of(chats)
    monkeypatch.setattr(idempotency, "answer", fails)
    answers = save_together([save_of(alice, chat, upsert("m", "words")) for chat in chats])
    assert statuses(answers) == [Left.ALONE] * 3
    assert not Message.objects.exists()
    assert revs_of(chats) == revs


def test_one_for_which_the_database_refuses_a_statement_takes_nothing_to_the_disk(
    chats: list[Chat], alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = now

    def refused() -> Any:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT nothing FROM nowhere")
        except Exception:
            pass
        return guard()

    monkeypatch.setattr(saving, "now", refused)
    assert statuses(save_together([save_of(alice, chat, upsert("m", "words")) for chat in chats])) == [Left.ALONE] * 3
    assert not Message.objects.exists()


@pytest.mark.skipif(not ON_POSTGRESQL, reason="SQLite has one writer: nothing else can hold a session.")
@pytest.mark.parametrize("table", ["sessions_app_chatsession", "sessions_app_project"])
def test_nobody_waits_for_a_session_that_somebody_else_holds(chats: list[Chat], alice: User, table: str) -> None:
    held, go = threading.Event(), threading.Event()
    row = chats[0].id if "session" in table[12:] else ChatSession.objects.get(id=chats[0].id).project_id

    def hold() -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(f"SELECT 1 FROM {table} WHERE id = %s FOR UPDATE", [row])
                held.set()
                go.wait(20)
        finally:
            connection.close()

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(10)
    try:
        answers = save_together([save_of(alice, chat, upsert("m", "words")) for chat in chats])
    finally:
        go.set()
        holder.join()
    assert statuses(answers) == [Left.HELD, 200, 200]


@pytest.mark.skipif(ON_POSTGRESQL, reason="What goes through a pipeline is not counted.")
def test_more_saves_take_no_more_statements(api: Callable[..., Any], alice: User) -> None:
    def statements(count: int) -> int:
        many = [Chat(api(alice), project=f"/{count}/{number}") for number in range(count)]
        saves = [save_of(alice, chat, upsert("m", "words"), upsert("n", "more")) for chat in many]
        with CaptureQueriesContext(connection) as caught:
            assert statuses(save_together(saves)) == [200] * count
        return len(caught)

    assert statements(1) == statements(20)


def test_a_save_of_the_present_epoch_whatever_it_is_sees_its_messages(chats: list[Chat], alice: User) -> None:
    """Also where the session was cleared, and where its epochs run ahead since a restore."""
    chats[0].say("m", "before")
    chats[0].clear()
    chats[0].say("m", "now", epoch=2)
    ChatSession.objects.filter(pk=chats[0].id).update(epochs_ahead=3)
    save = save_of(alice, chats[0], upsert("m", "another"), upsert("n", "more"))
    [answer] = save_together([replace(save, changes=replace(save.changes, epoch=None, writer_id="key:1"))])
    assert isinstance(answer, Answer)
    told = json.loads(answer.body)
    assert ([each["id"] for each in told["conflicts"]], [each["id"] for each in told["applied"]]) == (["m"], ["n"])
    assert list(Message.objects.filter(message_id="m").order_by("epoch").values_list("text", flat=True)) == ["before", "now"]


@pytest.mark.skipif(ON_POSTGRESQL, reason="What goes through a pipeline is not counted.")
def test_a_save_without_an_epoch_takes_no_more_statements(chats: list[Chat], alice: User) -> None:
    def statements(chat: Chat, epoch: int | None) -> int:
        save = save_of(alice, chat, upsert("m", "words"))
        with CaptureQueriesContext(connection) as caught:
            assert statuses(save_together([replace(save, changes=replace(save.changes, epoch=epoch))])) == [200]
        return len(caught)

    assert statements(chats[0], None) == statements(chats[1], 1)
