"""Values in a project's memory: docs/reference/memory.md. A namespace is a label, or a path of labels."""

from collections.abc import Mapping, Sequence
from typing import Any

from stillhere.connection import Connection, Operation, Request
from stillhere.errors import StillhereError
from stillhere.http.addresses import part
from stillhere.operations.projects import without_none
from stillhere.operations.records import Entry, Page, Put

BATCH = "/projects/{project}/memory/batch"
_UNSET: Any = object()
_EXACT: dict[str, Any] = {"exact": True, "leased": False, "versions": 0}
type Namespace = str | Sequence[str]


def get_value(namespace: Namespace, key: str) -> Operation[Entry | None]:
    result = yield from _one({"op": "get", "namespace": labels(namespace), "key": key})
    return None if result["entry"] is None else Entry.of(result["entry"])


def put_value(
    namespace: Namespace,
    key: str,
    value: Any,
    *,
    if_match: str | None = _UNSET,
    ttl_minutes: float | None = None,
    run: str | None = None,
) -> Operation[Put]:
    """`if_match`: the `etag` that the entry must have, `"*"` for any, or None if there must be none; else 412. `run`: the id of
    the run that holds the project's lease."""
    op = {"op": "put", "namespace": labels(namespace), "key": key, "value": value, "ttl_minutes": ttl_minutes}
    return Put.of((yield from _one({**op, **_condition(if_match)}, run=run)))


def delete_value(namespace: Namespace, key: str, *, if_match: str | None = _UNSET, run: str | None = None) -> Operation[bool]:
    """To the trash. False: there was none."""
    op = {"op": "delete", "namespace": labels(namespace), "key": key, **_condition(if_match)}
    result = yield from _one(op, run=run)
    return bool(result["deleted"])


def list_values(
    namespace: Namespace,
    *,
    prefix: str = "",
    deep: bool = False,
    filter: Mapping[str, Any] | None = None,
    order: str = "key",
    values: bool = True,
    limit: int = 50,
    cursor: str | None = None,
) -> Operation[Page[Entry]]:
    """`deep`: with all namespaces beneath it. `filter`: fields of the value, each with a value or operators
    (`{"n": {"$gt": 1}}`). `order`: key, -key, updated, -updated. `cursor`: `next` of the page before."""
    op = {"op": "list", "namespace": labels(namespace), "prefix": prefix, "deep": deep, "order": order, "values": values}
    result = yield from _one({**op, "limit": limit, "cursor": cursor, "filter": filter})
    return Page(items=[Entry.of(each) for each in result["items"]], next=result["next"])


def batch(ops: Sequence[Mapping[str, Any]], *, run: str | None = None) -> Operation[list[dict[str, Any]]]:
    """Up to 500 operations in one transaction; one result for each. If one is refused nothing is done, and the error's details
    have its `index`."""
    headers = {"Stillhere-Run": run} if run else {}
    # A condition that holds once does not hold a second time.
    repeatable = not any("if_match" in op for op in ops)
    answer = yield Request("POST", BATCH, {"ops": list(ops)}, headers=headers, repeatable=repeatable)
    results: list[dict[str, Any]] = answer["results"]
    return results


def list_namespaces(
    *, prefix: str = "", suffix: str = "", depth: int | None = None, limit: int = 500, cursor: str | None = None
) -> Operation[Page[dict[str, Any]]]:
    """`{namespace, labels, count, size_bytes}` of each. `prefix`, `suffix`: paths such as `users/1`; `*` stands for any label."""
    query = without_none(prefix=prefix, suffix=suffix, depth=depth, limit=limit, cursor=cursor or "")
    answer = yield Request("GET", "/projects/{project}/memory", query=query)
    return Page(items=answer["items"], next=answer["next"])


def set_memory_settings(namespace: Namespace, **settings: Any) -> Operation[None]:
    """How entries of a namespace and of all beneath it are kept: exact, leased, versions, ttl_minutes, refresh_on_read,
    quota_bytes, entry_bytes."""
    yield _settings_request(namespace, settings)


def keep_exactly(connection: Connection, namespace: str) -> Operation[None]:
    """For an adapter, once: entries of this namespace and beneath it are kept as they are sent, without versions and lease. What
    people set besides, such as a quota, stays."""
    yield from connection.prepare(_settings_request(namespace, _EXACT), _made_exact(namespace))


def _made_exact(namespace: str) -> Operation[None]:
    try:
        found: dict[str, Any] = yield Request("GET", settings_path(namespace))
    except StillhereError as error:
        if error.details.get("kind") != "memory settings":
            raise
        found = {}
    present = {name: value for name, value in found.items() if name not in {"namespace", "labels"}}
    if present | _EXACT != present:
        yield _settings_request(namespace, present | _EXACT)


def _settings_request(namespace: Namespace, settings: Mapping[str, Any]) -> Request:
    return Request("PUT", settings_path(namespace), settings)


def settings_path(namespace: Namespace) -> str:
    return "/projects/{project}/memory-settings/" + "/".join(part(label) for label in labels(namespace))


def labels(namespace: Namespace) -> list[str]:
    return [namespace] if isinstance(namespace, str) else list(namespace)


def _one(op: dict[str, Any], *, run: str | None = None) -> Operation[dict[str, Any]]:
    (result,) = yield from batch([op], run=run)
    return result


def _condition(if_match: str | None) -> dict[str, Any]:
    return {} if if_match is _UNSET else {"if_match": if_match}
