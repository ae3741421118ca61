"""Tools of the errors that an agent meets."""

from typing import Annotated, Any

from pydantic import Field

from mcp_app.core.calls import Call
from mcp_app.core.outcomes import Outcome, answered, stored
from mcp_app.core.places import known_project, project_to_write
from mcp_app.core.tool import WRITE, Arguments, ProjectName, Tool, marked_schema, schema
from memory_app.errors.known_fixes import similar_fixes
from memory_app.errors.queries import ErrorNotFound, error_detail, get_error
from memory_app.errors.services import NewError, record_errors
from memory_app.errors.state_changes import Act, Change, change_error


class RecordArguments(Arguments):
    message: Annotated[str, Field(min_length=1, description="As it was printed.")]
    kind: Annotated[str, Field(description="Its type, such as `TypeError`; left out: read from the message.")] = ""
    stack: Annotated[str | None, Field(description="The stack as it was printed.")] = None
    project: ProjectName = None


class ResolveArguments(Arguments):
    fingerprint: Annotated[
        str, Field(min_length=1, max_length=128, description="Of the error, as `error_record` or `session_brief` returned it.")
    ]
    known_fix: Annotated[str, Field(max_length=10_000, description="What fixed it, for the next time.")] = ""
    project: ProjectName = None


class UnknownError(ErrorNotFound):
    message = (
        "This project has no error with this fingerprint; one that was not seen for 30 days is gone. `error_record` and "
        "`session_brief` return fingerprints."
    )


def error_record(call: Call, given: RecordArguments) -> Outcome:
    """The known fix of an error that was seen before comes back with it."""
    project_id = project_to_write(call, given.project)
    error = NewError(given.message, given.kind, given.stack)
    done = record_errors(caller=call.caller, project_id=project_id, errors=[error], run_id=call.run_id)
    [fingerprint] = done.fingerprints
    head: dict[str, Any] = {
        "fingerprint": fingerprint,
        "new": bool(done.new),
        "reopened": bool(done.reopened),
        "redacted": done.redacted,
    }
    if fingerprint is None:
        return stored("A noise rule covers this error: it is only counted.", {}, **head)
    known = get_error(caller=call.caller, project_id=project_id, fingerprint=fingerprint)
    said = "Recorded a new error." if done.new else f"Recorded: seen {known.count} times."
    content: dict[str, Any] = {"count": known.count, "known_fix": known.known_fix}
    if known.known_fix:
        return stored(f"{said} It has a known fix.", content, **head)
    if (similar := similar_fixes(project_id, [known]).get(known.pk)) is None:
        return stored(said, content, **head)
    return stored(f"{said} A similar error has a known fix.", {**content, "similar_fix": similar.as_json()}, **head)


def error_resolve(call: Call, given: ResolveArguments) -> Outcome:
    project_id = known_project(call, given.project)
    try:
        error, redacted = change_error(
            caller=call.caller,
            project_id=project_id,
            fingerprint=given.fingerprint,
            change=Change(Act.RESOLVE, given.known_fix),
            run_id=call.run_id,
        )
    except ErrorNotFound:
        raise UnknownError from None
    state = error_detail(error)["state"]
    return answered("Resolved, until it is seen again.", fingerprint=error.fingerprint, state=state, redacted=redacted)


_RECORDED = marked_schema("`count`, `known_fix`; without one `similar_fix`, that of a similar error, if there is one.")
_RECORDED["properties"] |= {
    "fingerprint": {"type": ["string", "null"], "description": "Null: a noise rule covers it."},
    "new": {"type": "boolean"},
    "reopened": {"type": "boolean"},
    "redacted": {"type": "object"},
}

ERROR_TOOLS = (
    Tool(
        name="error_record",
        title="Record an error",
        description=(
            "Record an error that you met. If it was seen before, the answer has its known fix: call this before you investigate."
        ),
        arguments=RecordArguments,
        output=_RECORDED,
        run=error_record,
        scope=WRITE,
        repeatable=False,
    ),
    Tool(
        name="error_resolve",
        title="Resolve an error",
        description="Mark an error as fixed, with `known_fix`: what you did. It opens again if it is seen again.",
        arguments=ResolveArguments,
        output=schema(fingerprint="string", state="string", redacted="object"),
        run=error_resolve,
        scope=WRITE,
    ),
)
