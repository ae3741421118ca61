"""One row of the table of all operations and pages, and what a noun adds to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.support.chat import Chat

WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True)
class Row:
    """`named`: the address names a thing that is somebody's. `cookie_only`, `open_to_all`: who else may call it."""

    method: str
    address: str
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    named: bool = True
    cookie_only: bool = False
    # Carries its own credentials in the body.
    credentials_inside: bool = False
    # A client names the new thing itself, so that a taken name cannot look like a free one.
    makes_named: bool = False

    @property
    def writes(self) -> bool:
        return self.method in WRITES


@dataclass(frozen=True, kw_only=True)
class Noun:
    """`NOUN` in `tests/nouns/NAME/routes.py`. `api`, `pages`: as the tables of `tests/support/routes/`.
    `forms`: as in `tests/api/test_csrf.py`.

    `add`: makes an example that holds the text, in the chat's project, and returns what fills its rows.
    `ids`: which of these are UUIDs. `elsewhere`: the status of examples that need what the tests' account does not have.
    """

    add: Callable[["Chat", str], dict[str, str]]
    ids: tuple[str, ...] = ()
    api: Mapping[str, Row] = field(default_factory=dict)
    pages: Mapping[str, Row] = field(default_factory=dict)
    forms: Mapping[str, str] = field(default_factory=dict)
    elsewhere: Mapping[str, int] = field(default_factory=dict)
