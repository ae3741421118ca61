"""What an answer says of a message that stands as it was: all that a client needs in order to show it."""

from datetime import timedelta
from typing import Any

import pytest

from sessions_app.models import Message
from sessions_app.models.times import now
from tests.support.chat import Chat
from tests.support.saves import Writer, answer_of_ai, delete, upsert

pytestmark = pytest.mark.django_db
SHOWN = ("id", "role", "text", "status", "ver", "rev", "updated_at")


def shown(chat: Chat) -> dict[str, Any]:
    [message] = chat.read()["messages"]
    return {name: message[name] for name in SHOWN}


def test_a_conflict_shows_the_stored_version(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "mine"))
    tab.save(upsert("m1", "mine, edited"))
    [conflict] = other.save(upsert("m1", "theirs"))["conflicts"]
    assert conflict["server"] == {**shown(chat), "removed": None}


def test_an_answer_without_a_write_for_a_minute_is_shown_as_interrupted(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(answer_of_ai("m1", "so far", status="streaming"))
    [conflict] = other.save(upsert("m1", "theirs"))["conflicts"]
    assert conflict["server"]["status"] == "streaming"
    Message.objects.update(updated_at=now() - timedelta(minutes=2))
    [conflict] = other.save(upsert("m1", "theirs again"))["conflicts"]
    assert conflict["server"] == {**shown(chat), "removed": None}
    assert conflict["server"]["status"] == "interrupted"


def test_a_late_text_is_told_how_its_message_went(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "mine"))
    stored = shown(chat)
    answer = tab.save(delete("m1"))
    [ignored] = other.save(upsert("m1", "mine, and more"))["ignored"]
    gone = {"ver": 2, "rev": answer["rev"], "removed": "deleted", "updated_at": answer["saved_at"]}
    assert {**ignored["server"], "text": ""} == {**stored, **gone, "text": ""}
