"""Shapes of memory and runs."""

from typing import Any

from ninja import Schema


class NamespaceOut(Schema):
    namespace: str
    count: int
    size_bytes: int


class NamespaceList(Schema):
    items: list[NamespaceOut]
    next: str | None


class EntryKey(Schema):
    key: str
    rev: int
    size_bytes: int
    updated_at: str


class EntryKeys(Schema):
    items: list[EntryKey]
    next: str | None


class EntryOut(Schema):
    namespace: str
    key: str
    value: Any
    rev: int
    size_bytes: int
    updated_at: str


class EntrySaved(EntryOut):
    """`redacted`: how many secrets of each kind were redacted before it was stored."""

    redacted: dict[str, int]


class VersionOut(Schema):
    rev: int
    value: Any
    size_bytes: int
    saved_at: str
    by: str


class VersionList(Schema):
    items: list[VersionOut]
    next: str | None


class DeletedOut(Schema):
    id: str
    namespace: str
    key: str
    deleted_at: str
    by: str


class DeletedList(Schema):
    items: list[DeletedOut]
    next: str | None


class StatsOut(Schema):
    size_bytes: int
    entries: dict[str, int]
    errors: int
    endpoints: int
    session_count: int
    limits: dict[str, int]
