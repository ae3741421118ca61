"""What an HTTP request to `/mcp` asks, once its caller is known. The protocol's library passes it on in its scope."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from mcp_app.core.calls import Call

# Key in the ASGI scope.
ASKED = "stillhere.mcp"


def implementation(version: str) -> dict[str, str]:
    """Who answers."""
    return {"name": "stillhere", "title": "Stillhere", "version": version}


@dataclass(frozen=True, slots=True)
class Asked:
    """`message`: the body, parsed strictly. `submit` runs work in a thread of the database. `note(tool)` is for the log."""

    call: Call
    message: Any
    submit: Callable[[Callable[[], Any]], "Future[Any]"]
    note: Callable[[str], None]

    @property
    def arguments(self) -> Any:
        """Of a call of a tool; not those that the library parsed, which may have characters that no database can hold."""
        return self.message["params"].get("arguments") or {}
