"""Schemas of a batch, and how its operations become those of services."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from ninja import Schema
from pydantic import Field

from memory_app.core.namespaces import check_namespace, check_new_names, check_place, pack
from memory_app.key_value.batches.filters import make_filter
from memory_app.key_value.batches.operations import Delete, Get, List, Operation, Order, Purge, Put, read_cursor
from memory_app.key_value.entries.entry_validation import check_shape
from memory_app.key_value.entries.entry_values import NOTHING, NewEntry, check_entry, exact_value
from memory_app.key_value.entries.services import check_deletable
from memory_app.models.entry import KEY_LENGTH
from memory_app.models.namespace_settings import MOST_MINUTES
from sessions_app.core.errors import AppError, Invalid
from sessions_app.core.redaction import may_hold_secrets
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.web.preconditions import ANY, Conditions
from sessions_app.core.web.schemas import BIGGEST, In

MOST_OPS, MOST_LISTED = 500, 500
_NAMES_OF_ENTRIES = re.compile(r"ops\.\d+\.(?:namespace(?:\.\d+)?|key|prefix)")

Label = Annotated[str, Field(min_length=1, max_length=128)]
NamespaceIn = Label | Annotated[list[Label], Field(max_length=10)]
Key = Annotated[str, Field(min_length=1, max_length=KEY_LENGTH)]
Prefix = Annotated[str, Field(max_length=KEY_LENGTH, description="Only keys that begin so.")]
Deep = Annotated[bool, Field(description="With all namespaces beneath it; then `[]` is the whole memory.")]
IfMatch = Annotated[
    str | None,
    Field(description="The `etag` that the entry must have; `*`: any; null: there must be none. Left out: any or none."),
]
Minutes = Annotated[float, Field(gt=0, le=MOST_MINUTES, description="Left out: as the settings say.")]
Refresh = Annotated[bool | None, Field(description="Whether this read moves an expiry. Left out: as the settings say.")]


def packed(namespace: NamespaceIn) -> str:
    """Its stored form."""
    return pack([namespace] if isinstance(namespace, str) else namespace)


class _Op(In):
    namespace: NamespaceIn

    @property
    def path(self) -> str:
        return packed(self.namespace)


class GetIn(_Op):
    op: Literal["get"]
    key: Key
    refresh: Refresh = None

    def operation(self) -> Operation:
        check_place(self.path, self.key)
        return Get(self.path, self.key, self.refresh)


class PutIn(TypedDict):
    """No model, since a batch of the length that is allowed has hundreds of these: a dictionary is checked in half the time."""

    __pydantic_config__ = In.model_config  # type: ignore[misc]

    op: Literal["put"]
    namespace: NamespaceIn
    key: Key
    value: Any
    if_match: NotRequired[IfMatch]
    ttl_minutes: NotRequired[Minutes | None]


def _put(op: PutIn, sent: Any, *, clean: bool) -> Put:
    path, key = packed(op["namespace"]), op["key"]
    check_new_names(path, key)
    entry = check_entry(NewEntry(path, key, op["value"], sent, clean))
    conditions = _conditions(op["if_match"]) if "if_match" in op else ANY
    return Put(entry, conditions, op.get("ttl_minutes"))


def _conditions(if_match: str | None) -> Conditions:
    return Conditions(if_none_match="*") if if_match is None else Conditions(if_match=if_match or '""')


class DeleteIn(_Op):
    op: Literal["delete"]
    key: Key
    if_match: IfMatch = None

    def operation(self) -> Operation:
        check_place(self.path, self.key)
        check_deletable(self.path, self.key)
        conditions = _conditions(self.if_match) if "if_match" in self.model_fields_set else ANY
        return Delete(self.path, self.key, conditions)


class PurgeIn(_Op):
    op: Literal["purge"]
    key: Key | None = None
    prefix: Prefix = ""
    deep: Deep = False

    def operation(self) -> Operation:
        if self.key is not None:
            if self.prefix or self.deep:
                raise Invalid("A purge names a key, or a prefix and `deep`.", details={"field": "key"})
            check_place(self.path, self.key)
            check_shape(self.path, self.key, {"rules": [], "endpoints": []})
        return Purge(_checked(self.path, deep=self.deep), self.key, self.prefix, self.deep)


class ListIn(_Op):
    op: Literal["list"]
    prefix: Prefix = ""
    deep: Deep = False
    order: Literal["key", "-key", "updated", "-updated"] = "key"
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = 50
    offset: Annotated[int, Field(ge=0, le=BIGGEST)] = 0
    cursor: Annotated[str | None, Field(description="`next` of the page before; null: the first page.")] = None
    values: Annotated[bool, Field(description="Entries with their values; else without.")] = False
    filter: Annotated[
        dict[str, Any] | None,
        Field(description='Fields of the value (`a.b`: of an object in it), each with a value or `{"$gt": …}`.'),
    ] = None
    refresh: Refresh = None

    def operation(self) -> Operation:
        return List(
            namespace=_checked(self.path, deep=self.deep),
            prefix=self.prefix,
            deep=self.deep,
            order=Order(self.order),
            limit=self.limit,
            offset=self.offset,
            cursor=read_cursor(self.cursor) if self.cursor else None,
            values=self.values,
            sought=make_filter(self.filter) if self.filter else None,
            refresh=self.refresh,
        )


class BatchIn(In):
    ops: list[Annotated[GetIn | PutIn | DeleteIn | PurgeIn | ListIn, Field(discriminator="op")]] = Field(max_length=MOST_OPS)

    def operations(self, body: bytes, replaced: Sequence[str]) -> list[Operation]:
        """`replaced`: where in the body characters were replaced. A refusal names its operation's index."""
        if wrong := next((path for path in replaced if _NAMES_OF_ENTRIES.fullmatch(path)), None):
            raise Invalid("Namespaces and keys have no NUL.", details={"field": wrong})
        exact = exact_value(body)["ops"] if replaced else None
        # One look at all values, since one at each takes longer than the rest of the checks.
        clean = not may_hold_secrets(json_text([op["value"] for op in self.ops if isinstance(op, dict)]))
        made = list[Operation]()
        try:
            for op in self.ops:
                sent = NOTHING if exact is None else exact[len(made)].get("value")
                made.append(_put(op, sent, clean=clean) if isinstance(op, dict) else op.operation())
        except AppError as error:
            error.details = {**error.details, "index": len(made)}
            raise
        return made


def _checked(path: str, *, deep: bool) -> str:
    if path or not deep:
        check_namespace(path)
    return path


class BatchOut(Schema):
    """One result an operation. Get: `{entry}` (null: none). Put: `{created, rev, etag, size_bytes, redacted}`.
    Delete: `{deleted}`. Purge: `{purged}`. List: `{items, next}`."""

    results: list[dict[str, Any]]
