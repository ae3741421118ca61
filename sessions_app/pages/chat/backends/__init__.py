"""The answerer of the chat page: the configured endpoint, else the built-in stand-in."""

from collections.abc import Iterator

from django.conf import settings

from sessions_app.pages.chat.backends import builtin, endpoint
from sessions_app.pages.chat.backends.turn import Turn


def name() -> str:
    """The name that the page shows."""
    return settings.CHAT_MODEL if settings.CHAT_URL else "the built-in stand-in"


def answer(*, turns: list[Turn], opening_step: str) -> Iterator[str]:
    """The answer to the last turn, piece by piece. Raises EndpointFailed before the first piece or in between."""
    if settings.CHAT_URL:
        return endpoint.answer(turns=turns, opening_step=opening_step)
    return builtin.answer(turns=turns, opening_step=opening_step)
