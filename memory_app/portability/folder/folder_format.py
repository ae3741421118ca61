"""The folder format of a project's memory: `meta.json`, one folder per namespace, and in it one JSON file per key.

The folder of a path has its labels joined by `+`. In names, all but letters, digits, `.`, `_` and `-`, and a dot at the
beginning, is written as in URLs (`%2F`). Entries whose names are too long for a file are in the folder `+long`, with
their names inside.
"""

import hashlib
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote

import orjson

from memory_app.core.namespaces import labels_of, pack

FOLDER = ".stillhere"
# Another tool's folder in the same format.
ALSO_READ = ".gasoline"
META = "meta.json"
SUFFIX = ".json"
FORMAT = "stillhere-memory"
JOINT, LONG = "+", "+long"
# Of a file's name, in bytes; 255 is the most that file systems take.
LONGEST_NAME = 200
_PLAIN = re.compile(r"[A-Za-z0-9._-]")


@dataclass(slots=True)
class Skipped:
    """What was skipped, and why."""

    items: list[tuple[str, str]] = field(default_factory=list)

    def add(self, name: str, why: str) -> None:
        self.items.append((name, why))


def why(error: OSError) -> str:
    """A readable reason, without the path."""
    return str(error.strerror or error)


def as_moment(value: Any) -> datetime | None:
    """A time with zone, to the millisecond; None if it is not a time, or the year 1, which some tools use for none."""
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None or not 1 < moment.year < 9999:
        return None
    moment = moment.astimezone(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def as_noise_config(value: Any) -> tuple[Any, list[str]]:
    """Converts rules of the other format (`match_spec`), and lists the ids of those that cannot be converted: they match more
    than a message. Values in our format, or in no known one, stay as they are."""
    rules = value.get("rules") if isinstance(value, dict) else None
    if not isinstance(rules, list) or not any(isinstance(rule, dict) and "match_spec" in rule for rule in rules):
        return value, []
    kept: list[Any] = []
    left_out: list[str] = []
    for rule in rules:
        spec = rule.get("match_spec") if isinstance(rule, dict) else None
        if spec is None:
            kept.append(rule)
        elif isinstance(spec, dict) and {name for name, said in spec.items() if said} == {"message_regex"}:
            source = "auto" if rule.get("auto_detected") else "manual"
            pattern = spec["message_regex"]
            kept.append({"id": rule.get("id"), "pattern": pattern, "kind": "regex", "source": source, "enabled": True})
        else:
            left_out.append(ascii(rule.get("id")))
    return {"rules": kept}, left_out


def file_of(namespace: str, key: str, value: bytes) -> tuple[str, str, bytes]:
    """The folder, the file and the content of an entry whose value is this JSON."""
    folder, name = JOINT.join(map(_name_of, labels_of(namespace))), _name_of(key)
    if len(folder) <= LONGEST_NAME and len(name) <= LONGEST_NAME:
        return folder, name + SUFFIX, value + b"\n"
    labels = labels_of(namespace)
    wrapped = {"namespace": labels, "key": key, "value": orjson.Fragment(value)}
    digest = hashlib.sha256(orjson.dumps([labels, key])).hexdigest()
    return LONG, digest + SUFFIX, orjson.dumps(wrapped, option=orjson.OPT_APPEND_NEWLINE)


def place_of(folder: str, name: str) -> tuple[str, str]:
    """Namespace and key of a file without its suffix, the other way round."""
    return pack([unquote(label) for label in folder.split(JOINT)]), unquote(name)


def unwrapped(value: Any) -> tuple[str, str, Any] | None:
    """Namespace, key and value of a file in the folder `+long`; None: it is none."""
    if not isinstance(value, dict) or value.keys() != {"namespace", "key", "value"}:
        return None
    labels, key = value["namespace"], value["key"]
    if not isinstance(labels, list) or not all(isinstance(text, str) for text in [*labels, key]):
        return None
    return pack(labels), key, value["value"]


def _name_of(text: str) -> str:
    named = "".join(char if _PLAIN.fullmatch(char) else quote(char, safe="") for char in text)
    return f"%2E{named[1:]}" if named.startswith(".") else named
