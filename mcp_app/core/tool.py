"""A tool: its description for a model, its arguments, and the function that a call runs."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from django.db import DatabaseError
from pydantic import Field, ValidationError, model_validator

from mcp_app.core.calls import Call
from mcp_app.core.outcomes import Outcome, refused
from mcp_app.core.recording import record_call
from memory_app.models.entry import PLACE_BYTES
from sessions_app.accounts.authentication import MissingScope
from sessions_app.core.errors import AppError, WrongFields
from sessions_app.core.limits import request_limits
from sessions_app.core.storage.database_errors import as_app_error, leave_read_only, tell_refusal
from sessions_app.core.web.schemas import In, reason_of

READ, WRITE = "read", "write"
MOST_TOKENS, LEAST_TOKENS, DEFAULT_TOKENS = 100_000, 100, 8_000
BYTES_A_TOKEN = 4
logger = logging.getLogger(__name__)

ProjectName = Annotated[
    str | None,
    Field(max_length=512, description="Path of the project, such as /home/ana/shop. Left out: the project of this connection."),
]
SessionName = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=128,
        description="The session's UUID or your own external id. Left out: the project's current session.",
    ),
]
Budget = Annotated[
    int, Field(ge=LEAST_TOKENS, le=MOST_TOKENS, description="Most tokens of stored data in the answer (4 bytes each).")
]
# The longest are the stored forms of namespaces.
Cursor = Annotated[str | None, Field(max_length=PLACE_BYTES, description="`next` of the page before.")]


class Arguments(In):
    """Arguments of a tool. Unknown ones are refused."""

    @model_validator(mode="before")
    @classmethod
    def _null_is_left_out(cls, given: Any) -> Any:
        """Models name every argument, and write null for what they do not mean."""
        if not isinstance(given, dict):
            return given
        return {name: value for name, value in given.items() if value is not None or not cls._has_default(name)}

    @classmethod
    def _has_default(cls, name: str) -> bool:
        """Other than null, which may be meant where it is one."""
        field = cls.model_fields.get(name)
        return field is not None and not field.is_required() and field.get_default(call_default_factory=True) is not None


# Schemas of answers. `stored` is described by each tool.
def marked_schema(description: str) -> dict[str, Any]:
    """Of an answer with stored data."""
    return {
        "type": "object",
        "properties": {
            "notice": {"type": "string"},
            "stored": {"type": "object", "description": description},
            "next": {"type": ["string", "null"], "description": "Cursor of the next page; null: there is none."},
        },
        "required": ["notice", "stored"],
    }


def schema(**fields: Any) -> dict[str, Any]:
    """Of an answer whose `fields` are always there: their types by name."""
    properties = {name: {"type": kind} if isinstance(kind, str) else kind for name, kind in fields.items()}
    return {"type": "object", "properties": properties, "required": list(fields)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """`scope`: what the key needs. `removes`: it can take something away. `repeatable`: a repeated call changes nothing more."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    output: dict[str, Any]
    run: Callable[[Call, Any], Outcome]
    scope: str = READ
    # Some arguments of a tool that can write only read: what these need.
    scope_of: Callable[[Any], str] | None = None
    removes: bool = False
    repeatable: bool = True


def run_tool(tool: Tool, call: Call, arguments: Any) -> Outcome:
    """What the tool answers, refusals included: a model reads them. Runs in a thread of the database."""
    begun = time.perf_counter()
    outcome = _outcome(tool, call, arguments)
    record_call(call, tool.name, arguments, outcome, begun)
    return outcome


def _outcome(tool: Tool, call: Call, arguments: Any) -> Outcome:
    try:
        given = tool.arguments.model_validate(arguments)
        needed = tool.scope if tool.scope_of is None else tool.scope_of(given)
        _admit(call, needed)
        return tool.run(call, given)
    except ValidationError as error:
        return refused(wrong_fields(error, tool.arguments))
    except AppError as error:
        return refused(error)
    except DatabaseError as error:
        return refused(_of_store(tool, error))


def _admit(call: Call, needed: str) -> None:
    """Raises MissingScope, RateExceeded, QuotaExceeded."""
    if needed not in call.caller.scopes:
        raise MissingScope(needed)
    if needed == WRITE:
        request_limits.check_write(call.caller, size=call.size_bytes)


def wrong_fields(error: ValidationError, arguments: type[Arguments]) -> WrongFields:
    """Names fields and reasons, never values; for a field that does not exist, those that do."""
    known = f" The fields are: {', '.join(arguments.model_fields)}."
    return WrongFields(
        [
            {
                "field": ".".join(map(str, item["loc"])) or "arguments",
                "reason": reason_of(item) + (known if item["type"] == "extra_forbidden" and len(item["loc"]) == 1 else ""),
            }
            for item in error.errors()
        ]
    )


def _of_store(tool: Tool, error: DatabaseError) -> AppError:
    known = as_app_error(error)
    if known is None:
        logger.error("a tool failed: %s (%s)", tool.name, type(error).__name__, exc_info=error)
        return AppError("The server failed at this call. Its log says why. Go on without it.")
    leave_read_only(known)
    tell_refusal("tool", known, error)
    return known
