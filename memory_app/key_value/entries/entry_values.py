"""Values on their way into the store: validated, without secrets, as text.

A batch has up to 500 of them: dataclasses are made in half the time of named tuples, if they are not frozen.
"""

import json
import re
import uuid
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from memory_app.core.namespaces import check_place
from memory_app.key_value.entries.entry_rows import EntryRow
from memory_app.key_value.entries.entry_validation import check_shape
from memory_app.models import NamespaceSettings
from memory_app.models.entry import ENTRY_BYTES
from sessions_app.core.errors import TooLarge
from sessions_app.core.redaction import may_hold_secrets, redact
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.serialization.strict_json import REPLACEMENT
from sessions_app.core.storage.store_incarnation import incarnation

_SURROGATE = re.compile("[\ud800-\udfff]")


class EntryTooLarge(TooLarge):
    message = f"An entry has at most {ENTRY_BYTES} bytes of JSON. Split it into several keys."


class _Nothing:
    """No value was sent: the text was stored before."""


NOTHING = _Nothing()


@dataclass(slots=True)
class NewEntry:
    """`namespace` in its stored form. `sent`: the value before characters in it were replaced, if any were. `clean`: it was
    found to hold no secret, with others at once."""

    namespace: str
    key: str
    value: Any
    sent: Any = NOTHING
    clean: bool = False


@dataclass(slots=True)
class CheckedEntry:
    """An entry as it will be stored, if its namespace is not exact. `sent`: what an exact one stores; NOTHING: the same text."""

    namespace: str
    key: str
    text: str
    size_bytes: int
    redacted: dict[str, int]
    sent: Any = NOTHING
    exact: bool = False


@dataclass(slots=True)
class Stored:
    entry: EntryRow
    made: bool
    redacted: dict[str, int]


@dataclass(frozen=True, slots=True)
class Removed:
    """A deleted entry. `id`: to restore it by; None where its namespace keeps no versions."""

    entry: EntryRow
    id: uuid.UUID | None


def check_entry(entry: NewEntry) -> CheckedEntry:
    """Checks that need no database: names, shape, size. Also redacts secrets."""
    namespace, key, value, sent = entry.namespace, entry.key, entry.value, entry.sent
    check_place(namespace, key)
    check_shape(namespace, key, value)
    text = json_text(value)
    redacted: dict[str, int] = {}  # `dict[str, int]()` takes twenty times as long.
    if not entry.clean and may_hold_secrets(text):
        without, redacted = redact(value)
        text = json_text(without)
        sent = value if redacted and sent is NOTHING else sent
    return CheckedEntry(namespace, key, text, _within(ENTRY_BYTES, text), redacted, sent)


def as_kept(entry: CheckedEntry, rules: NamespaceSettings) -> CheckedEntry:
    """The entry as its namespace's settings want it. Raises EntryTooLarge."""
    if rules.exact and entry.sent is not NOTHING:
        text = json_text(entry.sent)
        entry = replace(entry, text=text, size_bytes=_within(ENTRY_BYTES, text), redacted={})
    if rules.entry_bytes is not None:
        _within(rules.entry_bytes, entry.text, entry.size_bytes)
    return replace(entry, exact=True) if rules.exact else entry


def exact_value(raw: bytes) -> Any:
    """The value of JSON that was parsed strictly before, with NUL characters, which a text of JSON can hold."""
    return _without_surrogates(json.loads(raw))


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub(REPLACEMENT, value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_SURROGATE.sub(REPLACEMENT, key): _without_surrogates(item) for key, item in value.items()}
    return value


def _within(limit: int, text: str, known: int | None = None) -> int:
    size_bytes = known
    if size_bytes is None:
        size_bytes = len(text) if text.isascii() else len(text.encode())
    if size_bytes > limit:
        message = "" if limit == ENTRY_BYTES else f"An entry of this namespace has at most {limit} bytes of JSON."
        raise EntryTooLarge(message, details={"size_bytes": size_bytes, "limit": limit})
    return size_bytes


def entry_etag(rev: int) -> str:
    return f'"{incarnation()}.{rev}"'


def etag_of(entry: EntryRow | None) -> str | None:
    return None if entry is None else entry_etag(entry.rev)


def expiry(ttl_minutes: float | None, moment: datetime) -> datetime | None:
    return None if ttl_minutes is None else moment + timedelta(minutes=ttl_minutes)
