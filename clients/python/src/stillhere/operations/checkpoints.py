"""The state of graphs: docs/reference/checkpoints.md has the bodies and answers."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from stillhere.connection import Operation, Request
from stillhere.http.addresses import part
from stillhere.http.answers import MSGPACK
from stillhere.operations.projects import without_none

MOST_RUNS = 500
# Bytes come in `data`, in place of `base64`, from a server that knows it.
AS_MSGPACK = {"Accept": MSGPACK}
_THREADS = "/projects/{project}/threads"


def put_checkpoint(thread: str, ns: str, id: str, body: Mapping[str, Any]) -> Operation[dict[str, Any]]:
    answer: dict[str, Any] = yield Request("PUT", _checkpoint(thread, ns, id), body)
    return answer


def get_checkpoint(thread: str, ns: str, id: str, *, headers: Mapping[str, str] = {}) -> Operation[dict[str, Any]]:
    answer: dict[str, Any] = yield Request("GET", _checkpoint(thread, ns, id), headers=headers)
    return answer


def list_checkpoints(
    thread: str,
    *,
    ns: str | None = None,
    before: str | None = None,
    filter: Mapping[str, Any] | None = None,
    limit: int = 50,
    cursor: str | None = None,
    headers: Mapping[str, str] = {},
) -> Operation[dict[str, Any]]:
    """`{items, values, next}`, the newest first. `ns`: None for all. `filter`: over the metadata."""
    query = without_none(ns=ns, before=before, limit=limit, cursor=cursor, filter=json.dumps(filter) if filter else None)
    answer: dict[str, Any] = yield Request("GET", f"{_thread(thread)}/checkpoints", query=query, headers=headers)
    return answer


def put_writes(
    thread: str, ns: str, id: str, task: str, writes: Sequence[Mapping[str, Any]], *, path: str = ""
) -> Operation[None]:
    """What a task wrote after a checkpoint."""
    yield Request("PUT", f"{_checkpoint(thread, ns, id)}/writes/{part(task)}", {"path": path, "writes": list(writes)})


def list_threads() -> Operation[list[str]]:
    """Of all graphs, by name."""
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = yield Request("GET", _THREADS, query={"limit": 500, "cursor": cursor})
        found += [each["thread"] for each in answer["items"]]
        cursor = answer["next"]
    return found


def delete_thread(thread: str) -> Operation[None]:
    yield Request("DELETE", _thread(thread))


def copy_thread(source: str, target: str) -> Operation[None]:
    """All of it, to a thread without checkpoints (409 otherwise)."""
    yield Request("POST", f"{_thread(source)}/copy", {"to": target}, repeatable=False)


def prune_thread(thread: str, strategy: str = "keep_latest") -> Operation[None]:
    """`strategy`: keep_latest or delete."""
    yield Request("POST", f"{_thread(thread)}/prune", {"strategy": strategy})


def delete_runs(run_ids: Sequence[str]) -> Operation[None]:
    """Erases the checkpoints with one of these `run_id` in their metadata, of all threads."""
    for start in range(0, len(run_ids), MOST_RUNS):
        yield Request(
            "POST", "/projects/{project}/checkpoints/delete-runs", {"run_ids": list(run_ids[start : start + MOST_RUNS])}
        )


def _thread(thread: str) -> str:
    if not thread:
        raise ValueError("The id of a thread is not empty.")
    return f"{_THREADS}/{part(thread)}"


def _checkpoint(thread: str, ns: str, id: str) -> str:
    return f"{_thread(thread)}/checkpoints/{part(ns)}/{part(id)}"
