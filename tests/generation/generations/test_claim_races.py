"""What two do in the same moment: a stop beside a runner's claim, an end after another worker's, one id for two sessions."""

import threading
from typing import Any

import pytest
from django.db import connection, transaction

from generation_app.generations import services
from generation_app.generations.claims import claim, finish
from generation_app.generations.queries import find_generation
from generation_app.generations.services import GenerationTaken
from generation_app.models import Generation, GenerationState
from tests.generation.generations.steps import Looking
from tests.support.chat import Chat
from tests.support.saves import refusal

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_stop_beside_a_claim_stops_what_was_claimed_or_leaves_nothing_to_claim(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = chat.post_plain("generations", {"message": {"text": "why?"}}).json()
    claimed: list[Generation | None] = []

    def claiming() -> None:
        try:
            claimed.append(claim(worker="w", running={}, share=8))
        finally:
            connection.close()

    runner = threading.Thread(target=claiming)

    def found_then_claimed(**named: Any) -> Generation:
        found = find_generation(**named)
        if not runner.ident:
            runner.start()
            # On PostgreSQL it gets through here; on SQLite it waits for the stop's commit.
            runner.join(1)
        return found

    monkeypatch.setattr(services, "find_generation", found_then_claimed)
    chat.post_plain(f"generations/{made['generation']}/stop", {})
    runner.join(60)
    stored = Generation.objects.get()
    assert claimed == [None] or (stored.state == GenerationState.RUNNING and stored.stop_requested)
    assert claimed != [None] or stored.state == GenerationState.STOPPED


def test_a_worker_whose_answer_was_ended_by_another_one_ends_nothing(chat: Chat) -> None:
    chat.post_plain("generations", {"message": {"text": "why?"}})
    slow = claim(worker="slow", running={}, share=8)
    assert slow is not None
    assert Looking().look_for() == 1
    assert chat.read()["messages"][-1]["status"] == "interrupted"
    late: dict[str, object] = {"op": "patch", "id": slow.message_id, "text": "late", "status": "complete"}
    with pytest.raises(GenerationTaken), transaction.atomic():
        finish(slow, GenerationState.COMPLETE, tries=[[late]])
    assert (Generation.objects.get().state, chat.read()["messages"][-1]["status"]) == ("interrupted", "interrupted")


def test_two_sessions_that_ask_with_one_id_at_once_get_one_generation(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second looked for the id before the first was stored."""
    question = {"id": "0b5b5a52-0000-4000-8000-000000000002", "message": {"text": "why?"}}
    assert chat.post_plain("generations", question).status_code == 202
    started, looks = services._started, list[bool]()

    def too_early(*place: Any) -> Generation | None:
        looks.append(True)
        return None if len(looks) == 1 else started(*place)

    monkeypatch.setattr(services, "_started", too_early)
    other = Chat(chat.api, project="/other")
    assert refusal(other.post_plain("generations", question)) == (409, "id_taken")
    assert (len(looks), other.texts(), Generation.objects.count()) == (2, [], 1)
