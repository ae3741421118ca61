"""`GET …/pending-action/{action}?wait=S` answers when a person has decided, so that an agent need not ask again and again."""

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from tests.frontends.held_requests import HeldRequest
from tests.support.chat import Chat
from tests.support.saves import refusal
from tests.support.sockets import House

# Longer than any of these tests: an answer in less came because of what happened.
LONG = 50
SOON_SECONDS = 10

type Ask = Callable[..., HeldRequest]


@pytest.fixture
def session(house: House, path: str) -> str:
    """It has the question `q1`."""
    session = house.api.session(path)[1]
    ask(house, session)
    return session


def ask(house: House, session: str, **fields: object) -> None:
    question = {"id": "q1", "kind": "deploy", "payload": {"to": "production"}, **fields}
    house.api.call("PATCH", f"/sessions/{session}/agent-state", {"pending_action": question})


@pytest.fixture
def wait(house: House) -> Iterator[Ask]:
    with ThreadPoolExecutor(4) as pool:

        def wait(session: str, seconds: int = LONG, key: str = house.key) -> HeldRequest:
            address = f"/sessions/{session}/agent-state/pending-action/q1?wait={seconds}"
            return HeldRequest(pool, house.server, key, address)

        yield wait


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_a_decision_is_answered_at_once(house: House, session: str, wait: Ask, decision: str) -> None:
    asked = [wait(session).held() for _ in range(2)]
    house.api.save(session, "m1")  # Another change of the session ends no wait.
    asked[0].held()
    house.api.call("POST", f"/sessions/{session}/agent-state/pending-action/q1/resolve", {"decision": decision, "note": "why"})
    for one in asked:
        body = one.answer()
        assert (body["status"], body["resolution"]["decision"], body["resolution"]["note"]) == ("resolved", decision, "why")
        assert one.took < SOON_SECONDS
    again = wait(session)
    assert again.answer() == body
    assert again.took < SOON_SECONDS


def test_a_time_without_a_decision_ends_with_the_question(session: str, wait: Ask) -> None:
    asked = wait(session, 1)
    assert asked.answer()["status"] == "pending"
    assert 0.9 <= asked.took < SOON_SECONDS


def test_a_question_that_expires_is_waited_for_no_longer(house: House, session: str, wait: Ask) -> None:
    ask(house, session, expires_at=(datetime.now(UTC) + timedelta(seconds=1.5)).isoformat())
    asked = wait(session)
    assert asked.answer()["status"] == "expired"
    assert asked.took < SOON_SECONDS
    again = wait(session)
    assert again.answer()["status"] == "expired"
    assert again.took < SOON_SECONDS


def test_a_question_that_moves_to_another_session_says_so(house: House, session: str, path: str, wait: Ask) -> None:
    other = house.api.session(f"{path}/other")[1]
    asked = wait(session).held()
    writer = {"epoch": 1, "writer_id": str(uuid.uuid4()), "seq": 1}
    moved = {**writer, "to_session": other, "mode": "move", "include": ["agent_state"]}
    house.api.call("POST", f"/sessions/{session}/transfer", moved)
    assert asked.answer()["moved_to"] == other
    assert asked.took < SOON_SECONDS


def test_a_session_that_is_deleted_meanwhile_is_gone(house: House, session: str, wait: Ask) -> None:
    asked = wait(session).held()
    house.api.call("DELETE", f"/sessions/{session}")
    assert asked.answer(410)["error"]["code"] == "session_deleted"


def test_somebody_else_s_question_is_unknown_at_once(house: House, session: str, wait: Ask) -> None:
    asked = wait(session, key=house.foreign_key)
    asked.answer(404)
    assert asked.took < SOON_SECONDS


@pytest.mark.parametrize("seconds", ["61", "-1", "x"])
def test_a_wait_that_makes_no_sense_is_refused(chat: Chat, seconds: str) -> None:
    assert refusal(chat.get(f"agent-state/pending-action/q1?wait={seconds}")) == (422, "invalid")
