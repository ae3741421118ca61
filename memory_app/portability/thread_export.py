"""Threads of checkpoints as part of an account's export: bytes come back as they were, sizes are counted again."""

import json
import uuid
from collections.abc import Mapping
from typing import Any

from memory_app.checkpoints import rows
from memory_app.checkpoints.names import checked
from memory_app.models import ChannelValue, Checkpoint, GraphThread, PendingWrite
from memory_app.models.graph_thread import CHANNEL_BYTES, ID_BYTES, METADATA_BYTES, NS_BYTES, PATH_BYTES, THREAD_BYTES, TYPE_BYTES
from sessions_app.core.errors import Invalid
from sessions_app.core.serialization.stored_json import read_object
from sessions_app.portability.content_kinds import Kind
from sessions_app.portability.secret_removal import WrongValue

_LIMITS = {
    "ns": NS_BYTES,
    "name": THREAD_BYTES,
    "channel": CHANNEL_BYTES,
    "version": ID_BYTES,
    "checkpoint_id": ID_BYTES,
    "task_id": ID_BYTES,
    "type": TYPE_BYTES,
}
_MAY_BE_EMPTY = {"parent_id": ID_BYTES, "run_id": ID_BYTES, "task_path": PATH_BYTES}


def settle_threads(project_id: uuid.UUID) -> int:
    """Counts the bytes of imported threads. Returns their sum."""
    return rows.settle_sizes(project_id)


def _clean_thread(values: dict[str, Any]) -> None:
    _check_names(values, "name")


def _clean_bytes(values: dict[str, Any]) -> None:
    """Of a value or a write."""
    named = ("ns", "channel", "type", *(("version",) if "version" in values else ("checkpoint_id", "task_id")))
    _check_names(values, *named)
    values["size_bytes"] = _bytes_of(values, *named, "task_path")


def _clean_checkpoint(values: dict[str, Any]) -> None:
    _check_names(values, "ns", "checkpoint_id", "type")
    metadata, versions = values.get("metadata", ""), values.get("versions", "")
    if read_object(metadata) is None or len(metadata.encode()) > METADATA_BYTES:
        raise WrongValue("metadata of a checkpoint has a wrong value")
    for channel, version in _texts(versions).items():
        _check_names({"channel": channel, "version": version}, "channel", "version")
    named = ("ns", "checkpoint_id", "parent_id", "metadata", "versions", "type")
    values["size_bytes"] = values["state_bytes"] = _bytes_of(values, *named)


def _bytes_of(values: Mapping[str, Any], *named: str) -> int:
    return rows.bytes_of(values.get("data", b""), *(values.get(name, "") for name in named))


def _texts(versions: str) -> dict[str, str]:
    found = read_object(versions)
    if found is None or not all(isinstance(version, str) for version in found.values()):
        raise WrongValue("versions of a checkpoint has a wrong value")
    if len(json.loads(versions, object_pairs_hook=list)) != len(found):
        raise WrongValue("versions of a checkpoint names a channel twice")
    return found


def _check_names(values: Mapping[str, Any], *needed: str) -> None:
    limits = {name: _LIMITS[name] for name in needed}
    limits |= {name: most for name, most in _MAY_BE_EMPTY.items() if values.get(name)}
    for name, most in limits.items():
        try:
            checked(values.get(name, ""), name, most)
        except Invalid:
            raise WrongValue(f"{name} has a wrong value") from None


KINDS = (
    Kind("graph_thread", GraphThread, "project", "project", ("name",), without=("size_bytes",), clean=_clean_thread),
    Kind("channel_value", ChannelValue, "graph_thread", "thread", without=("size_bytes",), clean=_clean_bytes),
    Kind("checkpoint", Checkpoint, "graph_thread", "thread", without=("size_bytes", "state_bytes"), clean=_clean_checkpoint),
    Kind("pending_write", PendingWrite, "graph_thread", "thread", without=("size_bytes",), clean=_clean_bytes),
)
