"""A search ends in time, whatever the words and the texts are, and what it did not come to is on a next page."""

import base64
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from sessions_app.chats.search import session_search, text_matching
from sessions_app.chats.search.text_matching import index_sql, newest_messages
from sessions_app.core.callers import caller_of_user
from sessions_app.core.storage import text_comparison
from sessions_app.core.storage.sql import execute, fetch_rows
from sessions_app.core.storage.text_comparison import fold
from sessions_app.core.storage.time_limit import TimeIsUp, time_limit
from sessions_app.models import Project
from tests.support.chat import Chat
from tests.support.databases import ON_POSTGRESQL
from tests.support.suite import first_of, some_of

on_postgresql = pytest.mark.skipif(not ON_POSTGRESQL, reason="how PostgreSQL is asked")
WORDS = ["alpha", "Beta", "ΣΟΦΟΣ", "naïve", "100%", "a_b", "***", "ёлка", "数据库", '"q"', "\\n", "x" * 160 + "y"]
TEXTS = [f"{one} {other}" for one in WORDS for other in WORDS]
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    return Chat(api(alice))


@pytest.fixture
def many(chat: Chat) -> Chat:
    chat.ops(*({"op": "upsert", "id": f"m{number}", "role": "user", "text": text} for number, text in enumerate(TEXTS)))
    return chat


def pages(chat: Chat, address: str, name: str) -> Iterator[list[str]]:
    """Of every page to the end, the values of one field."""
    cursor: str | None = ""
    while cursor is not None:
        page = chat.api.get(f"{address}&limit=10{f'&cursor={quote(cursor)}' if cursor else ''}").json()
        yield [item[name] for item in page["items"]]
        cursor = page["next"]


def everything(chat: Chat, address: str, name: str) -> list[str]:
    return [value for page in pages(chat, address, name) for value in page]


def expected(words: str) -> list[str]:
    return [f"m{number}" for number, text in enumerate(TEXTS) if fold(words) in fold(text)][::-1]


def test_both_databases_find_what_has_the_words(many: Chat) -> None:
    for words in (*WORDS, "ALPHA b", "софос", "НАЇ", "%", "_b", "x" * 150, "y" + "x" * 150, "a beta", "not there"):
        assert everything(many, f"/search?q={quote(words)}", "message") == expected(words), words


@on_postgresql
@pytest.mark.parametrize("words", ["alpha", "***", "x" * 150, "not there", "ёлка"])
def test_what_there_was_no_time_for_is_on_the_next_pages(many: Chat, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: Any) -> None:
        raise TimeIsUp

    monkeypatch.setattr(text_matching, "_by_index", busy)
    monkeypatch.setattr(text_matching, "SEARCH_SECONDS", 0.0)
    monkeypatch.setattr(text_matching, "READ_BYTES", 500)
    found = list(pages(many, f"/search?q={quote(words)}", "message"))
    assert [message for page in found for message in page] == expected(words)
    assert len(found) > 3


@on_postgresql
def test_the_index_of_trigrams_is_used(many: Chat, alice: User) -> None:
    for number in range(20):
        Chat(many.api, project=many.project).ops(
            *(
                {"op": "upsert", "id": f"n{at}", "role": "user", "text": f"{number} {at} {'other words ' * 100}"}
                for at in range(100)
            )
        )
    fetch_rows("SELECT gin_clean_pending_list('sessions_app_message_words')")
    execute("ANALYZE sessions_app_message")
    with transaction.atomic():
        execute("SET LOCAL enable_seqscan = off")
        for words in ("sofos", "naïve 100", "x" * 160):
            sql, parameters = index_sql(caller_of_user(alice), words, 0, 2**62, 51)
            plan = "\n".join(line for (line,) in fetch_rows(f"EXPLAIN {sql}", parameters))
            assert "sessions_app_message_words" in plan, plan


@on_postgresql
def test_rows_are_read_only_where_all_indexes_agree_and_only_in_the_block(chat: Chat) -> None:
    """What it does to a session of long texts: `scale/load/test_large_searches.py`."""
    names = ("enable_seqscan", "enable_indexscan", "enable_bitmapscan", "jit")

    def shown() -> list[str]:
        return [value for name in names for (value,) in fetch_rows(f"SHOW {name}")]

    before = shown()
    with time_limit(1, by_all_indexes=True):
        assert shown() == ["off", "off", "on", "off"]
    with time_limit(1, by_index=True):
        assert shown() == ["off", *before[1:]]
    assert shown() == before


@on_postgresql
def test_long_repetitions_are_compared_in_time(chat: Chat, alice: User) -> None:
    """By parts: PostgreSQL's own comparison of the whole takes 50 ms for each text of 100 KB."""
    for number in range(8):
        chat.say(f"m{number}", "a" * 100_000, seq=number + 1)
    for words in ("a" * 150 + "b", "b" + "a" * 150):
        assert newest_messages(caller_of_user(alice), words, after=0, before=2**62, limit=51).ids == []
        conditions, patterns = text_comparison.like("m.text", words)
        assert max(map(len, patterns[:-1])) <= text_comparison.PIECE + 2
        assert conditions.count("ILIKE") == len(patterns) - 1
    assert len(newest_messages(caller_of_user(alice), "A" * 150, after=0, before=2**62, limit=51).ids) == 8


def test_a_statement_that_takes_too_long_is_ended(chat: Chat) -> None:
    with pytest.raises(TimeIsUp) as refused, time_limit(0.02):
        fetch_rows(ENDLESS)
    assert (refused.value.status, refused.value.code) == (503, "search_too_slow")
    if ON_POSTGRESQL:  # And nothing of the limit is left.
        assert fetch_rows("SHOW statement_timeout")[0][0] == "0"
        assert fetch_rows("SHOW enable_seqscan")[0][0] == "on"


def sessions(chat: Chat) -> list[str]:
    """Ids of sessions with a text and a title each, the one changed last first."""
    made = []
    for number, words in enumerate(WORDS):
        other = Chat(chat.api, project=chat.project)
        other.say("m1", f"{words} {number}")
        chat.api.patch(f"/sessions/{other.id}", {"title": f"Titled {number % 3}"})
        made.append(other.id)
    return made[::-1]


@pytest.mark.parametrize("hurried", first_of([True, False], 1))
def test_sessions_are_found_whichever_way(chat: Chat, monkeypatch: pytest.MonkeyPatch, hurried: bool) -> None:
    """From the index where it may answer, else by reading, as far as there is time and on the next pages."""
    made = sessions(chat)
    monkeypatch.setattr(session_search, "FIRST_SESSIONS", 1)
    if hurried:
        monkeypatch.setattr(session_search, "MOST_INDEXED", -1)
        monkeypatch.setattr(session_search, "SEARCH_SECONDS", -1.0)
        monkeypatch.setattr(session_search, "SESSIONS", 2)
    project = Project.objects.get(path=chat.project).id
    address = f"/projects/{project}/sessions?q="
    for number, words in some_of(enumerate(WORDS), 3):
        assert made[len(WORDS) - 1 - number] in everything(chat, address + quote(f"{words} {number}"), "id"), words
    assert everything(chat, address + "titled 1", "id") == [made[at] for at in (1, 4, 7, 10)]
    assert everything(chat, address + "titled", "id") == made
    assert everything(chat, address + "nowhere", "id") == []


def test_a_big_session_is_found_by_words_that_are_deep_in_it(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    chat.say("deep", "needle")
    for number in range(8):
        chat.say(f"m{number}", "hay " * 100, seq=number + 2)
    monkeypatch.setattr(session_search, "MOST_INDEXED", -1)
    monkeypatch.setattr(session_search, "MESSAGES", 2)
    project = Project.objects.get(path=chat.project).id
    for seconds in (session_search.INDEX_SECONDS, 1e-9):
        monkeypatch.setattr(session_search, "INDEX_SECONDS", seconds)
        assert everything(chat, f"/projects/{project}/sessions?q=needle", "id") == [chat.id]
        assert everything(chat, f"/projects/{project}/sessions?q=needless", "id") == []


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index cannot tell, and there is time for one read of 1,000 bytes."""

    def busy(*_: Any) -> None:
        raise TimeIsUp

    changed = {"MOST_INDEXED": -1, "matching_messages": busy, "SEARCH_SECONDS": -1.0, "READ_ON_SECONDS": -1.0}
    for name, value in {**changed, "READ_BYTES": 1_000, "PIECE_BYTES": 1_000}.items():
        monkeypatch.setattr(session_search, name, value)


@pytest.fixture
def big(chat: Chat) -> Chat:
    """A session with a needle deep in it."""
    chat.say("deep", "needle")
    for number in range(12):
        chat.say(f"m{number}", "hay " * 100, seq=number + 2)
    return chat


def list_address(chat: Chat, words: str, sort: str = "-updated") -> str:
    return f"/projects/{Project.objects.get(path=chat.project).id}/sessions?sort={sort}&q={words}"


def with_needle(big: Chat) -> Chat:
    other = Chat(big.api, project=big.project)
    say_later(other, "m1", "another needle")
    return other


def say_later(chat: Chat, message_id: str, text: str) -> None:
    """In a millisecond of its own: of two sessions that changed in one, the ids say which comes first."""
    time.sleep(0.002)
    chat.say(message_id, text)
    time.sleep(0.002)


@pytest.mark.parametrize("sort", ["-updated", "title"])
def test_a_big_session_is_searched_to_its_end_on_the_next_pages(big: Chat, hurried: None, sort: str) -> None:
    """Others come before and after it."""
    earlier = with_needle(big)
    say_later(big, "last", "hay")
    later = with_needle(big)
    found = list(pages(big, list_address(big, "needle", sort), "id"))
    in_order = [one for page in found for one in page]
    assert sorted(in_order) == sorted([earlier.id, big.id, later.id])
    assert sort != "-updated" or in_order == [later.id, big.id, earlier.id]
    assert len(found) > 4
    assert everything(big, list_address(big, "needless", sort), "id") == []


@pytest.mark.parametrize("is_first", [True, False])
def test_a_big_session_that_moves_while_it_is_searched_is_found_once(big: Chat, hurried: None, is_first: bool) -> None:
    earlier = with_needle(big)
    say_later(big, "last", "hay")
    later = [] if is_first else [with_needle(big).id]
    found = []
    for number, page in enumerate(pages(big, list_address(big, "needle"), "id")):
        found += page
        if not page:  # The search is within it.
            big.say(f"new{number}", "said meanwhile")
        assert number < 20
    assert found == [*later, big.id, earlier.id]


def test_a_big_session_that_is_deleted_while_it_is_searched_is_left_out(big: Chat, hurried: None) -> None:
    earlier = with_needle(big)
    say_later(big, "last", "hay")
    found = []
    for page in pages(big, list_address(big, "needle"), "id"):
        found += page
        big.api.delete(f"/sessions/{big.id}")
    assert found == [earlier.id]


@pytest.mark.parametrize("parts", ['["-updated"]', '["-updated","x","y"]', "[1,2,3,4]", "[]"])
def test_what_is_no_place_in_a_list_is_refused(big: Chat, parts: str) -> None:
    cursor = base64.urlsafe_b64encode(parts.encode()).decode().rstrip("=")
    refused = big.api.get(f"{list_address(big, 'needle')}&cursor={cursor}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid")


@pytest.mark.parametrize("message", ["-1", "1.5", "true", '"3"', "1e300", "99999999999999999999", "3,4"])
def test_what_is_no_message_of_a_place_is_refused(big: Chat, message: str) -> None:
    parts = f'["-updated","2026-01-01T00:00:00Z","{big.id}",{message}]'
    cursor = base64.urlsafe_b64encode(parts.encode()).decode().rstrip("=")
    assert big.api.get(f"{list_address(big, 'needle')}&cursor={cursor}").status_code == 422
