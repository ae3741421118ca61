"""A stop that comes in the same moment as a runner's claim, and an end that comes after another worker's: one of both counts."""

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
