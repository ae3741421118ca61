"""What a save may do besides messages: create its session, change its title, depend on the session's rev."""

import json
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.accounts import api_keys
from sessions_app.core.callers import caller_of_user
from sessions_app.core.limits import quotas
from sessions_app.models import ChatSession, Event, Project, SaveReceipt
from sessions_app.models.times import now
from tests.support.chat import Chat
from tests.support.live_server import LiveServer
from tests.support.saves import Op, Writer, answer_of_ai, refusal, upsert

pytestmark = pytest.mark.django_db
SAVE_SHA256 = "da40a7572680522cb9e944c6772e83904d97dae9eee7d8d8a2a4778f0286e238"
WHOLE_SHA256 = "65b03a409374e10e18b0256d4ea999de66c9f3b1639e7f1d8ac326710b689477"
STEP: Op = {"epoch": 1, "writer_id": "w", "seq": 1}


def events(chat: Chat) -> list[tuple[str, int | None]]:
    """Of the chat's session: type and rev."""
    found = Event.objects.filter(session_id=uuid.UUID(chat.id)).order_by("event_seq")
    return [(event.type, json.loads(event.frame).get("rev")) for event in found]


@pytest.fixture
def tab(chat: Chat) -> Writer:
    return Writer(chat)


# if_rev


def test_nothing_is_done_at_another_rev(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"), if_rev=0)
    refused = tab.send(upsert("m2", "two"), if_rev=0, opening_step="x", session={"title": "y"})
    assert refusal(refused) == (412, "rev_changed")
    assert refused.json()["error"]["details"] == {"rev": 1, "epoch": 1}
    assert (chat.texts(), chat.conflicts(), chat.read()["session"]["title"]) == (["one"], [], "")
    assert SaveReceipt.objects.count() == 1
    assert tab.save(upsert("m2", "two"), if_rev=1)["rev"] == 2


def test_a_retry_of_what_was_applied_is_answered_as_before(chat: Chat, tab: Writer) -> None:
    first, again = (tab.send(upsert("m1", "one"), if_rev=0, seq=1) for _ in range(2))
    assert (again.status_code, again.content, again["Idempotent-Replayed"]) == (200, first.content, "true")
    # Another condition, or none, is another request.
    assert refusal(tab.send(upsert("m1", "one"), if_rev=1, seq=1)) == (422, "seq_reused")
    assert refusal(tab.send(upsert("m1", "one"), seq=1)) == (422, "seq_reused")


def test_what_was_refused_may_be_sent_again_under_its_number(chat: Chat, tab: Writer) -> None:
    assert tab.send(upsert("m1", "one"), if_rev=5, seq=1).status_code == 412
    assert tab.save(upsert("m1", "one"), if_rev=0, seq=1)["rev"] == 1


def test_an_ended_epoch_is_another_rev(chat: Chat, tab: Writer) -> None:
    chat.clear()
    assert refusal(tab.send(upsert("m1", "one"), if_rev=0)) == (412, "rev_changed")
    assert refusal(tab.send(upsert("m1", "one"), if_rev=1)) == (409, "stale_epoch")


def test_the_whole_session_too(chat: Chat) -> None:
    def put(seq: int, if_rev: Any) -> Any:
        messages = [{"id": "m1", "role": "user", "text": "one"}]
        return chat.api.put(f"/sessions/{chat.id}/messages", {**STEP, "seq": seq, "messages": messages, "if_rev": if_rev})

    assert refusal(put(1, 1)) == (412, "rev_changed")
    first = put(1, 0)
    assert (first.status_code, put(1, 0).content, put(1, 1).status_code) == (200, first.content, 422)
    assert refusal(put(2, "1")) == (422, "invalid")


@pytest.mark.parametrize("if_rev", [-1, 10**30, True, "1", 1.5, [], {}])
def test_a_wrong_rev_is_refused(chat: Chat, tab: Writer, if_rev: Any) -> None:
    assert refusal(tab.send(upsert("m1", "one"), if_rev=if_rev)) == (422, "invalid")


def test_a_request_from_before_these_fields_is_recognised(chat: Chat) -> None:
    """Hashes of bodies without them, as the version before stored them."""
    body = {**STEP, "seq": 7, "base_rev": 3, "ops": [{"op": "delete", "id": "m1"}]}
    assert chat.api.post(f"/sessions/{chat.id}/changes", body).status_code == 200
    body = {**STEP, "seq": 8, "messages": [], "opening_step": "x"}
    address = f"/sessions/{chat.id}/messages?mode=replace"
    assert chat.api.put(address, body, **{"If-Match": "*"}).status_code == 200
    assert list(SaveReceipt.objects.order_by("seq").values_list("body_sha256", flat=True)) == [SAVE_SHA256, WHOLE_SHA256]


# create


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

    def save(session: str, path: str) -> Any:
        body = {**STEP, "ops": [], "create": {"project": path}}
        return client.post(f"/api/v1/sessions/{session}/changes", body, content_type="application/json")

    assert refusal(save(new.id, "/other")) == (404, "not_found")
    # It exists, in a project that the key does not see.
    assert refusal(save(other.id, chat.project)) == (404, "not_found")
    assert save(new.id, chat.project).status_code == 200


def test_an_external_id_that_is_taken_is_refused_with_its_session(chat: Chat, new: Chat) -> None:
    create(new, external_id="thread-1")
    other = Chat(chat.api, session_id=str(uuid.uuid4()))
    refused = create(other, external_id="thread-1")
    assert (refusal(refused), refused.json()["error"]["details"]) == ((409, "external_id_taken"), {"session": new.id})
    assert not ChatSession.objects.filter(id=other.id).exists()


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


# session


def test_a_title_in_the_same_request(chat: Chat, tab: Writer) -> None:
    answer = tab.save(upsert("m1", "one"), session={"title": "About carts"})
    assert (answer["rev"], chat.read()["session"]["title"]) == (1, "About carts")
    assert events(chat)[1:] == [("SESSION_SAVED", 1), ("SESSION_UPDATED", 1)]
    # A title that is there changes nothing.
    assert tab.save(session={"title": "About carts"})["rev"] == 1
    assert tab.save(session={})["rev"] == 1
    assert tab.save(session={"title": ""})["rev"] == 2
    assert events(chat)[3:] == [("SESSION_UPDATED", 2)]


def test_a_title_is_part_of_the_request(chat: Chat, tab: Writer) -> None:
    first = tab.send(session={"title": "one"}, seq=1)
    assert tab.send(session={"title": "one"}, seq=1).content == first.content
    assert refusal(tab.send(session={"title": "two"}, seq=1)) == (422, "seq_reused")


def test_a_title_of_a_save_from_before_a_clear_is_not_set(chat: Chat, tab: Writer) -> None:
    chat.clear()
    assert tab.send(session={"title": "late"}).status_code == 409
    assert chat.read()["session"]["title"] == ""


@pytest.mark.parametrize("given", [{"title": "x" * 201}, {"title": 1}, {"titel": ""}, [], "x", {"archived": True}])
def test_a_wrong_field_of_the_session_is_refused(chat: Chat, tab: Writer, given: Any) -> None:
    assert refusal(tab.send(upsert("m1", "one"), session=given)) == (422, "invalid")
    assert chat.texts() == []


def test_all_together_and_once(new: Chat) -> None:
    body = {**STEP, "if_rev": 0, "create": {"project": new.project, "title": "a"}, "session": {"title": "b"}}
    ops = [answer_of_ai("m1", "one"), {"op": "patch", "id": "m1", "metadata": 1}, {"op": "pop"}]
    answers = [new.api.post(f"/sessions/{new.id}/changes", {**body, "ops": ops}) for _ in range(2)]
    assert answers[0].content == answers[1].content
    assert [message["metadata"] for message in answers[0].json()["popped"]] == [1]
    assert (new.read()["session"]["title"], new.texts()) == ("b", [])
    assert events(new) == [("SESSION_CREATED", 0), ("SESSION_SAVED", 1), ("SESSION_UPDATED", 1)]
    assert now() - ChatSession.objects.get(id=new.id).created_at < timedelta(minutes=1)
