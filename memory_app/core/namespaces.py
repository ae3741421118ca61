"""Namespaces are paths of labels, stored as one text.

The labels are joined by `/`; in a label `~` is written `~0` and `/` is written `~1`. So the text is unambiguous, and one
label of letters, digits, `.`, `_` and `-` is stored as itself, as it was before there were paths. All that is beneath a
namespace begins with its text and `/`: in byte order one range, from `text/` up to `text0` (`0` follows `/`), which the
index of project, namespace and key answers on both databases. One column, because a column a label would need ten of
them in each index. On PostgreSQL both columns have the collation "C": order and ranges are those of bytes, as on SQLite.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.db.models import F
from django.db.models.functions import Collate

from memory_app.models.entry import KEY_LENGTH, LABEL_LENGTH, MOST_LABELS, PLACE_BYTES
from sessions_app.core.errors import Invalid
from sessions_app.core.serialization.strict_json import REPLACEMENT
from sessions_app.core.storage.sql import on_postgresql

SEPARATOR, AFTER_SEPARATOR = "/", "0"
_LAST = "\U0010ffff"
_SURROGATES = range(0xD800, 0xE000)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def pack(labels: Sequence[str]) -> str:
    """The stored form. Labels are not checked here."""
    return _packed(tuple(labels))


# A batch names the same ones again and again.
@lru_cache(maxsize=1_000)
def _packed(labels: tuple[str, ...]) -> str:
    return SEPARATOR.join(label.replace("~", "~0").replace("/", "~1") for label in labels)


def labels_of(namespace: str) -> list[str]:
    """The labels of a stored form."""
    return [label.replace("~1", "/").replace("~0", "~") for label in namespace.split(SEPARATOR)]


def check_place(namespace: str, key: str) -> None:
    """Raises 422 for a namespace, in its stored form, or a key outside the limits."""
    check_namespace(namespace)
    if not 1 <= len(key) <= KEY_LENGTH or not _storable(key):
        raise Invalid(f"A key has 1 to {KEY_LENGTH} characters, and no NUL.", details={"field": "key"})
    # Counted where they can be so many: a character has at most 4.
    if len(namespace) + len(key) > PLACE_BYTES // 4 and len(namespace.encode()) + len(key.encode()) > PLACE_BYTES:
        raise Invalid(f"A namespace and a key have at most {PLACE_BYTES} bytes together.", details={"field": "key"})


def check_new_names(*names: str) -> None:
    """Raises 422 for a namespace or a key that is to be stored and has U+FFFD: what could not be read has become this, in bodies
    and in addresses, so another name may have been meant."""
    for name in names:
        if REPLACEMENT in name:
            raise Invalid("Namespaces and keys are text in UTF-8, without NUL and U+FFFD.", details={"field": "key"})


@lru_cache(maxsize=1_000)
def check_namespace(namespace: str) -> None:
    """Raises 422 for a stored form outside the limits."""
    labels = labels_of(namespace)
    if pack(labels) != namespace:
        raise Invalid("In a namespace `~` is written `~0`, and `/` in a label is written `~1`.", details={"field": "namespace"})
    if len(labels) > MOST_LABELS or not all(1 <= len(label) <= LABEL_LENGTH and _storable(label) for label in labels):
        raise Invalid(
            f"A namespace has 1 to {MOST_LABELS} labels of 1 to {LABEL_LENGTH} characters each, and no NUL.",
            details={"field": "namespace"},
        )
    if len(namespace.encode()) > PLACE_BYTES:
        raise Invalid(f"A namespace has at most {PLACE_BYTES} bytes.", details={"field": "namespace"})


def as_sent(namespace: str) -> str | list[str]:
    """As clients name it: one label as a text, several as a list."""
    if SEPARATOR not in namespace and "~" not in namespace:
        return namespace
    labels = labels_of(namespace)
    return labels[0] if len(labels) == 1 else labels


def as_shown(namespace: str) -> str:
    """For people: `users / 1 / notes`."""
    return " / ".join(labels_of(namespace))


def beneath(namespace: str) -> tuple[str, str]:
    """The range of what is beneath it: from the first, up to but without the second."""
    return namespace + SEPARATOR, namespace + AFTER_SEPARATOR


def after_prefix(prefix: str) -> str | None:
    """The least text, in byte order, above all that begin with `prefix`; None: there is none."""
    rest = prefix.rstrip(_LAST)
    if not rest:
        return None
    following = ord(rest[-1]) + 1
    return rest[:-1] + chr(_SURROGATES.stop if following in _SURROGATES else following)


def bytewise(column: str) -> Any:
    """The column, to be compared and ordered by its bytes whatever the database's collation is."""
    return Collate(F(column), "C") if on_postgresql() else F(column)


def _storable(text: str) -> bool:
    # The first look answers for nearly all names, in a fraction of the time.
    return text.isprintable() or _UNSTORABLE.search(text) is None
