import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from stillhere import Client, Spool
from stillhere.spool.items import Item
from stillhere.spool.storage import Storage
from tests.clients.python.conftest import PROJECT
from tests.clients.python.gate import Gate

type Texts = Callable[[str], list[str]]
SCOPES = ["here", "there"]
SESSIONS = ["t", "u"]
LOG = "spool.db-log"


@pytest.fixture
def texts(client: Client) -> Texts:
    """What a session has, by its external id."""

    def read(external_id: str) -> list[str]:
        found = client.find_session(external_id)
        if found is None:
            return []
        items = client.read_messages(found.id, limit=200).items
        return [each.text for each in items]

    return read


@pytest.fixture
def new_spool(gate: Gate, secret: str, tmp_path: Path) -> Iterator[Callable[[], Spool]]:
    """Each as in another process, on one file."""
    made: list[Spool] = []

    def make() -> Spool:
        made.append(Spool(tmp_path / "kept" / "spool.db", gate.url, secret, PROJECT))
        return made[-1]

    yield make
    for spool in made:
        spool.close(0)


def lines_in(log: Path) -> bytes:
    """Without the room behind them."""
    return log.read_bytes().rstrip(b"\0")


def say(spool: Spool, *numbers: int) -> None:
    for number in numbers:
        spool.save([{"id": f"m{number}", "role": "user", "text": str(number)}], external_id="t")


class _FullFile:
    """Takes a part of a write behind the lines, and then no more."""

    def __init__(self, file: BinaryIO, end: int) -> None:
        self._file, self._most = file, end + 20

    def write(self, content: bytes) -> int:
        room = self._most - self._file.tell()
        if room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._file.write(content[:room])

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)


@contextmanager
def full_disk(spool: Spool) -> Iterator[None]:
    """For the files of this spool: neither the log nor the table takes more."""
    storage = spool._storage
    with storage._lock:
        file = storage._log._file
        (pages,) = storage._db.execute("PRAGMA page_count").fetchone()
        storage._db.execute(f"PRAGMA max_page_count = {pages}").fetchone()
        storage._log._opened = cast(BinaryIO, _FullFile(file, len(lines_in(storage._log.path))))
    try:
        yield
    finally:
        with storage._lock:
            storage._db.execute("PRAGMA max_page_count = 100000").fetchone()
            storage._log._opened = file


def item(text: str, session: str = SESSIONS[0]) -> Item:
    return Item(0, None, session, "{}", "writer", 1, None, text, 0)


def all_of(store: Storage) -> list[Item]:
    found, last = list[Item](), 0
    while some := store.next_after(last):
        for each in some:
            assert each.number > last
            found.append(each)
            last = each.number
    return found


def waiting(store: Storage) -> list[str]:
    return [each.ops for each in all_of(store)]


@contextmanager
def opened(path: Path, scope: str = SCOPES[0]) -> Iterator[Storage]:
    store = Storage(path, scope)
    try:
        yield store
    finally:
        store.close()
