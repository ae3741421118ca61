"""Python does not look for cycles while a server starts, and looks again as soon as it serves."""

import gc
from collections.abc import Iterator

import pytest

from config.server import garbage_collection
from tests.support.live_server import LiveServer


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.enable()
    gc.freeze()


@pytest.mark.parametrize(("command", "paused"), [("serve", True), ("run", True), ("migrate", False), ("", False)])
def test_only_what_will_serve_pauses(command: str, paused: bool) -> None:
    garbage_collection.pause(["manage.py", command, "--no-migrate"])
    assert gc.isenabled() is not paused


def test_a_server_looks_again_and_spares_what_it_loaded(transactional_db: None) -> None:
    garbage_collection.pause(["manage.py", "serve"])
    with LiveServer():
        assert gc.isenabled()
        assert gc.get_freeze_count() > 10_000


def test_elsewhere_nothing_is_spared(transactional_db: None) -> None:
    with LiveServer():
        assert gc.get_freeze_count() == 0
