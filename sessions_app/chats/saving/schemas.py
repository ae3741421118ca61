from typing import Annotated, Any

from ninja import Query, Schema
from pydantic import Field, WithJsonSchema

from sessions_app.chats.saving.message_input import AS_READ, MOST_POPPED
from sessions_app.core.web.schemas import BIGGEST, In
from sessions_app.formats.registry import FORMATS
from sessions_app.models.message import FORMAT_LENGTH, MESSAGE_ID_LENGTH, ROLES, TEXT_LENGTH, WRITER_ID_LENGTH, Status
from sessions_app.models.session import EXTERNAL_ID_LENGTH, TITLE_LENGTH
from sessions_app.projects.schemas import Path


class FlushTokenOut(Schema):
    flush_token: str
    expires_at: str


AS: str | None = Query(  # type: ignore[type-arg]
    None, alias="as", description=f"Return them as the objects of one framework: {', '.join(FORMATS)}."
)
REPAIR: bool = Query(False, description="With `as`: give calls of tools that have no output one, so that a model accepts them.")  # type: ignore[type-arg]
SINCE_REV: int | None = Query(None, ge=0, le=BIGGEST)  # type: ignore[type-arg]
IF_REV: int | None = Query(None, ge=0, le=BIGGEST, description="Nothing is done (412) unless this is the session's rev.")  # type: ignore[type-arg]
HEAD: str | None = Query(  # type: ignore[type-arg]
    None, min_length=1, max_length=MESSAGE_ID_LENGTH, description="The path to this message, in place of the session's head."
)
BRANCHES: bool = Query(False, description="The messages of all branches, by position, each with what it `follows`.")  # type: ignore[type-arg]
Counter = Annotated[int, Field(ge=0, le=BIGGEST)]
OpeningStepChange = Annotated[str, Field(max_length=64)]

WriterId = Annotated[str, Field(min_length=1, max_length=WRITER_ID_LENGTH, description="UUID of the page load or agent run.")]
Seq = Annotated[int, Field(ge=1, le=BIGGEST, description="Counts this writer's requests to this session, from 1.")]


class WriterIn(In):
    """The writer and the number of its request: all three, or the header `Idempotency-Key` instead of the last two."""

    epoch: (
        Annotated[int, Field(ge=1, le=BIGGEST, description="The session's. With `Idempotency-Key` it may be left out.")] | None
    ) = None
    writer_id: WriterId | None = None
    seq: Seq | None = None


def _object(required: list[str], **fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": required, "additionalProperties": False}


def _op(name: str, required: list[str], **fields: dict[str, Any]) -> dict[str, Any]:
    return _object(["op", *required], op={"const": name}, **fields)


_ID = {"type": "string", "minLength": 1, "maxLength": MESSAGE_ID_LENGTH}
_IF_VER = {"type": "integer", "description": "The `ver` that the writer knows; 0: the message must be new."}
_IF_WRITE = _object(["writer_id", "seq"], writer_id={"type": "string"}, seq={"type": "integer"})
_IF_WRITE["description"] = "The other writer, and the newest request of it, that this writer has seen before the server had it."
_MESSAGE: dict[str, dict[str, Any]] = {
    "id": _ID,
    "role": {"enum": sorted(ROLES), "description": "user or assistant; with a known `format` any role of it, or left out."},
    "text": {"type": "string", "maxLength": TEXT_LENGTH, "description": "Left out: the text parts joined."},
    "parts": {"type": "array", "items": {"type": "object"}, "description": "Kept as given."},
    "metadata": {"description": "Any JSON, kept as given."},
    "format": {
        "type": "string",
        "maxLength": FORMAT_LENGTH,
        "description": f"What `raw` is. Known ones: {', '.join(FORMATS)}. Role, text and parts then follow from `raw`.",
    },
    "raw": {"description": "A framework's own message: any JSON, kept as given, numbers as written."},
    "parent_id": {
        "anyOf": [_ID, {"type": "null"}],
        "description": "The message that it follows; null: none. Left out: the session's head.",
    },
    "status": {"enum": Status.values, "default": Status.COMPLETE.value},
    "if_ver": _IF_VER,
    "if_write": _IF_WRITE,
    **{name: {"readOnly": True, "description": "As it was read; ignored."} for name in sorted(AS_READ)},
}
_PATCHED: dict[str, dict[str, Any]] = {
    name: {"anyOf": [_ID if name == "parent_id" else shape, {"type": "null"}], "description": "null: removed."}
    if name in {"parts", "metadata", "format", "raw", "parent_id"}
    else shape
    for name, shape in _MESSAGE.items()
    if name not in AS_READ
}
_PATCHED |= {"status": {"enum": Status.values}, "text": {"type": "string", "maxLength": TEXT_LENGTH}}
_POPPED = {"type": "integer", "minimum": 1, "maximum": MOST_POPPED, "default": 1, "description": "How many of the newest."}
_AT = {
    "type": "integer",
    "minimum": 0,
    "description": "The length of the stored text that `text` follows, in Unicode code points. Only for a streaming message.",
}
# Described here and validated in `chats/saving/message_input.py`: an invalid one must not refuse the others.
Op = Annotated[
    Any,
    WithJsonSchema(
        {
            "oneOf": [
                _op("upsert", ["id"], **_MESSAGE),
                _op("patch", ["id"], **_PATCHED),
                _op("append", ["id", "at", "text"], id=_ID, at=_AT, text=_MESSAGE["text"], if_ver=_IF_VER),
                _op("delete", ["id"], id=_ID, if_ver=_IF_VER, if_write=_IF_WRITE),
                _op("truncate", ["after"], after={"anyOf": [_ID, {"type": "null"}], "description": "null: all."}),
                _op("pop", [], n=_POPPED),
            ]
        }
    ),
]
Sent = Annotated[Any, WithJsonSchema(_object(["id"], **_MESSAGE))]


class SessionToCreateIn(In):
    """The session that is created if there is none with the id in the address."""

    project: Path = Field(description="The path or the id of a project of yours.")
    external_id: Annotated[str, Field(min_length=1, max_length=EXTERNAL_ID_LENGTH)] | None = None
    title: Annotated[str, Field(max_length=TITLE_LENGTH)] = ""
    current: bool = Field(True, description="false: the project's current session stays the current one.")
    new_project: bool = Field(False, description="true: a project that does not exist is created too.")


class SessionChangeIn(In):
    """Fields of the session that change in the same transaction; omitted ones stay."""

    title: Annotated[str, Field(max_length=TITLE_LENGTH)] | None = None
    metadata: dict[str, Any] | None = Field(None, description="A JSON Merge Patch of the session's; null removes all.")
    tags: list[str] | None = Field(None, description="All of the session's tags.")
    head: Annotated[str, Field(min_length=1, max_length=MESSAGE_ID_LENGTH)] | None = Field(
        None, description="The message that becomes the head, once the ops were applied. It may be one of them."
    )


IfRev = Annotated[Counter | None, Field(description="Nothing is saved (412) unless this is the session's rev.", exclude=True)]
Atomic = Annotated[bool, Field(description="Nothing is saved (422 `rejected`) if an op is invalid.", exclude=True)]


class FlushIn(WriterIn):
    """New optional fields here need `exclude=True`, so that a retry of a request sent before the field existed is still
    recognised (see `identity_of`)."""

    base_rev: Counter = Field(
        0,
        description=(
            "The newest rev that this writer has seen completely. Later changes by others make an upsert without `if_ver` "
            "a conflict, and a truncate spares them."
        ),
    )
    ops: list[Op] = Field(
        default_factory=list,
        description="Applied in order. Invalid ops are listed in `rejected` with a reason; the others are saved.",
    )
    opening_step: OpeningStepChange | None = None
    # Credentials of a beacon, whose request may be retried here unchanged.
    csrf: str | None = Field(None, exclude=True, description="Used by `flush` only.")
    flush_token: str | None = Field(None, exclude=True, description="Used by `flush` only.")


class ChangesIn(FlushIn):
    """What is not in a beacon, whose sender reads no answer. The same rule for new fields."""

    if_rev: IfRev = None
    atomic: Atomic = False
    create: SessionToCreateIn | None = Field(None, exclude=True, description="Creates the session if there is none with this id.")
    session: SessionChangeIn | None = Field(None, exclude=True, description="Changes fields of the session.")


class WholeSessionIn(WriterIn):
    base_rev: Counter = 0
    messages: list[Sent] = Field(description="Messages as in an upsert; omitted ones stay, or are removed with `?mode=replace`.")
    opening_step: OpeningStepChange | None = None
    if_rev: IfRev = None
    atomic: Atomic = False


class Siblings(Schema):
    """The messages that follow the same one, in the order in which they were saved, itself included."""

    index: int = Field(description="From 1.")
    count: int
    previous: str | None = Field(description="The id of the one before it.")
    next: str | None


class MessageOut(Schema):
    id: str
    role: str
    text: str
    parts: list[dict[str, Any]]
    metadata: Any = Field(None, description="Absent where none was saved.")
    format: str | None = Field(None, description="Absent where none was saved.")
    raw: Any = Field(None, description="Absent where none was saved.")
    parent_id: str | None = Field(None, description="Absent where none was saved; null: it follows none.")
    siblings: Siblings | None = Field(None, description="In a read of a path: absent if it has none.")
    follows: str | None = Field(None, description="With `branches`: the message that it follows, null if none.")
    flagged: dict[str, int] | None = Field(None, description="Secrets found in it, by kind; absent where none were.")
    ver: int
    rev: int
    status: str = Field(description="streaming, complete or interrupted.")
    created_at: str
    updated_at: str
    position: int


class Skipped(Schema):
    id: str
    reason: str


class MessageList(Schema):
    items: list[MessageOut]
    next: str | None = Field(description="The message id to continue from, in the same direction.")
    skipped: list[Skipped]


class PartialMessageList(MessageList):
    items: list[dict[str, Any]] = Field(description="With `fields`.")  # type: ignore[assignment]


class LossOut(Schema):
    """What the format cannot express. `part`: its number in the message; null: of the message itself."""

    id: str
    part: int | None
    reason: str


class ConvertedMessages(Schema):
    """`items`: a framework's own objects in order. `ids`: for each the ids of the messages that it came from."""

    items: list[Any]
    ids: list[list[str]]
    losses: list[LossOut]
    next: str | None
    skipped: list[Skipped]


class ChangedMessages(Schema):
    """Changes after `since_rev`. If `more`, request again with `since_rev` = this answer's `rev`."""

    items: list[MessageOut]
    removed: list[str]
    epoch: int
    rev: int
    head: str | None = Field(None, description="Absent if the session has no branches; null: its path is empty.")
    more: bool
    next: str | None
    skipped: list[Skipped]


class Applied(Schema):
    id: str
    ver: int
    removed: str | None = None
    length: int | None = Field(None, description="Of an append: the text's length now, in Unicode code points.")


class Ignored(Schema):
    id: str
    reason: str
    server: dict[str, Any] | None = None


class ConflictOut(Schema):
    id: str
    server: dict[str, Any]
    copy_id: str | None
    length: int | None = Field(None, description="Of an append: the length of the stored text, in Unicode code points.")


class RejectedOut(Schema):
    id: str | None
    index: int
    reason: str
    message: str = Field(description="The reason as a sentence.")
    field: str | None = Field(None, description="For `unknown_field`: its name.")


class SaveOut(Schema):
    session: str
    epoch: int
    prev_rev: int
    rev: int
    saved_at: str
    applied: list[Applied]
    ignored: list[Ignored]
    conflicts: list[ConflictOut]
    rejected: list[RejectedOut]
    spared: list[str]
    head: str | None = Field(None, description="Absent if the session has no branches; null: its path is empty.")
    siblings: dict[str, Siblings] | None = Field(
        None, description="Of the saved messages that have some, by id. Absent if the session has no branches."
    )
    dropped: list[str] = Field(description="The oldest messages, removed because the session has reached its hard cap.")
    popped: list[MessageOut] | None = Field(
        None, description="The messages that pops removed, as they were, oldest first in each; absent without a pop."
    )
    normalized: list[str]
    redacted: dict[str, int] = Field(
        description="Number of secrets found, by kind: reported or, by the project's setting, removed."
    )
