"""A stand-in for a model: a handful of rules, no understanding. It says so, and it reads only the given history."""

import re
from dataclasses import dataclass

import re2

WHO = "I am Stillhere's built-in stand-in: a few rules, no language model. Set STILLHERE_CHAT_URL to talk to one."
# RE2 runs in linear time: users write the searched text, and Python's own matcher would block all other threads.
# Letters of any script as a negated class: RE2's size limit does not allow the full class sixty times.
_NAME = r"""[^\n.!?,;:()'"]{1,60}?"""
_FACT = re2.compile(rf"(?i)\bmy\s+({_NAME})\s+(?:is|are)\s+([^.!?\n]{{1,200}})")
_QUESTION = re2.compile(rf"(?i)\b(?:what(?:'s| is| are| was)?|tell me|say)\b.*?\bmy\s+({_NAME})\s*(?:\?|$)")
_COUNT = re.compile(r"\bcount to (\d{1,4})\b", re.IGNORECASE)
_PIECES = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the history."""

    role: str
    text: str


def pieces_of(text: str) -> list[str]:
    """Its words, each with the space behind it."""
    return _PIECES.findall(text)


def reply(*, turns: list[Turn], opening_step: str) -> str:
    said = turns[-1].text if turns else ""
    if asked := _QUESTION.search(said):
        return _recall(asked[1], turns[:-1])
    if count := _COUNT.search(said):
        return " ".join(str(number) for number in range(1, int(count[1]) + 1))
    if fact := _FACT.search(said):
        return (
            f"Noted: your {fact[1].strip()} is {fact[2].strip()}. Ask me whenever you like: I read it from this chat's history."
        )
    if opening_step == "plan":
        return _plan(turns)
    return _brainstorm(turns)


def _recall(wanted: str, turns: list[Turn]) -> str:
    """The newest fact with that name in the user's messages; a shorter name also matches (`code` for `secret code`)."""
    words = set(wanted.lower().split())
    for turn in reversed(turns):
        if turn.role != "user":
            continue
        for name, value in reversed(_FACT.findall(turn.text)):
            if words <= set(name.lower().split()):
                return f"Your {name.strip()} is {value.strip()}."
    return f"You have not told me your {wanted.strip()} in this chat."


def _brainstorm(turns: list[Turn]) -> str:
    said = [turn.text.strip() for turn in turns if turn.role == "user"]
    if len(said) == 1:
        return f"{WHO} Your opening: “{_short(said[0])}”. For whom is it, and what must never go wrong with it?"
    questions = (
        "What is the smallest part of it that would be of use alone?",
        "What have you ruled out, and why?",
        "What would tell you that it works?",
        "What could make it fail in its first week?",
    )
    return f"I keep: “{_short(said[-1])}”. {questions[len(said) % len(questions)]}"


def _plan(turns: list[Turn]) -> str:
    points = [_short(turn.text.strip()) for turn in turns if turn.role == "user"]
    steps = "\n".join(f"{number}. {point}" for number, point in enumerate(points[-8:], start=1))
    return f"A plan out of what you said, in your words and order; a model would do better.\n{steps}"


def _short(text: str, length: int = 120) -> str:
    folded = " ".join(text.split())
    return folded if len(folded) <= length else f"{folded[: length - 1]}…"
