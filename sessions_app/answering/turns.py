from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the history that an answerer is given."""

    role: str
    text: str
