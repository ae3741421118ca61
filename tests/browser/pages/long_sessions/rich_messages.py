"""Long sessions of rich messages: questions, answers with tools, diffs, code, mathematics, tables, images and reasoning."""

import json
from collections.abc import Iterator
from typing import Any

from scripts.screenshots.sample_parts import CALLS, MARKDOWN, SOURCES, found, generated
from tests.support.chat import Chat
from tests.support.files import PNG

A_SAVE = 200
NEEDLE_EVERY = 500


def rich_messages(number: int) -> Iterator[dict[str, Any]]:
    """Each has its own words, so that none is rendered twice; each 500th one has a needle."""
    sections = [part for part in MARKDOWN.split("\n\n") if part.strip()]
    recorded = found()
    for at in range(number):
        words = f"Message {at}" + (" with a needle" if at % NEEDLE_EVERY == 7 else "")
        kind = at % 8
        if kind in {0, 4}:
            yield {"role": "user", "text": f"{words}: how does step {at} go on?"}
        elif kind == 1:
            yield {"role": "assistant", "parts": [own(CALLS[0], at), own(CALLS[1 + at % (len(CALLS) - 1)], at), text(words)]}
        elif kind == 2:
            body = "\n\n".join(sections[at % len(sections) :] + sections[: at % len(sections)])
            yield {"role": "assistant", "parts": [text(f"{words}\n\n{body}\n\nSo much for {at}."), *SOURCES]}
        elif kind == 3:
            yield {"role": "assistant", "parts": [own(call, at) for call in CALLS[1:6]] + [text(words)]}
        elif kind == 5 and recorded:
            yield recorded[at % len(recorded)]
        elif kind == 6:
            yield {"role": "user", "parts": [text(words), *generated(PNG)[0]["parts"][1:]]}
        else:
            code = f"```python\nstep = {at}\n" + "print(step)\n" * 30 + "```"
            yield {"role": "assistant", "text": f"{words}\n\n{code}\n\n{prose(at)}"}


def prose(at: int) -> str:
    return "\n\n".join(f"Paragraph {line} of {at}. " + "It says what was done and why, at some length. " * 6 for line in range(4))


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def own(call: dict[str, Any], at: int) -> dict[str, Any]:
    """The same call with an id and words of its own."""
    numbered = json.dumps(call).replace("orders", f"orders {at}").replace("First the log", f"First log {at}")
    made: dict[str, Any] = json.loads(numbered)
    return {name: f"{value}-{at}" if name in {"toolCallId", "callID"} else value for name, value in made.items()}


def fill(chat: Chat, number: int) -> None:
    ops = list[dict[str, Any]]()
    for at, message in enumerate(rich_messages(number)):
        ops.append({"op": "upsert", "id": f"m{at}", **message})
        if len(ops) == A_SAVE or at == number - 1:
            chat.ops(*ops)
            ops = []
