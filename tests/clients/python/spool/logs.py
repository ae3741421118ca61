"""A spool's log, as other processes read and write it."""

from pathlib import Path

from stillhere.spool.append_log import AppendLog, Entry, _head
from stillhere.spool.items import Item

PATH = "spool.db-log"
# The first line.
HEAD = len(_head(0))


def entry(number: int, text: str = "two words") -> Entry:
    return Entry("scope", 1.5, Item(number, None, "t", "{}", "writer", 8192 * number, None, f'[{{"text":"{text}"}}]', 0))


def read(path: Path) -> AppendLog:
    """As another process has it."""
    log = AppendLog(path)
    log.read()
    return log


def numbers(path: Path) -> list[int]:
    log = read(path)
    log.close()
    return [each.item.number for each in log.entries]


def write(path: Path, *groups: list[Entry]) -> None:
    log = read(path)
    for group in groups:
        log.append(group)
    log.close()
