"""The services of ADK. Run by test_services.py, in an environment of its own."""

import asyncio
import os
from typing import Any

import pytest
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.session import Session
from google.genai import types

from stillhere import Client
from stillhere.adk import StillhereSessionService
from stillhere.connection import Operation, Request
from tests.clients.python.adk.fixtures import Make, MakeOurs
from tests.clients.python.gate import Gate

ANA: Any = {"app_name": "shop / 1", "user_id": "ana"}
BEN: Any = {"app_name": "shop / 1", "user_id": "ben"}


def event(number: float, *, author: str = "user", text: str = "hi", **delta: Any) -> Event:
    content = types.Content(role=author, parts=[types.Part(text=text)])
    actions = EventActions(state_delta={name.replace("__", ":"): value for name, value in delta.items()})
    return Event(author=author, invocation_id=f"i{number}", timestamp=1_700_000_000 + number, content=content, actions=actions)


def everything() -> Event:
    return Event(
        author="agent",
        timestamp=1_700_000_003,
        turn_complete=True,
        partial=False,
        error_code="E",
        error_message="It failed",
        actions=EventActions(artifact_delta={"file": 0}, transfer_to_agent="other", escalate=True),
        usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=1, total_token_count=2),
        citation_metadata=types.CitationMetadata(),
        input_transcription=types.Transcription(text="in", finished=True),
    )


def states(sessions: list[Session]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(each.user_id, each.id, each.state) for each in sessions]


def test_sessions_and_scopes_of_state(make: Make) -> None:
    async def run() -> None:
        service = make()
        state = {"key": {"a": [1, None]}, "app:name": "Shop", "user:tier": 1, "temp:secret": "x"}
        first = await service.create_session(**ANA, session_id=" s1 ", state=state)
        assert (first.id, first.state) == ("s1", {"key": {"a": [1, None]}, "app:name": "Shop", "user:tier": 1})
        with pytest.raises(AlreadyExistsError):
            await service.create_session(**ANA, session_id="s1")
        await service.create_session(**BEN, session_id="s1", state={"user:tier": 2})
        other = await service.create_session(**ANA)
        assert other.state == {"app:name": "Shop", "user:tier": 1}
        await service.append_event(other, event(10, app__name="Store", user__tier=3, own=True, temp__x=1))
        assert other.state["temp:x"] == 1
        service = make()
        listed = (await service.list_sessions(**ANA)).sessions
        ana = {"app:name": "Store", "user:tier": 3}
        assert sorted(states(listed), key=str) == sorted(
            [("ana", "s1", {"key": {"a": [1, None]}, **ana}), ("ana", other.id, {"own": True, **ana})], key=str
        )
        everybody = (await service.list_sessions(app_name=ANA["app_name"])).sessions
        assert {each.user_id: each.state["user:tier"] for each in everybody} == {"ana": 3, "ben": 2}
        assert await service.get_user_state(app_name="other", user_id="ben") == {}
        await service.delete_session(**ANA, session_id="s1")
        assert await service.get_session(**ANA, session_id="s1") is None
        assert await service.get_session(**BEN, session_id="s1") is not None
        assert await service.get_user_state(**ANA) == {"tier": 3}

    asyncio.run(run())


def test_events_come_back_as_they_were(make: Make) -> None:
    async def run() -> None:
        service = make()
        session = await service.create_session(**ANA, session_id="s")
        image = types.Part.from_bytes(data=b"\x00\xff\xfe" * 5, mime_type="image/png")
        call = types.Part(function_call=types.FunctionCall(id="c1", name="weather", args={"n": 1.0}))
        thought = types.Part(text="hm", thought=True, thought_signature=b"\xfb\xff")
        answer = types.FunctionResponse(id="c1", name="weather", response={"output": "sunny"})
        blob = types.GroundingMetadata(search_entry_point=types.SearchEntryPoint(sdk_blob=b"blob\x00"))
        contents = [[types.Part(text="NUL \0 😊"), image], [thought, call], [types.Part(function_response=answer)]]
        for number, parts in enumerate(contents):
            stored = event(number, author="user" if number == 0 else "agent", k=number)
            stored.content, stored.grounding_metadata = types.Content(role="user", parts=parts), blob
            stored.long_running_tool_ids, stored.custom_metadata = {"c1"}, {"x": [1, {"y": None}]}
            await service.append_event(session, stored)
        await service.append_event(session, everything())
        partial = Event(author="agent", partial=True, timestamp=1_700_000_004)
        assert await service.append_event(session, partial) is partial
        assert len(session.events) == 4
        found = await make().get_session(**ANA, session_id="s")
        assert found == session
        assert found.last_update_time == 1_700_000_003

    asyncio.run(run())


def test_lists_begin_with_the_oldest_update(make: Make) -> None:
    async def run() -> None:
        service = make()
        created = [await service.create_session(**ANA, session_id=f"s{number}") for number in range(3)]
        at = created[0].last_update_time - 1_700_000_000
        for number, session in zip([30, 10, 20], created, strict=True):
            await service.append_event(session, event(at + number))
        assert [each.id for each in (await service.list_sessions(**ANA)).sessions] == ["s1", "s2", "s0"]
        await service.delete_session(**ANA, session_id=" s1 ")
        await service.delete_session(**ANA, session_id="s1")
        assert await service.get_session(**ANA, session_id="s1") is None
        with pytest.raises(ValueError, match="not found"):
            await service.append_event(created[1], event(at + 40))

    asyncio.run(run())


def test_some_of_the_events(make: Make) -> None:
    async def run() -> None:
        service = make()
        session = await service.create_session(**ANA, session_id="s")
        for number in range(1, 6):
            await service.append_event(session, event(number))
        cases = [(None, 0, 1), (0, 0, 6), (3, 0, 3), (9, 0, 1), (None, 4, 4), (3, 4, 4), (1, 9, 6)]
        for recent, after, first in cases:
            config = GetSessionConfig(num_recent_events=recent, after_timestamp=after and 1_700_000_000 + after)
            found = await service.get_session(**ANA, session_id="s", config=config)
            assert found is not None
            assert [each.timestamp - 1_700_000_000 for each in found.events] == list(range(first, 6))
        assert await service.get_session(**ANA, session_id="none") is None

    asyncio.run(run())


def test_of_two_writers_one_is_told(make: Make) -> None:
    async def run() -> None:
        service, other = make(), make()
        created = await service.create_session(**ANA, session_id="s")
        at = created.last_update_time - 1_700_000_000
        await service.append_event(created, event(at + 1, a=1))
        mine = await service.get_session(**ANA, session_id="s")
        theirs = await other.get_session(**ANA, session_id="s")
        assert mine is not None
        assert theirs is not None
        await other.append_event(theirs, event(at + 2, b=1))
        with pytest.raises(ValueError, match=r"stale|modified in storage"):
            await service.append_event(mine, event(at + 3, c=1, app__c=1))
        assert len(mine.events) == 1
        found = await service.get_session(**ANA, session_id="s")
        assert found is not None
        assert (found.state, len(found.events)) == ({"a": 1, "b": 1}, 2)

    asyncio.run(run())


def test_a_current_session_may_have_lost_its_marker(make: Make) -> None:
    """And its time may be off by what rounding takes away."""

    async def run() -> None:
        service = make()
        session = await service.create_session(**ANA, session_id="s")
        at = session.last_update_time - 1_700_000_000
        await service.append_event(session, event(at + 10, n=1))
        again = Session(**session.model_dump())
        await service.append_event(again, event(at + 20, n=2))
        found = await make().get_session(**ANA, session_id=" s ") or session
        assert (found.state, len(found.events), found.last_update_time) == ({"n": 2}, 2, again.last_update_time)

    asyncio.run(run())


def test_copies_of_one_session_race(ours: MakeOurs) -> None:
    """The SQLite service takes both: it compares times outside of its transaction."""

    async def run() -> None:
        service = ours()
        session = await service.create_session(**ANA, session_id="s")
        copies = [session.model_copy(deep=True) for _ in range(3)]
        appends = [service.append_event(copy, event(number)) for number, copy in enumerate(copies)]
        done = await asyncio.gather(*appends, return_exceptions=True)
        assert sorted(isinstance(each, ValueError) for each in done) == [False, True, True]

    asyncio.run(run())


def test_people_may_change_the_title_and_add_messages(ours: MakeOurs) -> None:
    async def run() -> None:
        service = ours()
        session = await service.create_session(**ANA, session_id="s")
        await service.append_event(session, event(1, text="Hello"))
        (stored,) = service.client.list_sessions(tag="adk").items
        service.client.update_session(stored.id, title="By a person", metadata={"mine": 1}, tags=[*stored.tags, "mine"])
        service.client.save(stored.id, [{"role": "user", "text": "By a person"}])
        await service.append_event(session, event(2, author="agent", text="Hi"))
        found = await service.get_session(**ANA, session_id="s", config=GetSessionConfig(num_recent_events=2))
        assert found is not None
        assert [each.timestamp for each in found.events] == [1_700_000_001, 1_700_000_002]
        shown = [(each.role, each.text) for each in service.client.read_messages(stored.id).items]
        assert shown == [("user", "Hello"), ("user", "By a person"), ("assistant", "Hi")]
        assert service.client.get_session(stored.id).tags == [*stored.tags, "mine"]

    asyncio.run(run())


def test_a_copy_that_a_person_made_is_no_session(ours: MakeOurs) -> None:
    def fork(session: str) -> Operation[Any]:
        return (yield Request("POST", f"/sessions/{session}/fork", {}, repeatable=False))

    async def run() -> None:
        service = ours()
        await service.create_session(**ANA, session_id="s")
        (stored,) = service.client.list_sessions(tag="adk").items
        service.client.connection.run(fork(stored.id))
        assert [each.id for each in (await service.list_sessions(**ANA)).sessions] == ["s"]
        await service.delete_session(**ANA, session_id="s")
        assert (await service.list_sessions(**ANA)).sessions == []

    asyncio.run(run())


def test_long_states_and_long_events(ours: MakeOurs) -> None:
    async def run() -> None:
        service = ours()
        session = await service.create_session(**ANA, session_id="s" * 200, state={"long": '"' * 20_000})
        await service.append_event(session, event(1, text="x" * 2_000_000, short=1))
        await service.append_event(session, event(2, long="short"))
        await service.append_event(session, event(3, long="é" * 20_000))
        found = await ours().get_session(**ANA, session_id="s" * 200)
        assert found == session
        assert states((await ours().list_sessions(**ANA)).sessions) == states([session])

    asyncio.run(run())


def test_lost_answers_store_nothing_twice(project: str) -> None:
    async def run() -> None:
        with Gate(os.environ["STILLHERE_URL"].removeprefix("http://")) as gate, Client(gate.url, None, project) as client:
            service = StillhereSessionService(client=client)
            session = await service.create_session(**ANA, session_id="s")
            gate.seen.clear()
            await service.append_event(session, event(1, k=1))
            assert len(gate.seen) == 1
            gate.next.extend(["lost", (503, 0.0), "lost"])
            await service.append_event(session, event(2, k=2, app__k=2))
            assert await service.get_session(**ANA, session_id="s") == session

    asyncio.run(run())
