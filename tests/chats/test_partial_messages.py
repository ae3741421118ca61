"""Messages with some of their fields: each as in a whole read, of the same messages, and without what was not asked for."""

from itertools import combinations
from typing import Any

import pytest

from sessions_app.chats.reading.partial_messages import PARTIAL_FIELDS
from sessions_app.models import Message
from tests.support.chat import Chat
from tests.support.saves import upsert

pytestmark = pytest.mark.django_db
RAW = {"role": "user", "content": "Hello", "n": 1}


@pytest.fixture
def kinds(chat: Chat) -> Chat:
    """Messages that have each field and lack it."""
    chat.say("plain", "words")
    chat.ops(upsert("parts", "pear", parts=[{"type": "text", "text": "pear"}, {"type": "file", "name": "a"}]))
    chat.ops(upsert("metadata", "with", metadata={"a": 1.50}))
    chat.ops({"op": "upsert", "id": "raw", "format": "openai.responses", "raw": RAW})
    chat.ops({"op": "upsert", "id": "own", "format": "own", "raw": [1], "role": "developer", "text": "seen"})
    return chat


def whole(chat: Chat, query: str = "") -> Any:
    return chat.get(f"messages?{query}").json()


def partial(chat: Chat, fields: str, query: str = "") -> Any:
    return chat.get(f"messages?fields={fields}&{query}").json()


def test_any_fields_are_those_of_a_whole_read(kinds: Chat) -> None:
    items = whole(kinds)["items"]
    for count in range(1, len(PARTIAL_FIELDS) + 1):
        for names in combinations(PARTIAL_FIELDS, count):
            expected = [{name: item[name] for name in item if name in {"id", *names}} for item in items]
            assert partial(kinds, ",".join(names)) == {"items": expected, "next": None, "skipped": []}


@pytest.mark.parametrize("query", ["limit=2", "limit=2&before=raw", "limit=2&after=plain", "limit=500&before=plain"])
def test_pages_have_the_same_messages(kinds: Chat, query: str) -> None:
    expected, found = whole(kinds, query), partial(kinds, "raw", query)
    assert [item["id"] for item in found["items"]] == [item["id"] for item in expected["items"]]
    assert found["next"] == expected["next"]


def test_in_a_session_with_branches_they_are_those_of_the_path(kinds: Chat) -> None:
    kinds.ops(upsert("edited", "again", parent_id="parts"))
    assert [item["id"] for item in partial(kinds, "text")["items"]] == ["plain", "parts", "edited"]
    assert partial(kinds, "text")["items"][2] == {"id": "edited", "text": "again"}


def test_what_is_damaged_is_skipped_as_far_as_it_is_read(kinds: Chat) -> None:
    Message.objects.filter(message_id="raw").update(raw="[")
    Message.objects.filter(message_id="parts").update(parts='{"no": "list"}')
    Message.objects.filter(message_id="plain").update(role="king")
    for fields, damaged in {"raw": ["raw"], "parts": ["parts"], "role": ["plain"], "text,format": [], "id": []}.items():
        assert [each["id"] for each in partial(kinds, fields)["skipped"]] == damaged
        assert len(partial(kinds, fields)["items"]) == 5 - len(damaged)


def test_objects_of_a_framework_need_no_sound_metadata(kinds: Chat) -> None:
    Message.objects.filter(message_id="metadata").update(metadata="[")
    found = whole(kinds, "as=openai.chat")
    assert ("with" in str(found["items"]), found["skipped"]) == (True, [])
    assert [each["id"] for each in whole(kinds)["skipped"]] == ["metadata"]


@pytest.mark.parametrize("fields", ["", "raw,", "ver", "raw,nothing"])
def test_unknown_names_are_refused_with_those_that_are_known(kinds: Chat, fields: str) -> None:
    answer = kinds.get(f"messages?fields={fields}")
    assert answer.status_code == 422
    assert answer.json()["error"]["details"]["known"] == list(PARTIAL_FIELDS)


@pytest.mark.parametrize("other", ["as=anthropic", "head=raw", "since_rev=1", "branches=1", "repair=1", "since_rev=1&wait=1"])
def test_it_goes_with_pages_only(kinds: Chat, other: str) -> None:
    answer = kinds.get(f"messages?fields=raw&{other}")
    assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (422, "fields")
