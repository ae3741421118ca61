"""Shapes of memory and runs."""

from typing import Any

from ninja import Schema

# One label as a text, several as a list: as it is sent, too.
Namespace = str | list[str]


class NamespaceOut(Schema):
    """`labels`: the same as `namespace`, always as a list."""

    namespace: Namespace
    labels: list[str]
    count: int
    size_bytes: int


class NamespaceList(Schema):
    items: list[NamespaceOut]
    next: str | None


class EntryKey(Schema):
    """`expires_at`: only of an entry that expires."""

    key: str
    rev: int
    size_bytes: int
    updated_at: str
    expires_at: str | None = None


class EntryKeys(Schema):
    items: list[EntryKey]
    next: str | None


class EntryOut(Schema):
    """`created_at` and `expires_at`: not of generated entries. `expires_at`: null without an expiry."""

    namespace: Namespace
    key: str
    value: Any
    rev: int
    size_bytes: int
    created_at: str | None = None
    updated_at: str
    expires_at: str | None = None


class EntrySaved(EntryOut):
    """`redacted`: how many secrets of each kind were redacted before it was stored."""

    redacted: dict[str, int]


class PurgedOut(Schema):
    """How many entries were erased."""

    purged: int


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
    namespace: Namespace
    key: str
    deleted_at: str
    by: str


class DeletedList(Schema):
    items: list[DeletedOut]
    next: str | None


class StatsOut(Schema):
    size_bytes: int
    checkpoint_bytes: int
    entries: dict[str, int]
    errors: int
    endpoints: int
    session_count: int
    limits: dict[str, int]
