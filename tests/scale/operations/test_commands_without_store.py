"""Commands without a store, for example with a mistyped folder: one error message, and no output that looks like success."""

from pathlib import Path

import pytest

from tests.support.databases import own_database
from tests.support.server_process import ServerProcess
from tests.support.stores import Store

pytestmark = pytest.mark.scale
COMMANDS = (
    ("prune",),
    ("export", "--user", "ana"),
    ("create_key", "--user", "ana"),
    ("create_user", "ana"),
    ("keys", "--user", "a"),
)


def refused(server: ServerProcess, *arguments: str) -> str:
    with pytest.raises(AssertionError) as caught:
        server.manage(*arguments)
    return str(caught.value).partition("failed:\n")[2]


def test_there_is_nothing_to_back_up_and_nothing_to_work_on(tmp_path: Path) -> None:
    with own_database() as settings:
        server = ServerProcess(Store(tmp_path, settings))
        said = refused(server, "backup")
        assert "There is no store in" in said
        assert "STILLHERE_DATA_DIR" in said
        assert not list(tmp_path.glob("backups/*"))
        for command in COMMANDS:
            said = refused(server, *command)
            assert "The store is not set up yet." in said, command
            assert "STILLHERE_DATA_DIR" in said
            assert "Traceback" not in said
