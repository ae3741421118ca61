"""A save that creates its session, which the client named, in the same transaction."""

import json
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.accounts import api_keys
from sessions_app.chats.sessions import services as session_services
from sessions_app.chats.sessions.services import refuse_taken
from sessions_app.core.callers import caller_of_user
from sessions_app.core.limits import quotas
from sessions_app.models import ChatSession, Event, Project
from tests.support.chat import Chat
from tests.support.live_server import LiveServer
from tests.support.saves import Op, Writer, refusal, upsert

pytestmark = pytest.mark.django_db
STEP: Op = {"epoch": 1, "writer_id": "w", "seq": 1}


def events(chat: Chat) -> list[tuple[str, int | None]]:
    """Of the chat's session: type and rev."""
    found = Event.objects.filter(session_id=uuid.UUID(chat.id)).order_by("event_seq")
    return [(event.type, json.loads(event.frame).get("rev")) for event in found]


@pytest.fixture
def new(chat: Chat) -> Chat:
    """A session that does not exist yet."""
    return Chat(chat.api, session_id=str(uuid.uuid4()))


def create(chat: Chat, *, seq: int = 1, ops: list[Op] | None = None, **fields: Any) -> Any:
    said = [upsert("m1", "one")] if ops is None else ops
    body = {**STEP, "seq": seq, "ops": said, "create": {"project": chat.project, **fields}}
    return chat.api.post(f"/sessions/{chat.id}/changes", body)


def test_a_save_creates_its_session(chat: Chat, new: Chat) -> None:
    answer = create(new, title="About carts", external_id="thread-1")
    assert (answer.status_code, answer.json()["prev_rev"], answer.json()["rev"]) == (200, 0, 1)
    session = new.read()["session"]
    assert (session["title"], session["external_id"], session["project"]) == ("About carts", "thread-1", chat.project)
    assert (session["current"], chat.read()["session"]["state"], new.texts()) == (True, "earlier", ["one"])
    assert events(new) == [("SESSION_CREATED", 0), ("SESSION_SAVED", 1)]


def test_by_the_project_s_id_and_beside_the_current_session(chat: Chat, new: Chat) -> None:
    assert create(new, project=chat.read()["session"]["project_id"], current=False).status_code == 200
    assert (new.read()["session"]["current"], chat.read()["session"]["current"]) == (False, True)
    assert events(new) == [("SESSION_CREATED", 0), ("SESSION_SAVED", 1)]
    assert events(chat) == [("SESSION_CREATED", 0)]


def test_of_a_session_that_is_there_it_changes_nothing(chat: Chat, tab: Writer) -> None:
    answer = tab.send(upsert("m1", "one"), create={"project": chat.project, "title": "x", "external_id": "y", "current": False})
    assert answer.status_code == 200
    session = chat.read()["session"]
    assert (session["title"], "external_id" in session, session["current"]) == ("", False, True)


def test_a_retry_is_answered_as_before_and_another_session_to_create_is_another_request(new: Chat) -> None:
    first, again = create(new), create(new)
    assert (again.content, again["Idempotent-Replayed"]) == (first.content, "true")
    assert refusal(create(new, title="other")) == (422, "seq_reused")
    # Even if the session is in another project by now.
    new.api.post("/projects", {"path": "/elsewhere"})
    assert new.post("move", to_project="/elsewhere").status_code == 200
    assert create(new).content == first.content
    moved = create(new, seq=2)
    assert (refusal(moved), moved.json()["error"]["details"]) == ((409, "session_elsewhere"), {"project": "/elsewhere"})


def test_foreign_and_unknown_projects_are_the_same(new: Chat, chat: Chat, api: Callable[..., Any], bob: User) -> None:
    foreign = Chat(api(bob), project="/home/bob")
    answers = [
        create(chat_, seq=9, project=project).content
        for chat_ in (new, chat)
        for project in ("/home/bob", foreign.read()["session"]["project_id"], "/nowhere", str(uuid.uuid4()))
    ]
    assert len(set(answers)) == 1
    assert refusal(create(new, project="/nowhere")) == (404, "not_found")
    assert not ChatSession.objects.filter(id=new.id).exists()
    assert not Project.objects.filter(path="/nowhere").exists()


def test_a_foreign_session_stays_unknown(chat: Chat, api: Callable[..., Any], bob: User) -> None:
    foreign = Chat(api(bob), project="/home/bob")
    mine = Chat(chat.api, session_id=foreign.id)
    unknown = Chat(chat.api, session_id=str(uuid.uuid4())).post("changes", ops=[])
    taken = create(mine)
    assert (taken.status_code, taken.content) == (404, unknown.content)
    assert (foreign.texts(), foreign.read()["session"]["rev"]) == ([], 0)


def test_a_key_of_one_project_creates_there_only(chat: Chat, new: Chat, alice: User) -> None:
    chat.api.post("/projects", {"path": "/other"})
    other = Chat(chat.api, project="/other")
    secret = api_keys.create_key(caller=caller_of_user(alice), project_path=chat.project).secret
    client = Client(headers={"Authorization": f"Bearer {secret}"})

    def save(session: str, path: str, **fields: Any) -> Any:
        body = {**STEP, "ops": [], "create": {"project": path, **fields}}
        return client.post(f"/api/v1/sessions/{session}/changes", body, content_type="application/json")

    assert refusal(save(new.id, "/other")) == (404, "not_found")
    # It exists, in a project that the key does not see.
    assert refusal(save(other.id, chat.project)) == (404, "not_found")
    assert save(new.id, chat.project).status_code == 200
    assert refusal(save(str(uuid.uuid4()), "/fresh", new_project=True)) == (403, "other_project")


def test_a_project_is_created_with_what_is_saved_in_it(new: Chat) -> None:
    """If nothing is saved, there is none."""
    body = {**STEP, "atomic": True, "create": {"project": "/fresh", "new_project": True}}
    refused = new.api.post(f"/sessions/{new.id}/changes", {**body, "ops": [upsert("m1", "one", role="nobody")]})
    assert (refusal(refused), Project.objects.filter(path="/fresh").exists()) == ((422, "rejected"), False)
    first, again = (new.api.post(f"/sessions/{new.id}/changes", {**body, "ops": [upsert("m1", "one")]}) for _ in range(2))
    assert (first.status_code, again.content) == (200, first.content)
    session = new.read()["session"]
    assert (session["project"], session["current"], new.texts()) == ("/fresh", True, ["one"])
    other = Chat(new.api, session_id=str(uuid.uuid4()))
    assert create(other, project="/fresh", new_project=True).status_code == 200
    assert other.read()["session"]["project_id"] == session["project_id"]


def test_an_id_is_never_the_path_of_a_new_project(chat: Chat, new: Chat) -> None:
    in_trash, count = chat.read()["session"]["project_id"], Project.objects.count()
    chat.api.delete(f"/projects/{in_trash}")
    for own_id, status in ((str(uuid.uuid4()), 404), (in_trash, 410)):
        assert create(new, project=own_id, new_project=True).status_code == status
    assert Project.objects.count() == count


def test_an_external_id_that_is_taken_is_refused_with_its_session(chat: Chat, new: Chat) -> None:
    create(new, external_id="thread-1")
    other = Chat(chat.api, session_id=str(uuid.uuid4()))
    refused = create(other, external_id="thread-1")
    assert (refusal(refused), refused.json()["error"]["details"]) == ((409, "external_id_taken"), {"session": new.id})
    assert not ChatSession.objects.filter(id=other.id).exists()


def test_an_external_id_that_an_import_takes_meanwhile_is_refused_with_its_session(
    chat: Chat, new: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An import does not wait for the project's lock, so its session may appear after the look for it."""
    create(new, external_id="thread-1")
    looks = iter([lambda *_: None, refuse_taken])
    monkeypatch.setattr(session_services, "refuse_taken", lambda *given: next(looks)(*given))
    refused = create(Chat(chat.api, session_id=str(uuid.uuid4())), external_id="thread-1")
    assert (refusal(refused), refused.json()["error"]["details"]) == ((409, "external_id_taken"), {"session": new.id})


def test_what_is_refused_creates_nothing(chat: Chat, new: Chat, settings: Any) -> None:
    body = {**STEP, "ops": [upsert("m1", "one")], "create": {"project": chat.project}}
    assert new.api.post(f"/sessions/{new.id}/changes", {**body, "if_rev": 1}).status_code == 412
    settings.ACCOUNT_SESSIONS = ChatSession.objects.count()
    quotas.forget()
    assert refusal(create(new)) == (507, "quota_exceeded")
    settings.ACCOUNT_SESSIONS = 0
    assert not ChatSession.objects.filter(id=new.id).exists()
    assert new.api.post(f"/sessions/{new.id}/changes", {**body, "if_rev": 0}).status_code == 200


def test_a_session_in_the_trash_is_not_made_again(chat: Chat, new: Chat) -> None:
    create(new)
    chat.api.delete(f"/sessions/{new.id}")
    assert refusal(create(new, seq=2)) == (410, "session_deleted")


def test_a_store_that_lost_the_session_keeps_the_text_of_its_later_epoch(new: Chat) -> None:
    body = {**STEP, "epoch": 3, "ops": [upsert("m1", "one")], "create": {"project": new.project}}
    assert refusal(new.api.post(f"/sessions/{new.id}/changes", body)) == (409, "stale_epoch")
    assert [copy["text"] for copy in new.conflicts()] == ["one"]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"project": ""},
        {"project": 7},
        {"project": None},
        {"project": "/home/alice/shop", "titel": 1},
        {"project": "/home/alice/shop", "title": "x" * 201},
        {"project": "/home/alice/shop", "title": None},
        {"project": "/home/alice/shop", "external_id": ""},
        {"project": "/home/alice/shop", "current": "no"},
        "/home/alice/shop",
        [],
        True,
    ],
)
def test_a_wrong_session_to_create_is_refused(new: Chat, given: Any) -> None:
    answer = new.api.post(f"/sessions/{new.id}/changes", {**STEP, "ops": [], "create": given})
    assert refusal(answer) == (422, "invalid")
    assert not ChatSession.objects.filter(id=new.id).exists()


@pytest.mark.parametrize("more", [{"create": {"project": "/home/alice/shop"}}, {"if_rev": 0}, {"session": {"title": "x"}}])
def test_a_beacon_has_messages_only(chat: Chat, more: Op) -> None:
    token = chat.post("flush-tokens").json()["flush_token"]
    body = {**STEP, "ops": [], "flush_token": token}

    def flush(body: Op) -> Any:
        return Client().generic("POST", f"/api/v1/sessions/{chat.id}/flush", json.dumps(body), content_type="text/plain")

    assert refusal(flush({**body, **more})) == (422, "invalid")
    assert flush(body).status_code == 204
    # The same request to `changes` is its retry.
    assert chat.api.post(f"/sessions/{chat.id}/changes", body)["Idempotent-Replayed"] == "true"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("current", [True, False])
def test_eight_first_saves_at_once_make_one_session(server: LiveServer, api: Any, alice: User, current: bool) -> None:
    chat = Chat(api(alice))
    own_id = str(uuid.uuid4())

    def first(number: int) -> Any:
        ops = [upsert(f"m{number}", "x")]
        body = {"epoch": 1, "writer_id": f"w{number}", "seq": 1, "ops": ops}
        create = {"project": chat.project, "external_id": "thread", "current": current}
        headers = {"Authorization": f"Bearer {chat.api.secret}"}
        address = f"{server.url}/api/v1/sessions/{own_id}/changes"
        return httpx.post(address, json={**body, "create": create}, headers=headers, timeout=60)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(first, range(8)))
    assert [answer.status_code for answer in answers] == [200] * 8, [answer.text for answer in answers]
    made = Chat(chat.api, session_id=own_id)
    assert sorted(answer.json()["rev"] for answer in answers) == list(range(1, 9))
    assert (len(made.texts()), made.read()["session"]["current"]) == (8, current)
    assert [kind for kind, _ in events(made)].count("SESSION_CREATED") == 1
