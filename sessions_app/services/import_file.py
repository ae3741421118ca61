"""Reading an export file and proving it whole before anything of it is used."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Never

from sessions_app.errors import Invalid
from sessions_app.queries.export_cleaning import WrongValue
from sessions_app.queries.export_kinds import KINDS, USER, Kind
from sessions_app.queries.export_rows import values_of
from sessions_app.queries.exports import FORMAT, VERSION

LINE_BYTES = 16_000_000
_CUT_OFF = "it is cut off, or lost its line breaks on the way (curl sends a file as it is with --data-binary)"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class BadFile(Invalid):
    """Names the line; the file's words are not repeated."""

    def __init__(self, line: int, why: str) -> None:
        message = f"Line {line} of the file: {why}. Nothing was imported."
        super().__init__(message, code="bad_export", details={"line": line})


@dataclass(frozen=True, slots=True)
class Row:
    line: int
    kind: Kind
    values: dict[str, Any]


def check_file(file: BinaryIO) -> Counter[str]:
    """How many rows of each kind there are. Raises BadFile unless every line can be read and the file is as it was written."""
    counts: Counter[str] = Counter()
    seen = {USER}
    for row in read_rows(file):
        if row.kind.under not in seen:
            raise BadFile(row.line, f"a {row.kind.name} without the {row.kind.under} that it belongs to")
        seen.add(row.kind.name)
        counts[row.kind.name] += 1
    return counts


def read_rows(file: BinaryIO) -> Iterator[Row]:
    """Row by row, from the beginning; the last line is compared with what came before it."""
    file.seek(0)
    known = {kind.name: kind for kind in KINDS}
    digest, counts = hashlib.sha256(), Counter[str]()
    number, ended = 0, False
    while line := file.readline(LINE_BYTES):
        number += 1
        if ended:
            raise BadFile(number, "something follows the end")
        if not line.endswith(b"\n"):
            raise BadFile(number, _CUT_OFF if len(line) < LINE_BYTES else f"it has more than {LINE_BYTES} bytes")
        value = _read(number, line)
        if number == 1:
            _check_first(value)
        elif "end" in value:
            _check_last(number, value, digest.hexdigest(), counts)
            ended = True
        else:
            yield _row(number, known, value)
            counts[next(iter(value))] += 1
        digest.update(line)
    if not ended:
        raise BadFile(number + 1, "the file ends here, before its last line")


def _read(number: int, line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line.decode(), parse_constant=_refuse_constant)
        if b"\\u" in line:
            _check_strings(value)
    except (ValueError, RecursionError):
        raise BadFile(number, "it is not JSON as this server writes it") from None
    if not isinstance(value, dict):
        raise BadFile(number, "it is no object")
    return value


def _check_strings(value: Any) -> None:
    """No database holds a NUL, nor UTF-8 a lone surrogate."""
    if isinstance(value, str) and _UNSTORABLE.search(value):
        raise ValueError
    if isinstance(value, dict):
        for name, child in value.items():
            _check_strings(name)
            _check_strings(child)
    elif isinstance(value, list):
        for child in value:
            _check_strings(child)


def _refuse_constant(name: str) -> Never:
    raise ValueError(name)


def _row(number: int, known: dict[str, Kind], value: dict[str, Any]) -> Row:
    kind = known.get(next(iter(value), "")) if len(value) == 1 else None
    if kind is None:
        raise BadFile(number, "its kind is unknown here (a newer version may have written it)")
    try:
        return Row(number, kind, values_of(kind, value[kind.name]))
    except WrongValue as error:
        raise BadFile(number, str(error)) from None


def _check_first(value: dict[str, Any]) -> None:
    if value.get("format") != FORMAT:
        raise BadFile(1, "this is no export of Stillhere")
    if value.get("version") != VERSION:
        raise BadFile(1, f"this server reads version {VERSION} of the format")


def _check_last(number: int, value: dict[str, Any], digest: str, counts: Counter[str]) -> None:
    if value.get("sha256") != digest:
        raise BadFile(number, "the checksum does not fit: something before this line was changed or lost")
    told = value.get("counts")
    if not isinstance(told, dict) or {name: told[name] for name in told if told[name]} != dict(counts):
        raise BadFile(number, "the counts do not fit")
