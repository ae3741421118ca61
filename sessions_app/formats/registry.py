"""All formats, in the order in which they are tried to recognise a message."""

from typing import Any

from sessions_app.formats import ai_sdk, anthropic, gemini, langchain, openai_chat, openai_responses, pydantic_ai
from sessions_app.formats.fields import Unreadable
from sessions_app.formats.writing import Format

__all__ = ["FORMATS", "Format", "Unreadable", "detect", "format_of"]

# `openai.chat` is last: a text with a role can be of several formats, which all read it alike.
_ORDER = (
    pydantic_ai.FORMAT,
    langchain.FORMAT,
    ai_sdk.FORMAT,
    gemini.FORMAT,
    openai_responses.FORMAT,
    anthropic.FORMAT,
    openai_chat.FORMAT,
)
FORMATS: dict[str, Format] = {each.name: each for each in _ORDER}


def format_of(name: str | None) -> Format | None:
    return FORMATS.get(name) if name is not None else None


def detect(raw: Any) -> str | None:
    """The name of the first format that `raw` looks like, or None. Never raises."""
    return next((name for name, each in FORMATS.items() if each.detect(raw)), None)
