"""What an endpoint's answer consists of."""

from dataclasses import dataclass
from typing import Any


class EndpointFailed(Exception):
    """`str()` is a reason that can be shown: it has nothing of what the endpoint said."""


@dataclass(frozen=True, slots=True)
class Piece:
    """`kind`: text, reasoning or tool_call. `value`: the text, or the call's `{id, name, input}`."""

    kind: str
    value: Any
