"""What an answer says of a message that stands as it was: all that a client needs in order to show it."""

from datetime import timedelta
from typing import Any

import pytest

from sessions_app.models import Message, SaveReceipt
from sessions_app.models.times import now
from tests.support.chat import Chat
from tests.support.saves import Writer, answer_of_ai, append, delete, upsert

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


def test_a_long_text_is_given_once(chat: Chat, tab: Writer, other: Writer) -> None:
    """A small request that names it often would else have an answer of 200 MB, which is also kept."""
    tab.save(upsert("long", "\U0001f642" * 100_000), upsert("short", "theirs"))
    response = other.send(*[delete("long", if_ver=77)] * 300, *[delete("short", if_ver=77)] * 100)
    first, *others = [conflict["server"] for conflict in response.json()["conflicts"] if conflict["id"] == "long"]
    assert len(first["text"]) == 100_000
    assert others == [{**{name: first[name] for name in first if name != "text"}, "text_omitted": True}] * 299
    assert [one["server"]["text"] for one in response.json()["conflicts"] if one["id"] == "short"] == ["theirs"] * 100
    assert len(response.content) < 1_000_000
    assert len(SaveReceipt.objects.get(writer_id=other.id).answer) < 1_000_000


def test_long_texts_of_many_messages_are_omitted_beyond_a_limit(chat: Chat, tab: Writer, other: Writer, settings: Any) -> None:
    settings.WINDOW_BYTES = 10_000
    tab.save(*[answer_of_ai(f"m{number}", f"{number}" * 6_000) for number in range(5)])
    ops = [append(f"m{number}", 0, str(number)) for number in range(2)]
    answer = other.save(*ops, *[delete(f"m{number}", if_ver=77) for number in range(2, 5)], seq=1)
    # Conflicts come first: their texts are news.
    assert ["text" in entry["server"] for entry in answer["conflicts"]] == [True, True, True]
    assert [entry["server"].get("text_omitted") for entry in answer["ignored"]] == [True, True]
    assert [entry["server"]["ver"] for entry in answer["ignored"]] == [1, 1]
    assert other.save(*ops, *[delete(f"m{number}", if_ver=77) for number in range(2, 5)], seq=1) == answer
