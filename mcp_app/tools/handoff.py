"""Tools of a project's handoff: what the next session, or another agent, has to know."""

from typing import Annotated, Any, Literal

from pydantic import Field

from mcp_app.core.calls import Call
from mcp_app.core.outcomes import Outcome, answered, plain
from mcp_app.core.parts import PartArguments, Parts, within_budget
from mcp_app.core.places import known_project, project_to_write
from mcp_app.core.tool import WRITE, Arguments, ProjectName, Tool, marked_schema, schema
from sessions_app.agents.handoff.queries import SnapshotNotFound, get_handoff, get_snapshot, handoff_json, snapshot_json
from sessions_app.agents.handoff.schemas import Short, Words
from sessions_app.agents.handoff.services import add_item, freeze_handoff, update_handoff
from sessions_app.core.errors import Invalid
from sessions_app.core.redaction import redact

_LISTS = {"decision": "decisions", "file": "files", "risk": "risks"}
_FIELDS = {"decision": ("rationale", "rejected"), "file": ("note",), "risk": (), "summary": ()}
_PARTS = ("decisions", "files", "risks", "summary")
_DRIFT = ("added", "removed", "changed")
_OTHERS = ("rationale", "rejected", "note")


class GetArguments(PartArguments):
    project: ProjectName = None
    part: Annotated[
        Literal["decisions", "files", "risks", "summary", "added", "removed", "changed"] | None,
        Field(
            description=(
                "Only this, page by page; left out: all, as much as the budget allows. `added`, `removed` and `changed` are the "
                "`drift` of a frozen handoff."
            )
        ),
    ] = None
    number: Annotated[
        int | None, Field(ge=1, description="Of a frozen handoff, as `handoff_freeze` returned it; left out: the live one.")
    ] = None


class AddArguments(Arguments):
    kind: Annotated[Literal["decision", "file", "risk", "summary"], Field(description="`summary` replaces the summary.")]
    text: Annotated[Words, Field(description="The decision, the risk or the summary; of a file its path.")]
    rationale: Annotated[Short | None, Field(description="Why; of a decision.")] = None
    rejected: Annotated[list[str] | None, Field(description="What else was considered; of a decision.")] = None
    note: Annotated[Short | None, Field(description="What matters about it; of a file.")] = None
    project: ProjectName = None


class FreezeArguments(Arguments):
    project: ProjectName = None


class UnknownSnapshot(SnapshotNotFound):
    message = "This project has no frozen handoff with this number. Leave `number` out for the live one."


def handoff_get(call: Call, given: GetArguments) -> Outcome:
    project_id = known_project(call, given.project)
    live = get_handoff(caller=call.caller, project_id=project_id)
    if given.number is None:
        if given.part in _DRIFT:
            raise Invalid(f"`{given.part}` is of a frozen handoff: name its `number` too.", details={"field": "part"})
        content = plain(handoff_json(live))
        parts = {name: content.pop(name) for name in _PARTS}
        return within_budget(f"The live handoff, rev {live.rev}.", content, parts, given)
    try:
        snapshot = get_snapshot(caller=call.caller, project_id=project_id, number=given.number)
    except SnapshotNotFound:
        raise UnknownSnapshot from None
    content = plain(snapshot_json(snapshot, live))
    parts = content.pop("payload") | content.pop("drift")
    return within_budget(f"Frozen handoff {snapshot.number}; `drift` says what changed since.", content, parts, given, _frozen)


def _frozen(parts: Parts) -> dict[str, Any]:
    drift = {name: parts[name] for name in _DRIFT}
    return {"payload": {name: part for name, part in parts.items() if name not in drift}, "drift": drift}


def handoff_add(call: Call, given: AddArguments) -> Outcome:
    others = {name: getattr(given, name) for name in _OTHERS if getattr(given, name) is not None}
    if strange := sorted(others.keys() - set(_FIELDS[given.kind])):
        raise Invalid(f"A {given.kind} has no `{strange[0]}`. Leave it out.", details={"field": strange[0]})
    project_id = project_to_write(call, given.project)
    if given.kind == "summary":
        live, redacted = update_handoff(caller=call.caller, project_id=project_id, fields={"summary": given.text})
        return answered("The summary is set.", kind=given.kind, merged=False, rev=live.rev, redacted=redacted)
    item: dict[str, Any] = {"path" if given.kind == "file" else "text": given.text, **others}
    edited = add_item(caller=call.caller, project_id=project_id, kind=_LISTS[given.kind], item=item)
    said = (
        f"The handoff had this {given.kind} already.{_kept(edited.item, others)}" if edited.merged else f"Added a {given.kind}."
    )
    more = {"kind": given.kind, "merged": edited.merged, "rev": edited.rev, "redacted": edited.redacted}
    return answered(said, id=edited.item["id"], **more)


def _kept(item: dict[str, Any], others: dict[str, Any]) -> str:
    """An item that is there keeps what it has, and takes only what it lacks."""
    clean, _ = redact(others)
    kept = [f"`{name}`" for name, value in clean.items() if value and item.get(name) != value]
    if not kept:
        return ""
    return f" Its {' and '.join(kept)} stays as it was: yours is not stored. Add what it says as a decision or a risk of its own."


def handoff_freeze(call: Call, given: FreezeArguments) -> Outcome:
    frozen = freeze_handoff(caller=call.caller, project_id=known_project(call, given.project))
    return answered(f"Frozen as handoff {frozen.number}.", number=frozen.number, sha256=frozen.sha256)


HANDOFF_TOOLS = (
    Tool(
        name="handoff_get",
        title="Read the handoff",
        description=(
            "Read the decisions, files, risks and summary that earlier agents left. Call it before you change something that "
            "may have been decided already."
        ),
        arguments=GetArguments,
        output=marked_schema(
            "`decisions`, `files`, `risks`, `summary`, `rev`; of a frozen one `payload` and `drift`; `omitted`."
        ),
        run=handoff_get,
    ),
    Tool(
        name="handoff_add",
        title="Add to the handoff",
        description=(
            "Write down a decision (with its reason), an important file or a risk, at the moment it comes up: the next agent "
            "does not see this conversation. The same text is added once."
        ),
        arguments=AddArguments,
        output=schema(kind="string", merged="boolean", rev="integer", redacted="object"),
        run=handoff_add,
        scope=WRITE,
    ),
    Tool(
        name="handoff_freeze",
        title="Freeze the handoff",
        description="Keep the handoff as it is now, for good. Call it before the context is compacted, and when the work ends.",
        arguments=FreezeArguments,
        output=schema(number="integer", sha256="string"),
        run=handoff_freeze,
        scope=WRITE,
        repeatable=False,
    ),
)
