"""A thread's title from its first question. No model is asked."""

from typing import Any

LONGEST = 60


def title_of(messages: list[dict[str, Any]]) -> str:
    """The beginning of what the user asked first, cut at a word; '' if nothing was asked."""
    asked = next((said for message in messages if message.get("role") == "user" and (said := _text(message))), "")
    if len(asked) <= LONGEST:
        return asked
    words = asked[:LONGEST].rsplit(" ", 1)[0]
    return f"{words.rstrip(' ,;:.')}…"


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    return " ".join(" ".join(texts).split())
