"""Compares the server's responses with what was sent. Pure: every difference is one line of text."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from sessions_app.portability.replay.conversation import Turn
from sessions_app.portability.replay.http_client import Json

SHOWN = 40


def differences(sent: Sequence[Turn], resumed: Json, older: Sequence[Json], *, session_id: str) -> list[str]:
    """Differences between the sent turns and the stored ones (older pages, then the resume window); empty if there are none."""
    session = resumed["session"]
    found = []
    if session["id"] != session_id:
        found.append(f"another session resumes: {session['id']} instead of {session_id}")
    if session["message_count"] != len(sent):
        found.append(f"message_count is {session['message_count']}, sent were {len(sent)}")
    found += [f"message {skipped.get('id')} was left out as {skipped.get('reason')}" for skipped in resumed["skipped"]]
    answered = [*older, *resumed["messages"]]
    for number, (turn, message) in enumerate(zip_longest(sent, answered), start=1):
        found += [f"turn {number}: {what}" for what in _differences(turn, message)]
    return found


def lost_after_reload(acknowledged: Mapping[str, str], resumed: Json) -> list[str]:
    """Messages that were acknowledged before a reload and are missing after it.

    The window may begin later than the chat, so what comes before its first message is left to the comparison at the
    end. A text may be longer than what was acknowledged: the save that was under way may have arrived.
    """
    texts = {message["id"]: message["text"] for message in resumed["messages"]}
    ids = list(acknowledged)
    first = next((number for number, known in enumerate(ids) if known in texts), len(ids) if texts else 0)
    return [
        f"message {known} was acknowledged and {'has lost text' if known in texts else 'is missing'}"
        for known in ids[first:]
        if not texts.get(known, "").startswith(acknowledged[known])
    ]


def _differences(turn: Turn | None, message: Json | None) -> list[str]:
    if turn is None:
        return [f"was not sent, but answered: {message and message.get('id')}"]
    if message is None:
        return [f"{turn.id} is missing"]
    expected = {"id": turn.id, "role": turn.role, "status": "complete"}
    found = [
        f"{name} is {message.get(name)!r} instead of {value!r}" for name, value in expected.items() if message.get(name) != value
    ]
    if message.get("text") != turn.text:
        found.append(_text_difference(turn.text, message.get("text")))
    return found


def _text_difference(sent: str, answered: object) -> str:
    if not isinstance(answered, str):
        return "the answer has no text"
    at = next(
        (at for at, pair in enumerate(zip(sent, answered, strict=False)) if pair[0] != pair[1]), min(len(sent), len(answered))
    )
    return f"text differs from character {at + 1} on: {answered[at : at + SHOWN]!r} instead of {sent[at : at + SHOWN]!r}"
