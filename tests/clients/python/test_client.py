"""The client against a real server."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from stillhere import AsyncClient, Client, NoAnswer, StillhereError
from stillhere.http import retries
from stillhere.http.answers import Answer
from stillhere.http.retries import Attempts
from stillhere.langgraph import StillhereStore
from stillhere.operations import recent
from tests.clients.python.conftest import PROJECT
from tests.clients.python.gate import Gate
from tests.clients.python.test_claude_agent import erased
from tests.support.live_server import LiveServer
from tests.support.suite import first_of

HELLO = {"id": "m1", "role": "user", "text": "hello"}


@pytest.fixture
def gated(gate: Gate, secret: str) -> Iterator[Client]:
    """Behind the gate, with its project known."""
    with Client(gate.url, secret, PROJECT) as client:
        client.get_project()
        gate.seen.clear()
        yield client


def test_a_chat_is_saved_while_it_streams_read_and_resumed(client: Client) -> None:
    assert client.resume() is None
    chat = client.open_session("thread / 42", title="Checkout", metadata={"user": "u1"}, tags=["support"])
    assert client.open_session("thread / 42", title="Another").id == chat.id
    assert client.find_session("thread / 43") is None
    growing = {"id": "m2", "role": "assistant", "text": "hel", "status": "streaming"}
    client.save(chat.id, [HELLO, growing])
    client.change(chat.id, [{"op": "append", "id": "m2", "at": 3, "text": "lo"}])
    saved = client.save(chat.id, [{**growing, "text": "hello back", "status": "complete"}])
    assert [each["id"] for each in saved.applied] == ["m2"]
    assert [(each.role, each.text, each.status) for each in client.read_messages(chat.id).items] == [
        ("user", "hello", "complete"),
        ("assistant", "hello back", "complete"),
    ]
    resumed = client.resume()
    assert resumed is not None
    assert (resumed.session.title, resumed.session.metadata, resumed.session.tags) == ("Checkout", {"user": "u1"}, ["support"])
    assert [each.id for each in resumed.messages] == ["m1", "m2"]
    assert client.read_as(chat.id, "openai.chat").items[0] == {"role": "user", "content": "hello"}
    assert [each.kind for each in client.search("hello back").items] == ["message"]


def test_sessions_are_listed_changed_and_deleted(client: Client) -> None:
    first, second = client.create_session(title="one"), client.create_session(title="two", current=False)
    client.update_session(first.id, tags=["kept"], pinned=True)
    assert [each.title for each in client.list_sessions(tag="kept").items] == ["one"]
    page = client.list_sessions(limit=1)
    assert len(page.items + client.list_sessions(limit=1, cursor=page.next).items) == 2
    client.delete_session(second.id)
    client.delete_session(second.id)
    assert [each.id for each in client.list_sessions().items] == [first.id]
    assert [each.path for each in client.list_projects().items] == [PROJECT]


def test_pages_of_messages_and_what_changed(client: Client) -> None:
    chat = client.create_session()
    client.save(chat.id, [{"id": f"m{number}", "role": "user", "text": str(number)} for number in range(1_201)])
    newest = client.read_messages(chat.id, limit=200)
    assert newest.next is not None
    assert [each.id for each in client.read_messages(chat.id, limit=1, before=newest.next).items] == ["m1000"]
    rev = client.get_session(chat.id).rev
    popped = client.change(chat.id, [{"op": "pop", "n": 2}]).popped
    assert [each["id"] for each in popped] == ["m1199", "m1200"]
    assert client.changes_since(chat.id, rev).removed == ["m1199", "m1200"]
    assert client.read_message(chat.id, "m1200") is None
    kept = client.read_message(chat.id, "m7")
    assert kept is not None
    assert kept.text == "7"


def test_errors_have_code_and_details(client: Client) -> None:
    chat = client.create_session()
    client.save(chat.id, [HELLO])
    with pytest.raises(StillhereError) as refused:
        client.save(chat.id, [{"role": "user", "text": "late"}], if_rev=0)
    assert (refused.value.status, refused.value.code, refused.value.details["rev"]) == (412, "rev_changed", 1)
    with pytest.raises(StillhereError, match="404 not_found"):
        client.get_session("00000000-0000-4000-8000-000000000000")


def test_a_save_after_somebody_elses_clear(client: Client, server: LiveServer, secret: str) -> None:
    chat = client.create_session()
    client.save(chat.id, [HELLO])
    with Client(server.url, secret, PROJECT) as other:
        assert other.clear(chat.id).cleared == 1
    with pytest.raises(StillhereError) as stale:
        client.save(chat.id, [{"id": "m2", "role": "user", "text": "late"}])
    assert stale.value.code == "stale_epoch"
    client.save(chat.id, [{"id": "m3", "role": "user", "text": "next"}])
    assert [each.id for each in client.read_messages(chat.id).items] == ["m3"]


def test_a_lost_answer_is_asked_for_again(gated: Client, gate: Gate) -> None:
    chat = gated.open_session("t")
    gated.save(chat.id, [HELLO])
    for number in range(2):
        gate.next.extend(["lost"] * 2)
        saved = gated.change(chat.id, [{"op": "upsert", **HELLO, "id": f"n{number}"}])
        assert [each["id"] for each in saved.applied] == [f"n{number}"]
    gate.next.append("lost")
    assert [each["id"] for each in gated.change(chat.id, [{"op": "pop"}]).popped] == ["n1"]
    assert gated.get_session(chat.id).message_count == 2


def test_what_may_be_done_once_only_is_not_repeated(gated: Client, gate: Gate) -> None:
    gate.next.append("lost")
    with pytest.raises(NoAnswer):
        gated.create_session(title="once")
    assert len(gated.list_sessions().items) == 1
    gate.next.append("lost")
    with pytest.raises(NoAnswer):
        gated.put_value("notes", "k", 1, if_match=None)
    entry = gated.get_value("notes", "k")
    assert entry is not None
    assert entry.rev == 1


@pytest.mark.parametrize("status", first_of([429, 503], 1))
def test_a_refusal_that_passes_is_waited_for(gated: Client, gate: Gate, status: int) -> None:
    gate.next.extend([(status, 0.01), (status, 0.01)])
    assert gated.create_session(title="late").title == "late"
    assert len(gate.seen) == 3
    gate.next.append((status, 3_600))
    with pytest.raises(StillhereError) as refused:
        gated.get_project()
    assert (refused.value.status, refused.value.retry_after) == (status, 3_600)


def test_a_pause_may_be_named_by_its_end(gated: Client, gate: Gate) -> None:
    gate.next.append((503, format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)))
    with pytest.raises(StillhereError) as refused:
        gated.get_project()
    assert refused.value.retry_after == pytest.approx(3_600, abs=60)


@pytest.mark.parametrize("named", first_of(["nan", "-5", "soon", "inf", "Wed, 21 Oct 2015 07:28:00 GMT", "1" * 400], 3))
def test_a_pause_that_is_none_is_not_waited_for(gated: Client, gate: Gate, named: str) -> None:
    gate.next.append((503, named))
    assert gated.get_project()


def test_a_server_that_is_away(gate: Gate, secret: str) -> None:
    gate.away = True
    with Client(gate.url, secret, PROJECT, retry_seconds=0.3) as client, pytest.raises(NoAnswer) as error:
        client.get_project()
    assert isinstance(error.value.__cause__, httpx.TransportError)
    assert len(gate.seen) > 1


def test_threads_share_a_client(client: Client) -> None:
    chat = client.create_session()
    with ThreadPoolExecutor(5) as threads:
        saved = threads.map(lambda number: client.save(chat.id, [{"role": "user", "text": str(number)}]), range(20))
        assert [len(each.applied) for each in saved] == [1] * 20
    assert {each.text for each in client.read_messages(chat.id).items} == {str(number) for number in range(20)}


def test_memory(client: Client) -> None:
    put = client.put_value(["users", "1"], "likes", {"n": 3, "big": 10**30}, ttl_minutes=60)
    entry = client.get_value(["users", "1"], "likes")
    assert entry is not None
    assert (put.created, entry.value, entry.namespace) == (True, {"n": 3, "big": 10**30}, ["users", "1"])
    with pytest.raises(StillhereError) as refused:
        client.put_value(["users", "1"], "likes", {}, if_match=None)
    assert refused.value.status == 412
    client.put_value(["users", "1"], "likes", {"n": 4}, if_match=put.etag)
    client.put_value(["users", "2"], "likes", {"n": 5})
    found = client.list_values("users", deep=True, filter={"n": {"$gte": 5}})
    assert [(each.namespace, each.value) for each in found.items] == [(["users", "2"], {"n": 5})]
    assert [each["labels"] for each in client.list_namespaces(prefix="users").items] == [["users", "1"], ["users", "2"]]
    client.set_memory_settings(["users", "a/b"], exact=True)
    assert client.batch([{"op": "get", "namespace": ["users", "3"], "key": "none"}]) == [{"entry": None}]
    assert (client.delete_value(["users", "2"], "likes"), client.delete_value(["users", "2"], "likes")) == (True, False)
    assert client.get_value(["users", "2"], "likes") is None


def test_coroutines_of_several_event_loops(server: LiveServer, secret: str) -> None:
    client = AsyncClient(server.url, secret, PROJECT)

    async def chat(number: int) -> list[str]:
        async with client:
            session = await client.open_session(f"t{number}")
            await asyncio.gather(*(client.save(session.id, [{"role": "user", "text": text}]) for text in "abc"))
            return sorted(each.text for each in (await client.read_messages(session.id)).items)

    assert [asyncio.run(chat(number)) for number in range(2)] == [["a", "b", "c"]] * 2


def test_settings_come_from_the_environment(server: LiveServer, secret: str, client: Client, monkeypatch: Any) -> None:
    project = client.get_project()
    for name, value in {"URL": f"{server.url}/", "KEY": secret, "PROJECT": project.id}.items():
        monkeypatch.setenv(f"STILLHERE_{name}", value)
    with Client() as other:
        assert other.get_project() == project
    monkeypatch.delenv("STILLHERE_KEY")
    with pytest.raises(ValueError, match="STILLHERE_KEY"):
        Client()


def test_the_address_of_the_api_is_that_of_its_server(client: Client, server: LiveServer, secret: str) -> None:
    for url in (f"{server.url}/api/v1", f"{server.url}/api/v1/"):
        with Client(url, secret, PROJECT) as other:
            assert other.get_project() == client.get_project()


def test_wrong_arguments_are_named(client: Client, server: LiveServer, secret: str) -> None:
    for placeholder in ("sh_…", "sh_..."):
        with pytest.raises(ValueError, match="placeholder"):
            Client(server.url, placeholder, PROJECT)
    for key in (f"{secret}\n", "sh_é"):
        with pytest.raises(ValueError, match="`key` has"):
            Client(server.url, key, PROJECT)
    single: Any = HELLO
    with pytest.raises(TypeError, match="list of messages"):
        client.save("s", single)
    for call in (client.open_session, client.find_session):
        with pytest.raises(ValueError, match="not empty"):
            call("")


def test_no_answer_names_the_address(gate: Gate, secret: str) -> None:
    gate.away = True
    with Client(gate.url, secret, PROJECT, retry_seconds=0) as client, pytest.raises(NoAnswer, match=f"^no_answer: {gate.url}"):
        client.list_projects()


def test_a_refused_key_names_the_address(server: LiveServer) -> None:
    async def ask() -> None:
        async with AsyncClient(server.url, "sh_wrong", PROJECT) as asking:
            await asking.get_project()

    with pytest.raises(StillhereError, match=f"401 unauthorized: {server.url} refuses the key"):
        asyncio.run(ask())


def test_a_project_that_was_erased_is_created_again_if_its_path_is_known(client: Client, server: LiveServer, secret: str) -> None:
    project, store = client.get_project().id, StillhereStore(server.url, secret, PROJECT)
    value = {"token": "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"}
    store.put(("a",), "k", value)
    with Client(server.url, secret, project) as by_id:
        by_id.connection.run(erased(project))
        with pytest.raises(StillhereError, match="no project with this id"):
            by_id.open_session("t")
    assert client.open_session("t").project_id != project
    store.put(("a",), "k", value)
    found = store.get(("a",), "k")
    assert found is not None
    assert found.value == value  # Nothing is redacted here: the settings of the namespace were made again.
    store.connection.close()


def test_who_waits_for_a_server_is_told_why_once(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command was silent for half a minute. Without a logging configuration Python writes a warning to standard error."""
    attempts = Attempts(30, repeatable=True, url="http://127.0.0.1:1")
    attempts.pause_after_error(httpx.ConnectError("refused"))
    assert caplog.text == "", "it is away for a moment"
    monkeypatch.setattr(retries, "TOLD_AFTER_SECONDS", 0.0)
    attempts = Attempts(30, repeatable=True, url="http://127.0.0.1:1")
    for _ in range(2):
        attempts.pause_after_error(httpx.ConnectError("refused"))
    assert [line.getMessage() for line in caplog.records] == [
        "http://127.0.0.1:1 does not answer: refused. It is tried again for 30 s."
    ]


def test_of_many_sessions_the_last_ones_are_known(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "MOST_KNOWN", 3)
    sessions = [client.open_session(f"t{number}").id for number in range(6)]
    for text in ("one", "two"):
        for session in sessions:
            assert client.save(session, [{**HELLO, "text": text}]).applied
    assert len(client._writer._epochs) == 3
    client.clear(sessions[0])
    assert client.save(sessions[0], [HELLO]).epoch == 2


@pytest.mark.parametrize("hours", [-3, 0, 3])
def test_a_date_to_wait_for_is_one_of_the_servers_clock(hours: int) -> None:
    now = datetime.now(UTC) + timedelta(hours=hours)
    later, date = (format_datetime(at, usegmt=True) for at in (now + timedelta(seconds=30), now))
    assert retries.retry_after(Answer(503, {"retry-after": later, "date": date}, b"")) == 30
    assert retries.retry_after(Answer(503, {"retry-after": "soon"}, b"")) is None
