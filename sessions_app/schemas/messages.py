from typing import Annotated, Any

from ninja import Query, Schema
from pydantic import Field, WithJsonSchema

from sessions_app.models.message import FORMAT_LENGTH, MESSAGE_ID_LENGTH, TEXT_LENGTH, WRITER_ID_LENGTH, Role, Status
from sessions_app.schemas.common import In, Tolerant

BIGGEST = 2**53 - 1
# Of the log and of revs: what is left out is none.
SINCE: int = Query(0, ge=0, le=BIGGEST)  # type: ignore[type-arg]
SINCE_REV: int | None = Query(None, ge=0, le=BIGGEST)  # type: ignore[type-arg]
Counter = Annotated[int, Field(ge=0, le=BIGGEST)]
OpeningStepChange = Annotated[str, Field(max_length=64)]


WriterId = Annotated[str, Field(min_length=1, max_length=WRITER_ID_LENGTH, description="UUID of the page load or agent run.")]
Seq = Annotated[int, Field(ge=1, le=BIGGEST, description="Counts this writer's requests to this session, from 1.")]


class WriterIn(In):
    """Who writes, and which of their requests this is."""

    epoch: Annotated[int, Field(ge=1, le=BIGGEST)]
    writer_id: WriterId
    seq: Seq


def _object(required: list[str], **fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": required}


def _op(name: str, required: list[str], **fields: dict[str, Any]) -> dict[str, Any]:
    return _object(["op", *required], op={"const": name}, **fields)


_ID = {"type": "string", "minLength": 1, "maxLength": MESSAGE_ID_LENGTH}
_IF_VER = {"type": "integer", "description": "The `ver` that the writer knows; 0: it must be new."}
_MESSAGE: dict[str, dict[str, Any]] = {
    "id": _ID,
    "role": {"enum": Role.values},
    "text": {"type": "string", "maxLength": TEXT_LENGTH, "description": "Left out: the text parts joined."},
    "parts": {"type": "array", "items": {"type": "object"}, "description": "Kept as given."},
    "metadata": {"description": "Any JSON, kept as given."},
    "format": {"type": "string", "maxLength": FORMAT_LENGTH, "description": "Which framework's shape `raw` has."},
    "raw": {"description": "Any JSON, kept as given."},
    "parent_id": _ID,
    "status": {"enum": Status.values, "default": Status.COMPLETE.value},
    "if_ver": _IF_VER,
}
# Described here and read in `services/sent.py`: what is wrong with one must not refuse the others.
Op = Annotated[
    Any,
    WithJsonSchema(
        {
            "oneOf": [
                _op("upsert", ["id", "role"], **_MESSAGE),
                _op("delete", ["id"], id=_ID, if_ver=_IF_VER),
                _op("truncate", ["after"], after={"anyOf": [_ID, {"type": "null"}], "description": "null: all."}),
            ]
        }
    ),
]
Sent = Annotated[Any, WithJsonSchema(_object(["id", "role"], **_MESSAGE))]


class ChangesIn(WriterIn, Tolerant):
    base_rev: Counter = Field(
        0,
        description=(
            "The newest rev that this writer has seen whole. What others changed after it makes a conflict of an upsert "
            "without `if_ver`, and is spared by a truncate."
        ),
    )
    ops: list[Op] = Field(
        default_factory=list,
        description="Done in order. An op that cannot be read is named in `rejected`; the others are saved.",
    )
    opening_step: OpeningStepChange | None = None


class WholeSessionIn(WriterIn, Tolerant):
    base_rev: Counter = 0
    messages: list[Sent] = Field(description="Messages as in an upsert; those left out stay, or go with `?mode=replace`.")
    opening_step: OpeningStepChange | None = None


class MessageOut(Schema):
    id: str
    role: str
    text: str
    parts: list[dict[str, Any]]
    metadata: Any = Field(None, description="Absent where none was saved.")
    format: str | None = Field(None, description="Absent where none was saved.")
    raw: Any = Field(None, description="Absent where none was saved.")
    parent_id: str | None = Field(None, description="Absent where none was saved.")
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
    next: str | None = Field(description="The message id to go on from, in the same direction.")
    skipped: list[Skipped]


class ChangedMessages(Schema):
    """What changed after `since_rev`. Where `more`, ask again with `since_rev` = this answer's `rev`."""

    items: list[MessageOut]
    removed: list[str]
    epoch: int
    rev: int
    more: bool
    next: str | None
    skipped: list[Skipped]


class Applied(Schema):
    id: str
    ver: int
    removed: str | None = None


class Ignored(Schema):
    id: str
    reason: str
    server: dict[str, Any] | None = None


class ConflictOut(Schema):
    id: str
    server: dict[str, Any]
    copy_id: str | None


class RejectedOut(Schema):
    id: str | None
    index: int
    reason: str
    message: str = Field(description="The reason as a sentence.")


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
    dropped: list[str] = Field(description="The oldest, taken out because the session has reached its hard cap.")
    normalized: list[str]
    redacted: dict[str, int] = Field(
        description="How many secrets of which kind were found: pointed out or, by the project's setting, taken out."
    )
