"""The memory service of ADK, beside ADK's own one in memory. Run by test_services.py, in an environment of its own."""

import asyncio
import random
from typing import Any

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types

from stillhere.adk import StillhereMemoryService
from tests.clients.python.adk.fixtures import MakeOurs
from tests.clients.python.adk.session_checks import ANA, BEN, event

# With an accent as a character of its own, half words, words of two scripts.
WORDS = ["café", "cafe\u0301", "caf", "naïve", "na", "CART", "cart's", "über_cool", "x1", "Straße", "STRASSE", "İstanbul"]
WORDS += ["私はPythonを使う", "python", "使う", "привет", "приветhello", "hello"]


def test_memories_are_found_by_their_words(ours: MakeOurs) -> None:
    def texts(found: Any) -> list[str]:
        return [each.content.parts[0].text for each in found.memories]

    async def run() -> None:
        sessions = ours()
        service = StillhereMemoryService(client=sessions.client)
        session = await sessions.create_session(**ANA, session_id="s")
        for number, text in enumerate(["The cart is red", "私はPythonを使う", "A red red door in the hall"]):
            await sessions.append_event(session, event(number, text=text))
        await service.add_session_to_memory(session)
        await service.add_session_to_memory(session)
        await service.add_events_to_memory(**ANA, events=[event(9, text="Blue cart")])
        memory = types.Content(parts=[types.Part(text="Likes the cart")])
        await service.add_memory(**ANA, memories=[MemoryEntry(content=memory, author="user")])
        assert texts(await service.search_memory(**ANA, query="red CART!")) == [
            "The cart is red",
            "Likes the cart",
            "A red red door in the hall",
            "Blue cart",
        ]
        assert texts(await service.search_memory(**ANA, query="python")) == ["私はPythonを使う"]
        assert texts(await service.search_memory(**ANA, query="使う")) == ["私はPythonを使う"]
        assert texts(await service.search_memory(**BEN, query="cart")) == []

    asyncio.run(run())


def test_a_memory_that_is_nested_deeper_than_the_server_takes_is_found_with_the_others(ours: MakeOurs) -> None:
    async def run() -> None:
        service = StillhereMemoryService(client=ours().client)
        arguments: dict[str, Any] = {}
        for _ in range(70):
            arguments = {"in": arguments}
        deep = event(1, text="The red cart")
        deep.content.parts.append(types.Part(function_call=types.FunctionCall(name="put", args=arguments)))
        await service.add_events_to_memory(**ANA, events=[deep, event(2, text="A red door")])
        found = await service.search_memory(**ANA, query="red")
        assert [each.content for each in found.memories] == [deep.content, event(2, text="A red door").content]

    asyncio.run(run())


def test_random_memories_are_found_as_in_memory(ours: MakeOurs) -> None:
    async def run() -> None:
        events = []
        for number in range(60):
            texts = [" ".join(random.sample(WORDS, 3)) for _ in range(2)]
            parts = [types.Part(text=text, thought=random.random() < 0.2 or None) for text in texts]
            content = types.Content(role="user", parts=parts)
            events.append(Event(id=f"e{number}", author="user", timestamp=1_700_000_000 + number, content=content))
        services: list[BaseMemoryService] = [StillhereMemoryService(client=ours().client), InMemoryMemoryService()]
        for service in services:
            await service.add_session_to_memory(Session(**ANA, id="s", events=events))
        for query in [*WORDS, "café cart", "nothing"]:
            found, expected = [(await service.search_memory(**ANA, query=query)).memories for service in services]
            assert found == expected, query

    asyncio.run(run())


def test_words_far_behind_in_a_long_text_are_found(ours: MakeOurs) -> None:
    async def run() -> None:
        service = StillhereMemoryService(client=ours().client)
        await service.add_events_to_memory(**ANA, events=[event(1, text="word " * 4_000 + "needle")])
        (found,) = (await service.search_memory(**ANA, query="needle")).memories
        assert found.id is not None

    asyncio.run(run())


def test_what_others_put_among_states_and_memories_is_passed_over(ours: MakeOurs) -> None:
    async def run() -> None:
        sessions = ours()
        service = StillhereMemoryService(client=sessions.client)
        created = await sessions.create_session(**ANA, session_id="s", state={"app:a": 1, "user:b": 2, "own": 3})
        await service.add_events_to_memory(**ANA, events=[event(1, text="A red cart")])
        values: list[Any] = ["red", 7, None, [], {"red": 1}, {"json": "red"}]
        for place in (["app"], ["user", "ana"], ["memory", "ana"]):
            for number, value in enumerate(values):
                sessions.client.put_value(["adk", ANA["app_name"], *place], f"by a person {number}", value)
        assert await ours().get_session(**ANA, session_id="s") == created
        assert (await ours().list_sessions(app_name=ANA["app_name"])).sessions[0].state == created.state
        assert len((await service.search_memory(**ANA, query="red")).memories) == 1

    asyncio.run(run())
