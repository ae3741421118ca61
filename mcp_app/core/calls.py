"""One call of a client: who calls, and what its connection says."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from sessions_app.core.public_names import Caller

type Progress = Callable[[float, float, str], None]


def _no_progress(done: float, total: float, message: str) -> None:
    """For a client that asked for none."""


@dataclass(frozen=True, slots=True)
class Client:
    """As a client names itself."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Call:
    """`project`: the path or id that the connection was opened for; "": none. `run_id`: the run that its memory writes are from.

    `progress(done, total, message)` may be called from any thread.
    """

    caller: Caller
    project: str = ""
    run_id: uuid.UUID | None = None
    size_bytes: int = 0
    progress: Progress = _no_progress
    client: Client | None = None
    user_agent: str = ""
