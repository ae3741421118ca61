from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the history passed to an answerer."""

    role: str
    text: str
