from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stillhere import Client, Spool
from tests.clients.python.conftest import PROJECT
from tests.clients.python.gate import Gate

type Texts = Callable[[str], list[str]]


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


def say(spool: Spool, *numbers: int) -> None:
    for number in numbers:
        spool.save([{"id": f"m{number}", "role": "user", "text": str(number)}], external_id="t")
