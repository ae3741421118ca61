"""The session of the OpenAI Agents SDK: what the SDK's own sessions do, ours does."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, SessionSettings, set_tracing_disabled
from agents.memory import Session
from agents.testing import ScriptedModel
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from stillhere import Client, StillhereError
from stillhere.openai_agents import StillhereSession
from stillhere.operations.sessions import erase_session
from tests.clients.event_loops import own_event_loop
from tests.clients.python.conftest import PROJECT
from tests.clients.python.test_claude_agent import erased
from tests.support.live_server import LiveServer

HOW = ["run", "run_sync", "run_streamed"]
HISTORY: list[Any] = [{"role": "user", "content": "Earlier"}, {"role": "assistant", "content": "Saved"}]
CALL: list[Any] = [
    {"role": "user", "content": "Weather?"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "g\0"},
    {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"n": 1.0}', "id": "fc_1"},
    {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Sunny.", "annotations": []}]},
]
type Make = Callable[..., StillhereSession]


@pytest.fixture
def make(client: Client) -> Make:
    set_tracing_disabled(True)
    return lambda name="thread / 1", **settings: StillhereSession(name, client=client, **settings)


@pytest.fixture(params=HOW)
def ask(request: Any) -> Callable[..., list[Any]]:
    """Asks a scripted model, and returns what it was given."""

    def run(session: StillhereSession | None, question: Any, answer: str = "Yes.", **config: Any) -> list[Any]:
        model = ScriptedModel()
        text = ResponseOutputText(text=answer, type="output_text", annotations=[], logprobs=[])
        model.enqueue([ResponseOutputMessage(id="1", type="message", role="assistant", content=[text], status="completed")])
        given: dict[str, Any] = {"session": session, **({"run_config": RunConfig(**config)} if config else {})}
        agent = Agent(name="test", model=model)
        if request.param == "run_sync":
            assert _run_sync(agent, question, **given).final_output == answer
        else:
            assert asyncio.run(_run(agent, question, given, streamed=request.param == "run_streamed")) == answer
        sent = model.calls[-1].input
        return [sent] if isinstance(sent, str) else list(sent)

    return run


def _run_sync(*arguments: Any, **given: Any) -> Any:
    with own_event_loop():
        return Runner.run_sync(*arguments, **given)


async def _run(agent: Agent[Any], question: Any, given: dict[str, Any], *, streamed: bool) -> Any:
    if not streamed:
        return (await Runner.run(agent, question, **given)).final_output
    result = Runner.run_streamed(agent, question, **given)
    async for _ in result.stream_events():
        pass
    return result.final_output


def contents(items: Any) -> list[Any]:
    return [item["content"] if isinstance(item["content"], str) else item["content"][0]["text"] for item in items]


def add(session: StillhereSession, items: list[Any]) -> list[Any]:
    asyncio.run(session.add_items(items))
    return asyncio.run(session.get_items())


def test_turns_remember_those_before(make: Make, ask: Callable[..., list[Any]]) -> None:
    session = make()
    assert contents(ask(session, "one", "first")) == ["one"]
    assert contents(ask(make(), "two", "second")) == ["one", "first", "two"]
    assert contents(ask(make("another"), "three")) == ["three"]
    assert len(ask(None, "four")) == 1
    assert contents(ask(session, "five", session_settings=SessionSettings(limit=2))) == ["two", "second", "five"]
    assert contents(ask(session, "six", session_settings=SessionSettings(limit=0))) == ["six"]
    assert len(ask(session, "seven", session_settings=SessionSettings(limit=100))) == 9
    assert contents(asyncio.run(session.get_items(4))) == ["six", "Yes.", "seven", "Yes."]


def test_lists_are_appended_and_callbacks_choose(make: Make, ask: Callable[..., list[Any]]) -> None:
    session = make()
    add(session, HISTORY)
    new: list[Any] = [{"role": "user", "content": "Now"}]
    assert ask(session, new) == HISTORY + new

    def repeats(history: list[Any], given: list[Any]) -> list[Any]:
        return [*history, history[0], *given]

    assert len(ask(session, new, session_input_callback=repeats)) == 6
    assert len(asyncio.run(session.get_items())) == 6


def test_a_limit_leaves_no_output_without_its_call(make: Make, ask: Callable[..., list[Any]]) -> None:
    session = make()
    assert add(session, CALL) == CALL
    assert asyncio.run(session.get_items(2)) == CALL[-2:]
    asked = ask(session, "Tomorrow?", session_settings=SessionSettings(limit=2))
    assert asked == [CALL[-1], {"role": "user", "content": "Tomorrow?"}]


def test_items_are_added_read_popped_and_cleared(make: Make) -> None:
    session, other = make(), make("another")
    assert isinstance(session, Session)
    assert asyncio.run(session.get_items()) == []
    assert asyncio.run(session.pop_item()) is None
    asyncio.run(session.clear_session())
    add(other, HISTORY)
    assert add(session, []) == []
    assert add(session, CALL) == CALL
    assert add(session, CALL) == CALL * 2
    assert [asyncio.run(session.pop_item()) for _ in range(3)] == [CALL[4], CALL[3], CALL[2]]
    assert asyncio.run(session.get_items()) == [*CALL, *CALL[:2]]
    asyncio.run(session.clear_session())
    assert (asyncio.run(session.get_items()), asyncio.run(session.pop_item())) == ([], None)
    assert add(session, HISTORY) == HISTORY
    assert asyncio.run(other.get_items()) == HISTORY


def test_limits(make: Make) -> None:
    items: list[Any] = [{"role": "user", "content": str(number)} for number in range(6)]
    assert add(make(), items) == items
    for limit, count in {0: 0, 2: 2, 4: 4, 10: 6}.items():
        assert asyncio.run(make().get_items(limit)) == items[6 - count :]
        assert asyncio.run(make(session_settings=SessionSettings(limit=limit)).get_items()) == items[6 - count :]
    assert asyncio.run(make(session_settings={"limit": 5}).get_items(limit=2)) == items[4:]
    assert make().session_settings == SessionSettings()
    with pytest.raises(TypeError):
        make(session_settings={"limitt": 1})


def test_a_long_history_is_read_in_pages(make: Make) -> None:
    items: list[Any] = [{"role": "user", "content": str(number)} for number in range(1_100)]
    assert add(make(), items) == items
    assert asyncio.run(make().get_items(700)) == items[400:]


def test_unusual_items_come_back_as_they_were(make: Make) -> None:
    items: list[Any] = [
        {"role": "user", "content": "こんにちは 😊 O'Reilly; DROP TABLE sessions;-- \0"},
        {"type": "function_call_output", "call_id": "c1", "output": "x" * 150_000},
        {"role": "critic", "content": "Of no known role"},
        {"type": "new_kind", "payload": {"n": 10**30, "f": 1.0}},
        {"role": "user", "content": "after"},
    ]
    assert add(make(), items) == items


def test_of_items_that_cannot_all_be_stored_none_is(make: Make, client: Client) -> None:
    add(make(), HISTORY)
    (found,) = client.list_sessions(external_id="thread / 1").items
    too_large, unreadable = {"role": "user", "content": "x" * 1_200_000}, {"type": "new_kind", "n": 1}
    before = client.get_session(found.id).rev
    with pytest.raises(StillhereError, match="rejected: Nothing was saved"):
        add(make(), [{"role": "user", "content": "lost"}, unreadable, too_large])
    assert client.get_session(found.id).rev == before
    # More than one request takes.
    with pytest.raises(StillhereError, match="rejected: Nothing was saved"):
        add(make(), [*({"role": "user", "content": str(number)} for number in range(600)), too_large])
    assert asyncio.run(make().get_items()) == HISTORY


def test_threads_and_event_loops_share_a_session(make: Make) -> None:
    session = make()
    with ThreadPoolExecutor(5) as threads:
        list(threads.map(lambda number: add(session, [{"role": "user", "content": str(number)}]), range(10)))
    assert set(contents(asyncio.run(session.get_items()))) == {str(number) for number in range(10)}

    async def at_once() -> list[Any]:
        await asyncio.gather(*(make("other").add_items([{"role": "user", "content": str(number)}]) for number in range(10)))
        return await make("other").get_items()

    assert len(asyncio.run(at_once())) == 10


def test_others_see_and_add_messages(make: Make, client: Client) -> None:
    add(make(title="Weather"), CALL)
    (found,) = client.list_sessions(external_id="thread / 1").items
    assert (found.title, found.current) == ("Weather", False)
    assert [each.role for each in client.read_messages(found.id).items] == ["user", "assistant", "assistant", "tool", "assistant"]
    client.save(found.id, [{"role": "user", "text": "By a person"}])
    assert contents(asyncio.run(make().get_items(1))) == ["By a person"]
    assert asyncio.run(make().pop_item()) == {"type": "message", "role": "user", "content": "By a person"}


@pytest.mark.parametrize("size", [1, 150_000])
def test_of_messages_of_others_the_items_are_popped_that_were_shown(make: Make, client: Client, size: int) -> None:
    saved = client.open_session("thread / 1", current=False)
    calls = [{"id": id, "type": "function", "function": {"name": "w", "arguments": "{}"}} for id in "kl"]
    raws: list[Any] = [
        {"role": "assistant", "content": "Let me look." * size, "tool_calls": calls},
        *({"role": "tool", "tool_call_id": id, "content": "42"} for id in "kl"),
    ]
    if size > 1:
        raws[0] = {"role": "assistant", "content": [{"type": "text", "text": "Let me look."}], "tool_calls": calls}
        raws[0]["tool_calls"][0]["function"]["arguments"] = f'{{"a": "{"x" * size}"}}'
    add(make(), HISTORY)
    client.save(saved.id, [{"format": "openai.chat", "raw": raw} for raw in raws])
    client.save(saved.id, [{"role": "system", "text": "", "parts": [{"type": "unknown"}]}])
    items = asyncio.run(make().get_items())
    assert [item.get("type") for item in items[2:7]] == ["message", "function_call", "function_call"] + [
        "function_call_output"
    ] * 2
    while items:
        assert asyncio.run(make().get_items()) == items
        assert asyncio.run(make().pop_item()) == items.pop()
    assert asyncio.run(make().pop_item()) is None


def pop(session: StillhereSession) -> Any:
    return asyncio.run(session.pop_item())


def test_two_that_pop_get_different_items(make: Make, client: Client) -> None:
    saved = client.open_session("thread / 1", current=False)
    client.save(saved.id, [{"role": "user", "text": f"by a person {number}"} for number in range(4)])
    add(make(), [{"role": "user", "content": f"by the agent {number}"} for number in range(4)])

    async def at_once() -> list[Any]:
        return list(await asyncio.gather(*(make().pop_item() for _ in range(9))))

    popped = asyncio.run(at_once())
    assert popped.count(None) == 1
    assert len(set(contents([item for item in popped if item]))) == 8


def test_what_was_added_here_is_popped_by_one_request(make: Make, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    built = client.connection._built

    def counted(request: Any) -> Any:
        sent.append(request.method)
        return built(request)

    monkeypatch.setattr(client.connection, "_built", counted)
    session = make()
    client.save(client.open_session("thread / 1", current=False).id, [{"role": "user", "text": "By a person"}])
    add(session, HISTORY)
    sent.clear()
    assert [pop(session) for _ in HISTORY] == HISTORY[::-1]
    assert sent == ["POST"] * 2
    assert pop(session) == {"type": "message", "role": "user", "content": "By a person"}
    assert pop(session) is None


def test_what_others_added_since_is_popped_first(make: Make, client: Client) -> None:
    session = make()
    add(session, HISTORY)
    (found,) = client.list_sessions(external_id="thread / 1").items
    client.save(found.id, [{"role": "user", "text": "By a person"}])
    assert pop(session) == {"type": "message", "role": "user", "content": "By a person"}
    add(session, CALL[:1])
    assert [pop(session) for _ in range(4)] == [*CALL[:1], *HISTORY[::-1], None]


def test_a_session_in_the_trash_says_so(make: Make, client: Client) -> None:
    known = make()
    add(known, HISTORY)
    (found,) = client.list_sessions(external_id="thread / 1").items
    client.delete_session(found.id)
    for session in (known, make()):
        for act in (session.get_items, session.pop_item, session.clear_session, partial(session.add_items, HISTORY)):
            with pytest.raises(StillhereError, match=r"410 session_deleted: The session thread / 1 is in the trash\. Restore it"):
                asyncio.run(act())


def test_what_was_erased_begins_anew(make: Make, client: Client) -> None:
    for erase in (lambda found: erased(found.project_id), lambda found: erase_session(found.id)):
        session = make()
        add(session, HISTORY)
        client.connection.run(erase(client.open_session("thread / 1")))
        assert pop(session) is None
        assert add(session, CALL[:1]) == CALL[:1]


def test_a_refused_save_ends_the_run(make: Make, server: LiveServer) -> None:
    with Client(server.url, "sh_wrong", PROJECT) as wrong, pytest.raises(StillhereError, match=f"{server.url} refuses"):
        _run_sync(Agent(name="test", model=ScriptedModel()), "hello", session=StillhereSession("t", client=wrong))
