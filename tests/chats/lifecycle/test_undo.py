"""What was cleared comes back unwritten: the session goes on under the epoch that was cleared, and nobody can tell."""

import random
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from config.backups.post_restore import begin_incarnation
from sessions_app.chats.lifecycle import clearing, message_restore
from sessions_app.chats.lifecycle.pruning import prune
from sessions_app.models import ChatSession, Clearing, Message, live
from sessions_app.models.message import Removal
from sessions_app.models.times import now
from tests.support.chat import Chat
from tests.support.export_files import download, purge, upload
from tests.support.suite import first_of

pytestmark = pytest.mark.django_db


def history(chat: Chat, *, since: int = 0) -> list[Any]:
    """What a client that saw the state of this rev is told of."""
    changed = chat.get(f"messages?since_rev={since}").json()
    assert changed["more"] is False
    return [(item["id"], item["rev"]) for item in changed["items"]]


@pytest.fixture
def undone(chat: Chat) -> Chat:
    """m0 to m4 were cleared; n0 was written before the undo, n1 after it (revs 5, 6, 7, 8, 9)."""
    for number in range(5):
        chat.say(f"m{number}", f"text {number}")
    chat.clear()
    chat.say("n0", "since", epoch=2)
    chat.undo(of=1, epoch=2)
    chat.say("n1", "after", epoch=2)
    return chat


def test_nothing_that_was_cleared_is_written(chat: Chat) -> None:
    for number in range(5):
        chat.say(f"m{number}", f"text {number}")
    chat.clear()
    before = list(Message.objects.order_by("pk").values())
    with CaptureQueriesContext(connection) as queries:
        chat.undo(of=1, epoch=2)
    assert list(Message.objects.order_by("pk").values()) == before
    assert len(queries) < 60
    assert len(chat.texts()) == 5


def test_clients_that_follow_are_told_of_all_that_came_back(undone: Chat) -> None:
    assert history(undone, since=7) == [*((f"m{number}", 8) for number in range(5)), ("n1", 9)]
    assert history(undone, since=6) == [*((f"m{number}", 8) for number in range(5)), ("n0", 7), ("n1", 9)]
    assert history(undone, since=8) == [("n1", 9)]
    session = undone.read()
    assert [(message["id"], message["rev"]) for message in session["messages"]] == history(undone, since=0)
    assert (session["session"]["epoch"], session["session"]["rev"]) == (2, 9)
    assert undone.api.get("/resume?project=/home/alice/shop").json()["messages"] == session["messages"]


def test_who_saw_only_what_was_there_before_has_not_seen_it(undone: Chat) -> None:
    op = {"op": "upsert", "id": "m1", "role": "user", "text": "unseen"}
    unseen = undone.ops(op, epoch=2, base_rev=7, writer_id="another")
    assert [(found["id"], found["server"]["rev"]) for found in unseen["conflicts"]] == [("m1", 8)]
    seen = undone.ops(op, epoch=2, base_rev=8, writer_id="another")
    assert [applied["id"] for applied in seen["applied"]] == ["m1"]
    assert history(undone, since=9) == [("m1", 10)]
    spared = undone.ops({"op": "truncate", "after": "m1"}, epoch=2, base_rev=7, writer_id="third")["spared"]
    assert spared == ["m2", "m3", "m4", "n1"]


def test_a_save_of_the_epoch_under_which_they_are_filed_is_late(undone: Chat) -> None:
    """Clients know of epoch 2 only."""
    late = undone.post("changes", seq=50, epoch=1, ops=[{"op": "upsert", "id": "m9", "role": "user", "text": "late"}])
    assert (late.status_code, late.json()["error"]["details"]["epoch"]) == (409, 2)
    assert undone.clear(epoch=2)["epoch"] == 3
    assert undone.texts() == []
    assert len(undone.removed()) == 7


def test_what_was_taken_out_before_the_clear_stays_out_and_its_id_free_for_what_was_written_since(chat: Chat) -> None:
    chat.say("m0", "one")
    chat.say("m1", "taken out")
    chat.say("m2", "out too")
    chat.ops({"op": "delete", "id": "m1"}, {"op": "delete", "id": "m2"})
    chat.clear()
    chat.say("m1", "another one", epoch=2)
    assert chat.undo(of=1, epoch=2)["renamed"] == []
    assert chat.texts() == ["one", "another one"]
    assert {item["text"] for item in chat.removed()} == {"taken out", "out too"}
    late = chat.ops({"op": "upsert", "id": "m2", "role": "user", "text": "out too"}, epoch=2, writer_id="late")
    assert [item["reason"] for item in late["ignored"]] == ["removed"]
    chat.post("removed/m1/restore")
    assert sorted(chat.texts()) == ["another one", "one", "taken out"]


def test_an_id_that_was_deleted_since_is_not_brought_back_under_its_name(chat: Chat) -> None:
    chat.say("m0", "one")
    chat.clear()
    chat.ops({"op": "delete", "id": "m0"}, epoch=2)
    assert chat.undo(of=1, epoch=2)["renamed"] == [{"from": "m0", "to": "m0~1"}]
    assert chat.texts() == ["one"]


def test_a_short_chat_comes_back_into_a_longer_one(chat: Chat) -> None:
    chat.say("m0", "one")
    chat.clear()
    for number in range(4):
        chat.say(f"n{number}", f"since {number}", epoch=2)
    rev = chat.read()["session"]["rev"]
    chat.undo(of=1, epoch=2)
    assert chat.texts() == ["one", *(f"since {number}" for number in range(4))]
    assert history(chat, since=rev) == [("m0", rev + 1)]


def test_clears_are_taken_back_in_any_order(chat: Chat) -> None:
    for epoch in (1, 2, 3):
        for number in range(epoch):
            chat.say(f"e{epoch}-{number}", f"{epoch} {number}", epoch=epoch)
        chat.clear(epoch=epoch)
    for of in (1, 3, 2):
        chat.undo(of=of, epoch=4)
    assert chat.texts() == ["1 0", "2 0", "2 1", "3 0", "3 1", "3 2"]
    assert chat.read()["session"]["message_count"] == 6
    chat.clear(epoch=4)
    chat.undo(of=4, epoch=5)
    assert len(chat.texts()) == 6


def test_who_missed_two_undos_is_told_of_all(chat: Chat) -> None:
    chat.say("m0", "one")
    chat.say("m1", "two")
    chat.clear()
    chat.say("m2", "three", epoch=2)
    chat.clear(epoch=2)
    rev = chat.read()["session"]["rev"]
    chat.undo(of=2, epoch=3)
    chat.undo(of=1, epoch=3)
    assert history(chat, since=rev) == [("m0", rev + 2), ("m1", rev + 2), ("m2", rev + 1)]
    assert history(chat, since=rev + 1) == [("m0", rev + 2), ("m1", rev + 2)]


def test_what_came_back_is_pruned_by_its_next_clear_not_by_the_first(undone: Chat) -> None:
    Clearing.objects.update(cleared_at=now() - timedelta(days=31))
    undone.clear(epoch=2)
    prune()
    undone.undo(of=2, epoch=3)
    assert len(undone.texts()) == 7
    undone.clear(epoch=3)
    Clearing.objects.update(cleared_at=now() - timedelta(days=31))
    assert prune()["cleared messages"] == 7
    gone = undone.post("undo-clear", epoch=4)
    assert gone.status_code in (409, 410)


def test_it_is_exported_and_imported_as_it_reads(undone: Chat) -> None:
    mine = undone.api
    undone.clear(epoch=2)
    undone.say("o0", "third", epoch=3)
    undone.undo(of=2, epoch=3)
    read, content = undone.read(), download(mine)
    purge(mine)
    assert upload(mine, content).status_code == 200
    assert undone.read() == read
    assert history(undone, since=9) == [(message["id"], message["rev"]) for message in read["messages"]]


def test_a_restored_backup_of_it_goes_on(undone: Chat) -> None:
    texts = undone.texts()
    epoch = begin_incarnation()
    assert (undone.texts(), undone.read()["session"]["epoch"]) == (texts, epoch)
    undone.say("n2", "goes on", epoch=epoch, base_rev=9)
    undone.clear(epoch=epoch)
    undone.undo(of=epoch, epoch=epoch + 1)
    assert undone.texts() == [*texts, "goes on"]


def test_it_is_found_forked_moved_and_listed_like_any_session(undone: Chat) -> None:
    texts = undone.texts()
    hits = undone.api.get("/search?q=text").json()["items"]
    assert {hit["message"] for hit in hits} == {f"m{number}" for number in range(5)}
    fork = undone.post("fork", epoch=2).json()
    assert Chat(undone.api, session_id=fork["id"]).texts() == texts
    listed = undone.api.get(f"/projects/{fork['project_id']}/sessions").json()["items"]
    assert {item["id"]: item["epoch"] for item in listed} == {undone.id: 2, fork["id"]: 1}
    page = undone.get("messages?before=m3&limit=2").json()
    assert [item["id"] for item in page["items"]] == ["m1", "m2"]


def set_span(monkeypatch: pytest.MonkeyPatch, span: int) -> None:
    for module in (live, message_restore):
        monkeypatch.setattr(module, "POSITIONS_A_REV", span)


def in_pages(chat: Chat, since: int, limit: int) -> dict[str, int]:
    """The changes that a client reads which asks for so many at a time. None of them twice."""
    told = dict[str, int]()
    while True:
        page = chat.get(f"messages?since_rev={since}&limit={limit}").json()
        assert all(since < item["rev"] <= page["rev"] for item in page["items"])
        assert not told.keys() & {item["id"] for item in page["items"]}
        told |= {item["id"]: item["rev"] for item in page["items"]}
        if not page["more"]:
            assert page["rev"] == chat.read()["session"]["rev"]
            return told
        assert page["rev"] > since
        since = page["rev"]


@pytest.mark.parametrize("longer", [False, True])
def test_what_an_undo_brings_back_is_read_page_by_page(chat: Chat, longer: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """`longer`: more was written since the clear than was cleared, so that the cleared messages move."""
    set_span(monkeypatch, 10)
    chat.ops(*({"op": "upsert", "id": f"m{number}", "role": "user", "text": "x"} for number in range(95)))
    chat.clear()
    since = 120 if longer else 5
    rev = chat.ops(*({"op": "upsert", "id": f"n{number}", "role": "user", "text": "y"} for number in range(since)), epoch=2)[
        "rev"
    ]
    undone = chat.undo(of=1, epoch=2)
    assert (undone["prev_rev"], undone["rev"]) == (rev, rev + 10)
    page = chat.get(f"messages?since_rev={rev}&limit=20").json()
    assert ([item["id"] for item in page["items"]], page["rev"], page["more"]) == ([f"m{n}" for n in range(25)], rev + 3, True)
    assert list(in_pages(chat, rev, 20)) == [f"m{number}" for number in range(95)]
    assert len(in_pages(chat, 0, 20)) == 95 + since


def test_an_undo_of_an_older_version_counts_as_one_rev(undone: Chat) -> None:
    ChatSession.objects.update(revived_revs=None)
    assert in_pages(undone, 7, 2) == {**{f"m{number}": 8 for number in range(5)}, "n1": 9}


def test_a_page_of_changes_is_no_larger_than_a_window(chat: Chat, settings: Any) -> None:
    settings.WINDOW_BYTES = 10_000
    for number in range(8):
        chat.say(f"m{number}", "x" * 3_000)
    page = chat.get("messages?since_rev=0").json()
    assert (len(page["items"]), page["rev"], page["more"]) == (4, 4, True)
    assert len(in_pages(chat, 0, 100)) == 8


def by_writing(session: Any, cleared: Clearing, at: Any) -> message_restore.RestoredMessages:
    """What an undo is: every message that was cleared is written into the present epoch."""
    rows = Message.objects.filter(session_id=session.id, epoch=cleared.messages_epoch, removed=Removal.NONE)
    return message_restore.restore_messages(session, rows, at, cleared.epoch)


@pytest.mark.parametrize("seed", first_of(range(12), 2))
def test_random_histories_read_as_if_all_were_written(
    api: Callable[..., Any], alice: User, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_span(monkeypatch, 3 if seed % 2 else 100)
    one, other = (Chat(api(alice), project=f"/{name}") for name in ("taken up", "written"))
    one.writer = other.writer = str(uuid.uuid4())
    chance, usual = random.Random(seed), message_restore.take_up
    epoch, cleared = 1, list[int]()
    path, body = "", dict[str, Any]()
    for number in range(40):
        act, seen = chance.random(), chance.randrange(number + 1)
        text = f"text {chance.randrange(100)}"
        if act < 0.2:
            path, body = "clear", {"epoch": epoch}
            cleared, epoch = [*cleared, epoch], epoch + 1
        elif act < 0.4 and cleared:
            path, body = "undo-clear", {"epoch": epoch, "of": cleared.pop()}
        else:
            op = {"op": "upsert", "id": f"m{chance.randrange(12)}", "role": "user", "text": text}
            path, body = "changes", {"epoch": epoch, "ops": [op], "base_rev": seen, "writer_id": f"w{chance.randrange(3)}"}
        told = []
        for chat, way in ((one, usual), (other, by_writing)):
            monkeypatch.setattr(clearing, "take_up", way)
            told.append(plain(chat.post(path, seq=number + 1, **body).json()))
        assert told[0] == told[1], (number, path, body)
        assert plain(one.read()["messages"]) == plain(other.read()["messages"]), number
        assert history(one, since=seen) == history(other, since=seen), number
        if number % 4 == 0:
            assert in_pages(one, seen, chance.randrange(1, 5)) == dict(history(one, since=seen)), number
    assert one.read()["session"]["message_count"] == other.read()["session"]["message_count"]


def plain(value: Any) -> Any:
    """Without what two sessions cannot share: times, ids of copies and of themselves."""
    if isinstance(value, dict):
        left_out = {"saved_at", "updated_at", "created_at", "copy_id", "session"}
        return {name: plain(item) for name, item in value.items() if name not in left_out}
    return [plain(item) for item in value] if isinstance(value, list) else value
