"""The trash, erasing for good, forks and settled conflicts."""

import base64
import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User

from sessions_app.chats.lifecycle import deletion
from sessions_app.chats.lifecycle.erasing import paced
from sessions_app.chats.lifecycle.pruning import FORKS_TAKE, prune
from sessions_app.core.storage.transactions import write
from sessions_app.models import (
    AgentState,
    AiState,
    AiStateVersion,
    ChatSession,
    ConflictCopy,
    Message,
    PendingAction,
    Project,
    SaveReceipt,
)
from sessions_app.models.times import now
from tests.support.chat import Chat

pytestmark = pytest.mark.django_db
GONE = (410, "session_deleted")


def refusal(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def test_a_deleted_session_refuses_saves_and_does_not_resume(chat: Chat) -> None:
    chat.say("m1", "hello")
    answer = chat.api.delete(f"/sessions/{chat.id}")
    assert (answer.status_code, answer.content, answer.get("Content-Type")) == (204, b"", None)
    assert refusal(chat.post("changes", ops=[])) == GONE
    assert refusal(chat.post("clear")) == GONE
    assert refusal(chat.api.get(f"/sessions/{chat.id}")) == GONE
    assert refusal(chat.api.get(f"/resume?project={chat.project}")) == (404, "nothing_saved")


def test_undelete_brings_it_back_whole_and_current(chat: Chat) -> None:
    chat.say("m1", "hello")
    chat.api.delete(f"/sessions/{chat.id}")
    assert chat.post("undelete").status_code == 200
    assert chat.texts() == ["hello"]
    assert chat.api.get(f"/resume?project={chat.project}").json()["session"]["id"] == chat.id


def test_undelete_takes_the_place_of_no_other(chat: Chat) -> None:
    chat.api.delete(f"/sessions/{chat.id}")
    other = Chat(chat.api, project=chat.project)
    chat.post("undelete")
    assert chat.api.get(f"/resume?project={chat.project}").json()["session"]["id"] == other.id


@pytest.fixture(params=["short", "long"])
def _length(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long session is hidden first, then erased in pieces."""
    if request.param == "long":
        monkeypatch.setattr(paced, "FEW_MESSAGES", 0)


lengths = pytest.mark.usefixtures("_length")


@lengths
def test_purge_erases_copies_stored_answers_and_states_too(chat: Chat) -> None:
    chat.say("m1", "mine")
    chat.ops({"op": "upsert", "id": "m1", "role": "user", "text": "theirs"}, writer_id="another")
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"pending_action": {"id": "a1", "kind": "deploy"}})
    chat.api.put(f"/sessions/{chat.id}/ai-states/claude", {"working_notes": "words"})
    assert chat.api.delete(f"/sessions/{chat.id}?purge=1").status_code == 204
    kinds = (ChatSession, Message, ConflictCopy, SaveReceipt, AgentState, PendingAction, AiState, AiStateVersion)
    assert not [model for model in kinds if model._default_manager.exists()]
    assert Project.objects.count() == 1
    assert refusal(chat.post("changes", ops=[])) == (404, "not_found")


def test_a_long_session_is_gone_at_once_also_where_erasing_it_is_interrupted(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        chat.say(f"m{number}", "words")
    other = Chat(chat.api, project=chat.project)
    other.say("m1", "stays")
    monkeypatch.setattr(paced, "FEW_MESSAGES", 20)
    monkeypatch.setattr(paced, "erase_hidden", lambda sessions: None)
    assert chat.api.delete(f"/sessions/{chat.id}?purge=1").status_code == 204
    assert refusal(chat.api.get(f"/sessions/{chat.id}")) == (404, "not_found")
    assert refusal(chat.post("changes", ops=[])) == (404, "not_found")
    assert Message.objects.count() == 31
    prune()
    assert Message.objects.count() == 31
    ChatSession.objects.filter(id=chat.id).update(updated_at=now() - FORKS_TAKE * 2)
    prune()
    assert (Message.objects.count(), Project.objects.count()) == (1, 1)
    assert other.texts() == ["stays"]


def test_a_long_session_is_erased_in_pieces(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    Message.objects.bulk_create(
        Message(session_id=chat.id, epoch=1, message_id=f"m{number}", role="user", text="x", position=number, rev=1)
        for number in range(paced.FEW_MESSAGES + 1)
    )
    pieces = list[Any]()

    def counted(work: Any) -> Any:
        pieces.append(work)
        return write(work)

    monkeypatch.setattr(paced, "write", counted)
    assert chat.api.delete(f"/sessions/{chat.id}?purge=1").status_code == 204
    assert len(pieces) > 3
    assert (Message.objects.count(), ChatSession.objects.count(), Project.objects.count()) == (0, 0, 1)


def test_a_large_account_is_erased_whole(chat: Chat, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        Chat(chat.api, project=f"/p{number}").say("m1", "words")
    monkeypatch.setattr(paced, "FEW_MESSAGES", 2)
    deletion.delete_account(user_id=alice.pk)
    assert not any(model._default_manager.exists() for model in (User, Project, ChatSession, Message))


@pytest.mark.parametrize("query", ["", "purge=1&"])
def test_a_session_that_was_changed_is_not_deleted(chat: Chat, query: str) -> None:
    seen = chat.read()["session"]["rev"]
    chat.say("m1", "later words")
    refused = chat.api.delete(f"/sessions/{chat.id}?{query}if_rev={seen}")
    assert refusal(refused) == (412, "rev_changed")
    assert refused.json()["error"]["details"] == {"rev": chat.read()["session"]["rev"], "epoch": 1}
    assert chat.texts() == ["later words"]
    assert chat.api.delete(f"/sessions/{chat.id}?{query}if_rev={chat.read()['session']['rev']}").status_code == 204


@lengths
def test_a_session_in_the_trash_can_be_purged(chat: Chat) -> None:
    chat.api.delete(f"/sessions/{chat.id}")
    assert chat.api.delete(f"/sessions/{chat.id}?purge=1").status_code == 204
    assert not ChatSession.objects.exists()


def test_a_deleted_project_takes_its_sessions_along_and_frees_its_path(chat: Chat) -> None:
    project = chat.read()["session"]["project_id"]
    assert chat.api.delete(f"/projects/{project}").status_code == 204
    assert refusal(chat.post("changes", ops=[])) == GONE
    assert refusal(chat.api.get(f"/projects/{project}")) == (410, "project_deleted")
    fresh = chat.api.post("/projects", {"path": chat.project})
    assert (fresh.status_code, fresh.json()["id"] != project) == (201, True)
    assert refusal(chat.api.post(f"/projects/{project}/undelete")) == (409, "path_taken")


def test_a_session_does_not_come_back_without_its_project(chat: Chat) -> None:
    project = chat.read()["session"]["project_id"]
    chat.api.delete(f"/projects/{project}")
    answer = chat.api.post(f"/sessions/{chat.id}/undelete")
    assert refusal(answer) == (410, "project_deleted")
    assert answer.json()["error"]["details"] == {"project_id": project}


@lengths
def test_a_project_comes_back_and_goes_for_good(chat: Chat) -> None:
    chat.say("m1", "hello")
    project = chat.read()["session"]["project_id"]
    chat.api.delete(f"/projects/{project}")
    assert chat.api.post(f"/projects/{project}/undelete").status_code == 200
    assert chat.texts() == ["hello"]
    assert chat.api.delete(f"/projects/{project}?purge=1").status_code == 204
    assert not Project.objects.exists()
    assert not Message.objects.exists()


def test_fork_copies_up_to_a_message_into_a_new_current_session(chat: Chat) -> None:
    chat.say("m1", "one", opening_step="brainstorm")
    chat.ops({"op": "upsert", "id": "m2", "role": "assistant", "text": "tw", "status": "streaming"})
    chat.say("m3", "three")
    made = chat.post("fork", up_to="m2")
    assert made.status_code == 201
    fork = Chat(chat.api, session_id=made.json()["id"])
    messages = fork.read()["messages"]
    assert [(m["id"], m["text"], m["status"]) for m in messages] == [("m1", "one", "complete"), ("m2", "tw", "interrupted")]
    session = fork.read()["session"]
    assert (session["message_count"], session["size_bytes"]) == (2, 5)
    assert (session["opening_step"], session["current"]) == ("brainstorm", True)
    fork.say("m4", "goes on")
    assert chat.texts() == ["one", "tw", "three"]


def test_fork_into_another_project_and_from_an_unknown_message(chat: Chat) -> None:
    chat.say("m1", "one")
    made = chat.post("fork", project="/elsewhere")
    assert made.json()["project"] == "/elsewhere"
    assert chat.read()["session"]["current"] is True
    assert refusal(chat.post("fork", up_to="never")) == (422, "unknown_message")


@pytest.mark.parametrize(("keep", "texts"), [("theirs", ["standing"]), ("ours", ["sent"]), ("both", ["standing", "sent"])])
def test_settling_a_conflict(chat: Chat, keep: str, texts: list[str]) -> None:
    chat.say("m1", "standing")
    chat.ops({"op": "upsert", "id": "m1", "role": "user", "text": "sent"}, writer_id="another")
    (copy,) = chat.conflicts()
    assert (copy["id"], copy["text"], copy["reason"]) == ("m1", "sent", "conflict")
    settle = f"/sessions/{chat.id}/conflicts/{copy['copy_id']}/settle"
    settled = chat.api.post(settle, {"keep": keep})
    assert settled.status_code == 200, settled.content
    assert chat.texts() == texts
    assert chat.conflicts() == []
    session = chat.read()["session"]
    assert (session["message_count"], session["size_bytes"]) == (len(texts), sum(map(len, texts)))
    assert chat.api.post(settle, {"keep": keep}).status_code == 404


def cursor_of(moment: str) -> str:
    return base64.urlsafe_b64encode(f"{moment} {uuid.uuid4()}".encode()).decode().rstrip("=")


def test_conflicts_come_page_by_page_the_oldest_first(chat: Chat) -> None:
    for number in range(5):
        chat.say(f"m{number}", "standing")
        chat.ops({"op": "upsert", "id": f"m{number}", "role": "user", "text": f"sent {number}"}, writer_id=f"w{number}")
    seen: list[str] = []
    following: str | None = ""
    while following is not None:
        page = chat.get(f"conflicts?limit=2&cursor={following}").json()
        assert 1 <= len(page["items"]) <= 2
        seen += [copy["text"] for copy in page["items"]]
        following = page["next"]
    assert seen == [f"sent {number}" for number in range(5)]
    for made_up in ("made-up", *(cursor_of(at) for at in ("2026-01-01T00:00:00", "0001-01-01T00:00:00+14:00"))):
        assert refusal(chat.get(f"conflicts?cursor={made_up}")) == (422, "invalid")


def test_settling_needs_a_known_side(chat: Chat) -> None:
    chat.say("m1", "standing")
    chat.ops({"op": "upsert", "id": "m1", "role": "user", "text": "sent"}, writer_id="another")
    (copy,) = chat.conflicts()
    settle = f"/sessions/{chat.id}/conflicts/{copy['copy_id']}/settle"
    assert refusal(chat.api.post(settle, {"keep": "mine"})) == (422, "invalid")


def test_a_fork_asked_for_again_is_the_same_one(chat: Chat) -> None:
    chat.say("m1", "one")
    first = chat.post("fork", seq=5)
    again = chat.post("fork", seq=5)
    assert (first.status_code, again.status_code, again["Idempotent-Replayed"]) == (201, 201, "true")
    assert again.json() == first.json()
    assert chat.post("fork", seq=5, up_to="m1").json()["error"]["code"] == "seq_reused"
    assert chat.post("fork", seq=6).json()["id"] != first.json()["id"]
