"""A conversation with an agent. Its session is kept by Stillhere, so the next start continues it."""

import asyncio
import sys
from typing import Any

from agents import Agent, Runner, set_tracing_disabled
from agents.testing import ScriptedModel
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from stillhere.openai_agents import StillhereSession


def text_of(item: Any) -> str:
    content = item["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def answer(before: list[Any], line: str) -> ResponseOutputMessage:
    """In place of a model: it knows what was said before."""
    said = [text_of(item) for item in before if item["role"] == "user"] + [line]
    text = f"That was line {len(said)}. The first one was: {said[0]}"
    part = ResponseOutputText(text=text, type="output_text", annotations=[], logprobs=[])
    return ResponseOutputMessage(id="1", type="message", role="assistant", content=[part], status="completed")


async def main() -> None:
    set_tracing_disabled(True)
    model = ScriptedModel()
    agent = Agent(name="Assistant", model=model)
    session = StillhereSession("example")

    before = await session.get_items()
    for item in before:
        print(f"{item['role']}: {text_of(item)}")  # type: ignore[typeddict-item]
    print("Type a line. Ctrl+D ends.", file=sys.stderr)
    for line in sys.stdin:
        model.enqueue([answer(await session.get_items(), line.strip())])
        done = await Runner.run(agent, line.strip(), session=session)
        print(f"assistant: {done.final_output}", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
