"""Schemas of checkpoints, and how bodies become what services take."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import pybase64
from ninja import Schema
from pydantic import Field

from memory_app.checkpoints.names import checked
from memory_app.checkpoints.rows import Place, Typed
from memory_app.checkpoints.services import NewCheckpoint, NewWrite
from memory_app.models.graph_thread import CHANNEL_BYTES, ID_BYTES, METADATA_BYTES, PATH_BYTES, THREAD_BYTES, TYPE_BYTES
from sessions_app.core.errors import Invalid, TooLarge
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.serialization.strict_json import REPLACEMENT
from sessions_app.core.web.schemas import In

MOST_CHANNELS, MOST_WRITES, MOST_RUNS = 10_000, 10_000, 500
LARGEST = 2**31 - 1

Base64 = Annotated[str, Field(description="The bytes, in standard base64 with padding.")]


class TypedIn(In):
    """Bytes, and by which serialization they were made."""

    type: str
    base64: Base64

    def typed(self, field: str) -> Typed:
        try:
            return Typed(checked(self.type, "type", TYPE_BYTES), pybase64.b64decode(self.base64, validate=True))
        except ValueError:
            raise Invalid("`base64` has bytes in standard base64, with padding.", details={"field": field}) from None


class CheckpointIn(In):
    """`versions`: the version of every channel that has a value in this checkpoint. `values`: of the channels whose version is
    new in this thread."""

    parent: str | None = None
    checkpoint: TypedIn
    metadata: dict[str, Any] = {}
    versions: Annotated[dict[str, str], Field(max_length=MOST_CHANNELS)] = {}
    values: Annotated[dict[str, TypedIn], Field(max_length=MOST_CHANNELS)] = {}

    def new(self, place: Place, replaced: Sequence[str]) -> NewCheckpoint:
        """`replaced`: where in the body characters were replaced."""
        _refuse_replaced(replaced)
        for channel, version in self.versions.items():
            checked(channel, "channel", CHANNEL_BYTES)
            checked(version, "version", ID_BYTES)
        if unversioned := sorted(self.values.keys() - self.versions.keys()):
            raise Invalid("A value needs its version in `versions`.", details={"field": f"values.{unversioned[0][:64]}"})
        metadata = json_text(self.metadata)
        if len(metadata.encode()) > METADATA_BYTES:
            details = {"size_bytes": len(metadata.encode()), "limit": METADATA_BYTES}
            raise TooLarge(f"The metadata of a checkpoint have at most {METADATA_BYTES} bytes of JSON.", details=details)
        run_id = self.metadata.get("run_id")
        is_id = isinstance(run_id, str) and 0 < len(run_id.encode()) <= ID_BYTES and "\0" not in run_id
        return NewCheckpoint(
            place=place,
            parent="" if self.parent is None else checked(self.parent, "parent", ID_BYTES),
            typed=self.checkpoint.typed("checkpoint"),
            metadata=metadata,
            run_id=str(run_id) if is_id else "",
            versions=self.versions,
            values={channel: value.typed(f"values.{channel[:64]}") for channel, value in self.values.items()},
        )


class WriteIn(TypedIn):
    """`idx`: the write's number. Of two with one number the first stays; a negative one is replaced."""

    idx: Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
    channel: str


class WritesIn(In):
    """What a task wrote. `path`: where in the graph the task is; writes are returned in the order of path, task and number."""

    path: str = ""
    writes: Annotated[list[WriteIn], Field(max_length=MOST_WRITES)]

    def new(self, replaced: Sequence[str]) -> list[NewWrite]:
        _refuse_replaced(replaced)
        if self.path:
            checked(self.path, "path", PATH_BYTES)
        return [
            NewWrite(each.idx, checked(each.channel, "channel", CHANNEL_BYTES), each.typed(f"writes.{number}"))
            for number, each in enumerate(self.writes)
        ]


class CopyIn(In):
    """`to`: the name of a thread without checkpoints and writes."""

    to: str

    def target(self) -> str:
        """Raises 422, also for U+FFFD: NUL and half characters have become this, and no address has it."""
        if REPLACEMENT in self.to:
            raise Invalid("A thread's name has no NUL, no half characters and no U+FFFD.", details={"field": "to"})
        return checked(self.to, "to", THREAD_BYTES)


class PruneIn(In):
    """`keep_latest`: the newest checkpoint of each namespace stays, with what its delta channels are rebuilt from. `delete`: none
    stays."""

    strategy: Literal["keep_latest", "delete"] = "keep_latest"


class RunsIn(In):
    run_ids: Annotated[list[str], Field(max_length=MOST_RUNS)]


class TypedOut(Schema):
    type: str
    base64: str


class ValueOut(TypedOut):
    ns: str
    channel: str
    version: str


class WriteOut(TypedOut):
    task: str
    path: str
    idx: int
    channel: str


class CheckpointItem(Schema):
    """`versions`: by channel; their values are in `values` of the response. `writes`: by path, task and number."""

    ns: str
    id: str
    parent: str | None
    created_at: str
    checkpoint: TypedOut
    metadata: dict[str, Any] | None
    versions: dict[str, str] | None
    writes: list[WriteOut]


class CheckpointOut(CheckpointItem):
    values: list[ValueOut]


class CheckpointList(Schema):
    """`values`: each once, however many checkpoints refer to it."""

    items: list[CheckpointItem]
    values: list[ValueOut]
    next: str | None


class CheckpointSaved(Schema):
    """`differs`: channels whose version was stored before with other bytes; these stay."""

    ns: str
    id: str
    created: bool
    differs: list[str]


class WritesSaved(Schema):
    """How many of the writes were stored: those that were there before are not."""

    stored: int


class ThreadOut(Schema):
    thread: str
    size_bytes: int
    created_at: str
    updated_at: str


class ThreadList(Schema):
    items: list[ThreadOut]
    next: str | None


class CopiedOut(Schema):
    """How many checkpoints were copied."""

    copied: int


class DeletedCount(Schema):
    """How many checkpoints were erased."""

    deleted: int


def _refuse_replaced(replaced: Sequence[str]) -> None:
    if wrong := next((path for path in replaced if not path.startswith("metadata")), None):
        raise Invalid("Names and types have no NUL and no half characters.", details={"field": wrong})
