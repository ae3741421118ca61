"""The log of a spool: what was acknowledged is in it, whatever happened to the end of the file."""

import os
import stat
from pathlib import Path

import pytest

from stillhere.spool import DamagedSpool
from stillhere.spool.append_log import AppendLog, _head, make_private
from tests.clients.python.spool.conftest import lines_in
from tests.clients.python.spool.logs import HEAD, PATH, entry, numbers, read, write


def test_a_write_that_was_cut_off_anywhere_leaves_what_was_there_and_is_written_over(tmp_path: Path) -> None:
    """A save of two requests is one write: both are there, or none."""
    path = tmp_path / PATH
    write(path, [entry(1, "é\\n"), entry(2)])
    before = len(lines_in(path))
    write(path, [entry(3), entry(4)])
    content = lines_in(path)
    assert numbers(path) == [1, 2, 3, 4]
    for end in range(len(content)):
        for rest in (b"", b"\0" * 300, b"what was\nthere once\n", b"\0" * 300 + b"there\nonce\n"):
            path.write_bytes(content[:end] + rest)
            left = [1, 2] if end >= before else []
            if end >= HEAD or rest == b"":
                assert numbers(path) == left
                write(path, [entry(7)])
                assert numbers(path) == [*left, 7]


@pytest.fixture(params=["here", "on Windows"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "on Windows":
        monkeypatch.delattr(os, "pread")


@pytest.mark.parametrize("begun", [0, 10, HEAD - 1])
def test_a_file_whose_beginning_was_never_written_is_empty(tmp_path: Path, begun: int) -> None:
    path = tmp_path / PATH
    path.write_bytes(_head(0)[:begun] + b"\0" * 500)
    assert numbers(path) == []
    write(path, [entry(1)])
    assert numbers(path) == [1]


@pytest.mark.usefixtures("system")
def test_others_lines_are_seen_and_emptying_too(tmp_path: Path) -> None:
    path = tmp_path / PATH
    one, other = read(path), read(path)
    one.append([entry(1)])
    assert (one.is_as_read(), other.is_as_read()) == (True, False)
    other.read()
    other.append([entry(2)])
    assert (one.is_as_read(), other.is_as_read()) == (False, True)
    one.read()
    assert ([each.item.number for each in one.entries], one.last) == ([1, 2], 2)
    other.empty(0)
    other.append([entry(3)])
    assert len(lines_in(path)) < one.size
    assert not one.is_as_read()
    one.read()
    assert ([each.item.number for each in one.entries], one.last) == ([3], 3)
    one.empty(9)
    other.read()
    assert (other.entries, other.last) == ([], 9)
    one.close()
    other.close()


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / PATH
    write(path, [entry(1)])
    log = read(path)
    monkeypatch.setattr("stillhere.spool.append_log._sync", lambda file: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(OSError, match="No space"):
        log.append([entry(2)])
    monkeypatch.undo()
    assert numbers(path) == [1]
    log.append([entry(3)])
    log.close()
    assert numbers(path) == [1, 3]


@pytest.mark.parametrize(("at", "line"), [(0, 1), (30, 1), (50, 1), (60, 2), (80, 2), (200, 3)])
def test_what_is_damaged_before_other_lines_is_named_and_left(tmp_path: Path, at: int, line: int) -> None:
    path = tmp_path / PATH
    write(path, *([entry(number)] for number in range(1, 6)))
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    log = AppendLog(path)
    for _ in range(3):  # It is not forgotten that it is damaged.
        with pytest.raises(DamagedSpool, match=rf"{PATH} is damaged: line {line} "):
            log.read()
    log.close()
    assert path.read_bytes() == content


def test_a_line_that_is_damaged_later_is_named_too(tmp_path: Path) -> None:
    """By a process that has read the ones before."""
    path = tmp_path / PATH
    log = read(path)
    log.append([entry(1)])
    end = log.size
    write(path, [entry(2)], [entry(3)])
    content = bytearray(path.read_bytes())
    content[end] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedSpool, match="line 3 "):
        log.read()
    log.close()


def test_what_cannot_be_read_to_its_end_is_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An append would write over the rest."""
    path = tmp_path / PATH
    write(path, [entry(1), entry(2)])
    log = AppendLog(path)
    content = path.read_bytes()
    monkeypatch.setattr("stillhere.spool.append_log._read", lambda file, start, size: content[start:200][:size])
    with pytest.raises(OSError, match="cannot be read to its end"):
        log.read()
    log.close()


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / PATH
    assert make_private(path)
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
    path.write_bytes(b"kept")
    assert not make_private(path)
    assert path.read_bytes() == b"kept"


def test_a_line_that_was_cut_off_is_as_long_as_the_next_one_of_another_process(tmp_path: Path) -> None:
    path = tmp_path / PATH
    write(path, [entry(1)])
    size = len(lines_in(path))
    write(path, [entry(2)])
    content = lines_in(path)
    path.write_bytes(content[:-1] + b"?")
    log = read(path)
    assert path.stat().st_size == size
    write(path, [entry(2)])
    assert len(lines_in(path)) == len(content)
    assert not log.is_as_read()
    log.read()
    log.append([entry(3)])
    log.close()
    assert numbers(path) == [1, 2, 3]


@pytest.mark.parametrize("line", [b"00000000 ", b"00000000", b"X"])
def test_a_checksum_of_nothing_is_no_line(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / PATH
    write(path, [entry(1)])
    content = lines_in(path)
    path.write_bytes(content + line + b"\n"[: len(line) - 1])
    assert numbers(path) == [1]
    assert path.read_bytes() == content


@pytest.mark.parametrize("place", ["_begin", "_take", "_write"])
def test_what_is_interrupted_begins_from_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """As by Ctrl-C."""
    path = tmp_path / PATH
    write(path, [entry(1)], [entry(2)])
    log, inner = AppendLog(path), getattr(AppendLog, place)

    def interrupted(self: AppendLog, *given: object) -> None:
        inner(self, *given)
        raise KeyboardInterrupt

    def use() -> None:
        log.read()
        log.append([entry(3)])

    monkeypatch.setattr(AppendLog, place, interrupted)
    with pytest.raises(KeyboardInterrupt):
        use()
    monkeypatch.undo()
    log.read()
    assert ([each.item.number for each in log.entries], log.last) == ([1, 2], 2)
    log.append([entry(3)])
    log.close()
    assert numbers(path) == [1, 2, 3]


def test_a_file_of_somebody_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / PATH
    path.write_bytes(b"notes")
    log = AppendLog(path)
    with pytest.raises(DamagedSpool):
        log.read()
    log.close()
    assert path.read_bytes() == b"notes"


def test_half_a_character_is_refused(tmp_path: Path) -> None:
    log = read(tmp_path / PATH)
    wrong = entry(1)
    with pytest.raises(ValueError, match="cannot be stored"):
        log.append([wrong._replace(item=wrong.item._replace(external_id="\ud800"))])
    log.close()
