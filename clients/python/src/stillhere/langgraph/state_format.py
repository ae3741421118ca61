"""LangGraph's checkpoints as the API's, and back.

A channel's value is sent under its version, once. Short plain values stay inside the checkpoint, where they take less than a
row of their own, and so does a value without a version.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pybase64
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol

SHORT = 200
type Values = Mapping[tuple[str, str, str], Any]


class Place(NamedTuple):
    """Where a checkpoint is. `id`: empty for the latest."""

    thread: str
    ns: str
    id: str

    @classmethod
    def of(cls, config: RunnableConfig) -> "Place":
        named = config["configurable"]
        return cls(str(named["thread_id"]), named.get("checkpoint_ns") or "", named.get("checkpoint_id") or "")

    def config(self) -> RunnableConfig:
        return {"configurable": {"thread_id": self.thread, "checkpoint_ns": self.ns, "checkpoint_id": self.id}}


def typed(serde: SerializerProtocol, value: Any) -> dict[str, str]:
    name, content = serde.dumps_typed(value)
    return {"type": name, "base64": pybase64.b64encode_as_string(content)}


def untyped(serde: SerializerProtocol, sent: Mapping[str, Any]) -> Any:
    """As MessagePack has it, or JSON."""
    content = sent["data"] if "data" in sent else pybase64.b64decode(sent["base64"], validate=True)
    return serde.loads_typed((sent["type"], content))


def checkpoint_body(
    serde: SerializerProtocol, checkpoint: Checkpoint, metadata: Any, parent: str, new_versions: ChannelVersions
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The body of a PUT, and the values that it refers to without sending them, which the server should have."""
    values = checkpoint["channel_values"]
    versions = checkpoint["channel_versions"]
    apart = {name: value for name, value in values.items() if name in versions and not _is_short(value)}
    inside = {**checkpoint, "channel_values": {name: value for name, value in values.items() if name not in apart}}
    body = {
        "parent": parent or None,
        "checkpoint": typed(serde, inside),
        "metadata": metadata,
        "versions": {name: str(versions[name]) for name in apart},
        "values": {name: typed(serde, value) for name, value in apart.items() if name in new_versions},
    }
    return body, {name: value for name, value in apart.items() if name not in new_versions}


def values_of(serde: SerializerProtocol, answer: Mapping[str, Any]) -> Values:
    """Of an answer with one or many checkpoints: each is read for each checkpoint, because graphs change them."""
    return {(each["ns"], each["channel"], each["version"]): each for each in answer["values"]}


def as_tuple(serde: SerializerProtocol, thread: str, item: Mapping[str, Any], values: Values) -> CheckpointTuple:
    place = Place(thread, item["ns"], item["id"])
    checkpoint: Checkpoint = untyped(serde, item["checkpoint"])
    found = {
        name: untyped(serde, values[place.ns, name, version])
        for name, version in item["versions"].items()
        if (place.ns, name, version) in values
    }
    return CheckpointTuple(
        config=place.config(),
        checkpoint={**checkpoint, "channel_values": {**checkpoint["channel_values"], **found}},
        metadata=item["metadata"],
        parent_config=place._replace(id=item["parent"]).config() if item["parent"] else None,
        pending_writes=[(write["task"], write["channel"], untyped(serde, write)) for write in item["writes"]],
    )


def _is_short(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= SHORT)
