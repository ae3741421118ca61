"""Behind the lines of a spool's log is room for the next ones; what was acknowledged is overwritten and makes room again."""

from pathlib import Path

import pytest

from stillhere.spool.append_log import AHEAD, AppendLog, _head
from tests.clients.python.spool.conftest import lines_in
from tests.clients.python.spool.logs import HEAD, PATH, entry, numbers, read, write


@pytest.mark.parametrize("overwritten", [0, 1, 60, 150, 1_000])
def test_a_process_that_dies_while_it_empties_the_file_has_done_it_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwritten: int
) -> None:
    """Or the power goes: then any part of what was overwritten may be there again, behind the next line too."""
    path = tmp_path / PATH
    write(path, [entry(1)], [entry(2)], [entry(3)])
    log = read(path)
    monkeypatch.setattr(AppendLog, "_clear", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        log.empty(0)
    log.close()
    monkeypatch.undo()
    content = lines_in(path)
    for begin in range(HEAD, len(content), 7):
        end = min(begin + overwritten, len(content))
        path.write_bytes(content[:begin] + bytes(end - begin) + content[end:])
        assert numbers(path) == []
        write(path, [entry(4)])
        written = lines_in(path)
        path.write_bytes(written + content[len(written) :])
        assert numbers(path) == [4]
        write(path, [entry(5)])
        assert numbers(path) == [4, 5]


def test_lines_do_not_make_the_file_longer_until_their_room_is_used(tmp_path: Path) -> None:
    path = tmp_path / PATH
    log = read(path)
    sizes = set[int]()
    for number in range(1, 2_000):
        log.append([entry(number)])
        sizes.add(path.stat().st_size)
    assert len(sizes) == log.size // AHEAD + 1
    assert numbers(path) == list(range(1, 2_000))
    log.close()


def test_what_was_acknowledged_is_overwritten_and_its_room_is_used_again(tmp_path: Path) -> None:
    path = tmp_path / PATH
    log = read(path)
    log.append([entry(1), entry(2)])
    size = path.stat().st_size
    log.empty(0)
    assert path.read_bytes() == _head(2) + bytes(size - HEAD)
    log.append([entry(3)])
    assert path.stat().st_size == size
    log.append([entry(4, "x" * AHEAD)])
    log.empty(0)
    assert path.read_bytes() == _head(4)  # A long file gives its room back.
    log.append([entry(5)])
    log.close()
    assert numbers(path) == [5]


def test_a_line_needs_no_room_behind_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a disk that is almost full; and a file of an earlier version has none."""
    path = tmp_path / PATH
    inner = AppendLog._write

    def full(self: AppendLog, start: int, content: bytes) -> None:
        if content == bytes(AHEAD):
            inner(self, start, content[:9])
            raise OSError(28, "No space left on device")
        inner(self, start, content)

    monkeypatch.setattr(AppendLog, "_write", full)
    log, other = read(path), read(path)
    for number in range(1, 6, 2):
        log.append([entry(number)])
        other.read()
        other.append([entry(number + 1)])
        log.read()
    other.close()
    assert numbers(path) == [1, 2, 3, 4, 5, 6]
    size = path.stat().st_size
    assert size == len(lines_in(path)) + 9
    log.empty(0)
    assert path.read_bytes() == _head(6) + bytes(size - HEAD)
    log.close()


def test_lines_that_cannot_be_overwritten_are_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / PATH
    log = read(path)
    log.append([entry(1)])
    inner = AppendLog._write

    def full(self: AppendLog, start: int, content: bytes) -> None:
        inner(self, start, content[: HEAD if start == 0 else 9])
        if start > 0:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(AppendLog, "_write", full)
    log.empty(0)
    assert path.read_bytes() == _head(1)
    monkeypatch.undo()
    log.append([entry(2)])
    log.close()
    assert numbers(path) == [2]
