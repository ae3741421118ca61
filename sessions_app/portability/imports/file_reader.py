"""Reads an export file and checks that it is complete before any of it is used."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Never

from django.conf import settings

from sessions_app.core.errors import Invalid
from sessions_app.core.serialization.json_structure import takes_much_memory
from sessions_app.portability.content_kinds import USER, Kind, export_kinds
from sessions_app.portability.exports.export_file import FORMAT, VERSION
from sessions_app.portability.file_pieces import FILE, FilesInFile
from sessions_app.portability.row_format import values_of
from sessions_app.portability.secret_removal import WrongValue

# What was stored before a limit was made, for example a large handoff, can be imported too.
LEAST_LINE_BYTES = 64_000_000
# A value of a request is longer in a line: as JSON in JSON, or as base64; and some rows have values of several requests.
BODIES_A_LINE = 4
SKIPPED_AT_ONCE = 1_000_000
ROWS_A_STEP = 16
_CUT_OFF = "it is truncated, or lost its line breaks in transfer (with curl, use --data-binary)"
_OTHER = (
    "this is no export of Stillhere. Only those can be imported: all data of an account, or a session as NDJSON. "
    "For a chat that ChatGPT, Claude Code or another tool wrote, the server has the command “manage.py replay FILE”"
)
_TOO_MANY = "it has too many values for its size"
# Where the first line names its format.
_BEGINNING = 200
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class BadFile(Invalid):
    """Names the line; does not quote the file's content."""

    def __init__(self, line: int, why: str) -> None:
        message = f"Line {line} of the file: {why}. Nothing was imported."
        super().__init__(message, code="bad_export", details={"line": line})


@dataclass(frozen=True, slots=True)
class Row:
    line: int
    kind: Kind
    values: dict[str, Any]


class Reader:
    """Reads row by row from the beginning; checks the last line against the rows before it."""

    def __init__(self, file: BinaryIO, files: FilesInFile | None = None) -> None:
        self._file = file
        self.files = files or FilesInFile()
        self._digest, self.counts = hashlib.sha256(), Counter[str]()
        self._known = {kind.name: kind for kind in export_kinds()}
        self.line = self.offset = 0
        self._most = max(LEAST_LINE_BYTES, BODIES_A_LINE * settings.MAX_BODY_BYTES)
        self._ended = False
        file.seek(0)

    @property
    def sha256(self) -> str:
        """The hash of everything read so far."""
        return self._digest.hexdigest()

    def skip(self, *, offset: int, line: int, counts: dict[str, int]) -> None:
        """Continue after a row that was read earlier; the rows before it are not parsed again."""
        while self.offset < offset:
            piece = self._file.read(min(SKIPPED_AT_ONCE, offset - self.offset))
            if not piece:
                raise BadFile(line, "the file ends before that line, which was read earlier")
            self._digest.update(piece)
            self.offset += len(piece)
        self.line, self.counts = line, Counter(counts)

    def rows(self) -> Iterator[Row]:
        """Raises BadFile if a line cannot be read, and at the end if counts or checksum do not match."""
        while line := self._file.readline(self._most):
            self.line += 1
            if self.line == 1 and FORMAT.encode() not in line[:_BEGINNING]:
                raise BadFile(1, _OTHER)
            if self._ended:
                raise BadFile(self.line, "something follows the end")
            if not line.endswith(b"\n"):
                raise BadFile(self.line, _CUT_OFF if len(line) < self._most else f"it has more than {self._most} bytes")
            row = self._row(_read(self.line, line))
            self._digest.update(line)
            self.offset += len(line)
            if row is not None:
                self.counts[row.kind.name] += 1
                yield row
        if not self._ended:
            raise BadFile(self.line + 1, "the file ends here, before its last line")

    def _row(self, value: dict[str, Any]) -> Row | None:
        if self.line == 1:
            _check_first(value)
        elif "end" in value:
            _check_last(self.line, value, self.sha256, self.counts)
            self._ended = True
        elif FILE in value:
            self._take_piece(value[FILE])
        else:
            return self._checked(_row(self.line, self._known, value))
        return None

    def _take_piece(self, value: Any) -> None:
        try:
            self.files.take(value)
        except WrongValue as error:
            raise BadFile(self.line, str(error)) from None
        self.counts[FILE] += 1

    def _checked(self, row: Row) -> Row:
        try:
            self.files.check_whole()
        except WrongValue as error:
            raise BadFile(self.line, str(error)) from None
        return row


def check_file(reader: Reader) -> Iterator[None]:
    """Read the whole file, a few rows per step; then the reader has its counts and hash.

    Raises BadFile unless every line can be read and counts and checksum match.
    """
    seen = {USER}
    for row in reader.rows():
        if row.kind.under not in seen:
            raise BadFile(row.line, f"a {row.kind.name} without the {row.kind.under} that it belongs to")
        seen.add(row.kind.name)
        if row.line % ROWS_A_STEP == 0:
            yield


def _read(number: int, line: bytes) -> dict[str, Any]:
    if takes_much_memory(line):
        raise BadFile(number, _TOO_MANY)
    try:
        value = json.loads(line.decode(), parse_constant=_refuse_constant)
        if b"\\u" in line:
            _check_strings(value)
    except (ValueError, RecursionError):
        raise BadFile(number, "it is not valid JSON of this format") from None
    if not isinstance(value, dict):
        raise BadFile(number, "it is not a JSON object")
    return value


def _check_strings(value: Any) -> None:
    """Refuses NUL, which databases cannot store, and lone surrogates, which UTF-8 cannot encode."""
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
        values = values_of(kind, value[kind.name])
    except WrongValue as error:
        raise BadFile(number, str(error)) from None
    if any(isinstance(each, str) and takes_much_memory(each.encode()) for each in values.values()):
        raise BadFile(number, _TOO_MANY)  # JSON that is stored as text.
    return Row(number, kind, values)


def _check_first(value: dict[str, Any]) -> None:
    if value.get("format") != FORMAT:
        raise BadFile(1, _OTHER)
    if value.get("version") != VERSION:
        raise BadFile(1, f"this server reads version {VERSION} of the format")


def _check_last(number: int, value: dict[str, Any], digest: str, counts: Counter[str]) -> None:
    if value.get("sha256") != digest:
        raise BadFile(number, "the checksum does not match: something before this line was changed or lost")
    told = value.get("counts")
    if not isinstance(told, dict) or {name: told[name] for name in told if told[name]} != dict(counts):
        raise BadFile(number, "the counts do not match")
