"""A fork is copied in pieces: nobody sees half of it, and what happens meanwhile leaves it whole."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from config.backups.post_restore import begin_incarnation
from sessions_app.agents.transfer import fork_copying, forking
from sessions_app.chats.lifecycle.pruning import prune
from sessions_app.models import ChatSession, Message, Project
from sessions_app.models.times import now
from tests.support.chat import Chat
from tests.support.saves import refusal

pytestmark = pytest.mark.django_db
SAID = [f"text {number}" for number in range(9)]
KEY = "AKIAIOSFODNN7EXAMPLE"
Meanwhile = Callable[[Callable[[], object]], None]


class TwoAtOnce:
    """A pace of two messages a piece."""

    def __init__(self, rows: int = 0, *, hidden: bool = False) -> None:
        self.rows = 2

    def begin(self) -> None:
        pass

    end = begin


class Killed(BaseException):
    """As if the process had ended here."""


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_copying, "Pace", TwoAtOnce)


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """`act` happens once, when the first pieces of the next fork are copied."""

    def arrange(act: Callable[[], object]) -> None:
        def interrupted(steps: Iterator[bool]) -> None:
            monkeypatch.undo()
            monkeypatch.setattr(fork_copying, "Pace", TwoAtOnce)
            next(steps)
            next(steps)
            act()
            for _ in steps:
                pass

        monkeypatch.setattr(forking, "run_paced", interrupted)

    return arrange


@pytest.fixture
def long(chat: Chat) -> Chat:
    for number, text in enumerate(SAID):
        chat.say(f"m{number}", text)
    return chat


def forked(chat: Chat, **body: Any) -> Chat:
    made = chat.post("fork", **body)
    assert made.status_code == 201, made.content
    return Chat(chat.api, session_id=made.json()["id"])


def staged() -> list[Any]:
    return [*Project.objects.filter(owner=None), *ChatSession.objects.filter(project__owner=None)]


def test_pieces_make_a_whole(long: Chat) -> None:
    long.ops({"op": "delete", "id": "m3"})
    fork = forked(long)
    assert fork.texts() == long.texts()
    session = fork.read()["session"]
    assert (session["message_count"], session["size_bytes"], session["rev"]) == (8, 48, 1)
    assert [message["position"] for message in fork.read()["messages"]] == [
        message["position"] for message in long.read()["messages"]
    ]
    assert not staged()
    assert fork.say("m3", "again")["applied"] == [{"id": "m3", "ver": 1}]


ACTS: dict[str, Callable[[Chat], object]] = {
    "edited before": lambda chat: chat.say("m1", "another text"),
    "edited behind": lambda chat: chat.say("m7", "another text"),
    "added": lambda chat: chat.say("m9", "one more"),
    "deleted": lambda chat: chat.ops({"op": "delete", "id": "m0"}, {"op": "delete", "id": "m8"}),
    "truncated": lambda chat: chat.ops({"op": "truncate", "after": "m1"}),
    "written again at the end": lambda chat: chat.ops(
        {"op": "truncate", "after": "m0"}, {"op": "upsert", "id": "m1", "role": "user", "text": "edited"}
    ),
    "everything edited": lambda chat: [chat.say(f"m{number}", f"changed {number}") for number in range(9)],
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_a_fork_is_the_session_as_of_the_moment_in_which_it_appears(
    long: Chat, meanwhile: Meanwhile, act: Callable[[Chat], object]
) -> None:
    meanwhile(lambda: act(long))
    fork = forked(long)
    assert fork.texts() == long.texts()
    session = fork.read()["session"]
    assert (session["message_count"], session["size_bytes"]) == (len(fork.texts()), sum(map(len, fork.texts())))
    assert fork.say("n1", "goes on")["applied"]
    assert fork.texts() == [*long.texts(), "goes on"]


def test_a_fork_up_to_a_message_ends_there(long: Chat, meanwhile: Meanwhile) -> None:
    meanwhile(lambda: long.ops({"op": "delete", "id": "m5"}))
    long.say("m9", "not in it")
    assert forked(long, up_to="m5").texts() == SAID[:5]


def test_a_source_that_is_cleared_meanwhile_is_forked_as_of_the_clear(long: Chat, meanwhile: Meanwhile) -> None:
    def act() -> None:
        long.say("m8", "last words", opening_step="plan")
        long.clear()
        long.say("n1", "a new story", epoch=2)

    meanwhile(act)
    assert forked(long).texts() == [*SAID[:8], "last words"]
    assert long.texts() == ["a new story"]


def test_a_source_that_is_deleted_meanwhile_leaves_nothing(long: Chat, meanwhile: Meanwhile) -> None:
    meanwhile(lambda: long.api.delete(f"/sessions/{long.id}"))
    assert refusal(long.post("fork")) == (410, "session_deleted")
    assert not staged()
    assert Message.objects.count() == len(SAID)


def test_settings_that_change_meanwhile_are_not_passed_by(long: Chat, meanwhile: Meanwhile) -> None:
    project = long.api.post("/projects", {"path": "/elsewhere"}).json()["id"]
    meanwhile(lambda: Project.objects.filter(id=project).update(settings={"redaction": "redact"}))
    assert refusal(long.post("fork", project="/elsewhere")) == (409, "changed_meanwhile")
    assert not staged()


def test_secrets_follow_the_rule_of_the_project_that_the_fork_is_for(long: Chat) -> None:
    project = long.api.post("/projects", {"path": "/elsewhere"}).json()["id"]
    Project.objects.filter(id=project).update(settings={"redaction": "redact"})
    long.say("m4", f"the key is {KEY}")
    fork = forked(long, project="/elsewhere")
    assert len(fork.texts()) == len(SAID)
    assert not any(KEY in text for text in fork.texts())
    assert fork.read()["session"]["size_bytes"] == sum(len(text) for text in fork.texts())


def test_half_of_a_fork_is_seen_by_nobody(long: Chat, meanwhile: Meanwhile) -> None:
    project = long.read()["session"]["project_id"]
    seen: list[Any] = []

    def look() -> None:
        assert Message.objects.count() > len(SAID)
        seen.append(long.api.get(f"/projects/{project}/sessions").json()["items"])
        seen.append(long.api.get("/projects").json()["items"])
        seen.append(long.api.get("/search?q=text").json()["items"])
        seen.append(long.api.get("/export").getvalue().count(b'{"message"'))
        [hidden] = ChatSession.objects.filter(project__owner=None)
        assert long.api.get(f"/sessions/{hidden.id}").status_code == 404
        assert long.api.delete(f"/sessions/{hidden.id}").status_code == 404

    meanwhile(look)
    forked(long)
    sessions, projects, hits, exported = seen
    assert (len(sessions), len(projects), len(hits), exported) == (1, 1, len(SAID), len(SAID))


@pytest.fixture
def killed(long: Chat, meanwhile: Meanwhile, monkeypatch: pytest.MonkeyPatch) -> Chat:
    """Its fork 5 was broken off in the middle."""

    def end() -> None:
        monkeypatch.setattr(fork_copying.Copying, "discard", lambda self: iter(()))
        raise Killed

    meanwhile(end)
    with pytest.raises(Killed):
        long.post("fork", seq=5)
    monkeypatch.undo()
    assert len(staged()) == 2
    return long


def test_what_was_broken_off_is_pruned(killed: Chat) -> None:
    assert sum(prune().values()) == 0
    ChatSession.objects.filter(project__owner=None).update(updated_at=now() - timedelta(hours=2))
    assert prune()["broken forks"] > 0
    assert not staged()
    assert Message.objects.count() == len(SAID)
    assert killed.texts() == SAID


def test_the_same_request_goes_on_where_nobody_does(killed: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forking, "PATIENCE_SECONDS", 0.0)
    waiting = killed.post("fork", seq=5)
    assert (waiting.status_code, waiting["Retry-After"]) == (503, "1")
    ChatSession.objects.filter(project__owner=None).update(updated_at=now() - timedelta(seconds=16))
    fork = forked(killed, seq=5)
    assert fork.texts() == SAID
    assert forked(killed, seq=5).id == fork.id
    assert not staged()
    assert ChatSession.objects.count() == 2


def test_the_same_request_goes_on_in_a_restored_backup(killed: Chat) -> None:
    begin_incarnation()
    ChatSession.objects.filter(project__owner=None).update(updated_at=now() - timedelta(seconds=16))
    assert forked(killed, seq=5).texts() == SAID


def test_who_was_taken_over_gives_what_the_other_one_made(long: Chat, meanwhile: Meanwhile) -> None:
    """The first one was only slow: it neither makes a second fork nor takes away the first."""
    made: list[Chat] = []

    def again() -> None:
        ChatSession.objects.filter(project__owner=None).update(updated_at=now() - timedelta(seconds=16))
        made.append(forked(long, seq=5))

    meanwhile(again)
    assert forked(long, seq=5).id == made[0].id
    assert made[0].texts() == SAID
    assert ChatSession.objects.count() == 2


def test_a_fork_is_searched_like_any_session(long: Chat, alice: User) -> None:
    fork = forked(long)
    found = long.api.get("/search?q=text%203").json()["items"]
    assert {hit["session"] for hit in found} == {long.id, fork.id}
    assert not Message.objects.filter(words_due=True).exists()
