"""The memory service of ADK, beside ADK's own one in memory. Run by test_services.py, in an environment of its own."""

import asyncio
from typing import Any

from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types

from stillhere.adk import StillhereMemoryService
from tests.clients.python.adk.fixtures import MakeOurs
from tests.clients.python.adk.session_checks import ANA, BEN, event


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
