"""LangGraph's store."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from stillhere.connection import Connection, Operation
from stillhere.operations import memory
from stillhere.operations.saving import pieces

# LangGraph reserves this root for itself, so no namespace of a graph begins with it.
ROOT = "langgraph"
MOST_LISTED, MOST_NAMESPACES = 500, 10_000
# Of a search as many are asked for at once, whether there are so many or not.
MOST_AT_ONCE = 20 * MOST_LISTED


class StillhereStore(BaseStore):
    """Keeps items in a project's memory, below the namespace `langgraph`, exactly as they are: without redaction, versions and
    lease. A batch of up to 500 operations and 4 MB is one round trip; each list of namespaces is one more. `query` is not
    supported: a search finds by namespace and filter, the most recently changed first."""

    supports_ttl = True

    def __init__(
        self, url: str | None = None, key: str | None = None, project: str | None = None, *, ttl: TTLConfig | None = None
    ) -> None:
        self.connection = Connection(url, key, project)
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self.connection.run(self._batch(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await self.connection.arun(self._batch(list(ops)))

    def _batch(self, ops: list[Op]) -> Operation[list[Result]]:
        """Reads see what was stored before the batch; of puts of one key the last counts."""
        for op in ops:
            validate_op_namespace(op)
        results: list[Result] = [[] if isinstance(op, SearchOp) else None for op in ops]
        long = {number: op for number, op in enumerate(ops) if isinstance(op, SearchOp) and op.limit > MOST_AT_ONCE}
        for number, op in long.items():
            results[number] = yield from _found(op)
        reads = [(number, each) for number, op in enumerate(ops) if number not in long for each in _reads(op)]
        puts = {(op.namespace, op.key): _put(op) for op in ops if isinstance(op, PutOp)}
        for number, op in enumerate(ops):
            if isinstance(op, ListNamespacesOp):
                results[number] = yield from _namespaces(op)
        if puts:
            yield from memory.keep_exactly(self.connection, ROOT)
        sent = [each for _, each in reads] + list(puts.values())
        answers: list[Any] = []
        for some in pieces(sent) if sent else ():
            answers += yield from memory.batch(some)
        for (number, _), answer in zip(reads, answers, strict=False):
            op = ops[number]
            if isinstance(op, GetOp):
                results[number] = None if answer["entry"] is None else Item(**_fields(answer["entry"]))
            else:
                found: Any = results[number]
                found.extend(_items(answer))
        return results


def _reads(op: Op) -> list[dict[str, Any]]:
    """The operations of the server for one that reads. A long search is several."""
    if isinstance(op, GetOp):
        return [{"op": "get", "namespace": [ROOT, *op.namespace], "key": op.key, "refresh": op.refresh_ttl}]
    if not isinstance(op, SearchOp):
        return []
    search = {
        "op": "list",
        "namespace": [ROOT, *op.namespace_prefix],
        "deep": True,
        "order": "-updated",
        "values": True,
        "filter": op.filter,
        "refresh": op.refresh_ttl,
    }
    return [
        {**search, "offset": op.offset + done, "limit": min(MOST_LISTED, op.limit - done)}
        for done in range(0, op.limit, MOST_LISTED)
    ]


def _found(op: SearchOp) -> Operation[list[SearchItem]]:
    """Of a search that asks for more than there may be."""
    found: list[SearchItem] = []
    while (left := op.limit - len(found)) > 0:
        lists = _reads(op._replace(offset=op.offset + len(found), limit=min(left, MOST_AT_ONCE)))
        answers = yield from memory.batch(lists)
        found += [item for answer in answers for item in _items(answer)]
        if answers[-1]["next"] is None:
            break
    return found


def _items(answer: dict[str, Any]) -> list[SearchItem]:
    return [SearchItem(**_fields(each)) for each in answer["items"]]


def _put(op: PutOp) -> dict[str, Any]:
    place = {"namespace": [ROOT, *op.namespace], "key": op.key}
    if op.value is None:
        return {"op": "delete", **place}
    return {"op": "put", **place, "value": op.value, "ttl_minutes": op.ttl}


def _fields(entry: dict[str, Any]) -> dict[str, Any]:
    """Of an Item, from an entry."""
    return {
        "namespace": tuple(entry["namespace"][1:]),
        "key": entry["key"],
        "value": entry["value"],
        "created_at": datetime.fromisoformat(entry["created_at"]),
        "updated_at": datetime.fromisoformat(entry["updated_at"]),
    }


def _namespaces(op: ListNamespacesOp) -> Operation[list[tuple[str, ...]]]:
    """The server applies one prefix, one suffix and, if that is all, the depth; the others are applied here."""
    conditions = op.match_conditions or ()
    prefix = next((each.path for each in conditions if each.match_type == "prefix"), ())
    suffix = next((each.path for each in conditions if each.match_type == "suffix"), ())
    asked: dict[str, Any] = {"prefix": _path((ROOT, *prefix)), "suffix": _path(suffix), "limit": MOST_NAMESPACES}
    found: list[tuple[str, ...]] = []
    cursor: str | None = ""
    while cursor is not None:
        page = yield from memory.list_namespaces(**asked, cursor=cursor)
        found += [tuple(each["labels"][1:]) for each in page.items]
        cursor = page.next
    matching = (each for each in found if all(_matches(condition, each) for condition in conditions))
    cut = sorted({each[: op.max_depth] for each in matching})
    return cut[op.offset : op.offset + op.limit]


def _path(labels: Iterable[str]) -> str:
    return "/".join(label.replace("~", "~0").replace("/", "~1") for label in labels)


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in {"*", label} for wanted, label in zip(path, part, strict=True))
