"""Commands without a store, for example with a mistyped folder: one error message, and no output that looks like success."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.databases import own_database
from tests.support.server_process import ROOT, ServerProcess
from tests.support.stores import Store

pytestmark = pytest.mark.scale
COMMANDS = (
    ("prune",),
    ("export", "--user", "ana"),
    ("create_key", "--user", "ana"),
    ("create_user", "ana"),
    ("keys", "--user", "a"),
)


# One process runs all, because each start takes two seconds.
EACH = """
import json, sys
from manage import main
told = []
for command in %r:
    sys.argv = ["manage.py", *command]
    try:
        main()
        told.append("It succeeded.")
    except SystemExit as end:
        told.append(str(end))
print(json.dumps(told))
"""
# A byte that is no UTF-8, as Python passes it on, and places where no file can be.
WRONG = (
    ("create_user", "\udcff"),
    ("export", "--user", "\udcff"),
    ("backup", "--to", "manage.py/backup"),
    ("backup", "--to", "x" * 300),
)


def test_there_is_nothing_to_back_up_and_nothing_to_work_on(tmp_path: Path) -> None:
    with own_database() as settings:
        server = ServerProcess(Store(tmp_path, settings))
        with pytest.raises(AssertionError) as caught:
            server.manage("backup")
        said = str(caught.value).partition("failed:\n")[2]
        assert "There is no store in" in said
        assert "STILLHERE_DATA_DIR" in said
        assert not list(tmp_path.glob("backups/*"))
        for command, said in zip(COMMANDS, json.loads(server.shell(EACH % (COMMANDS,))), strict=True):
            assert said.startswith("The store is not set up yet."), command
            assert "STILLHERE_DATA_DIR" in said
            assert "Traceback" not in said


def test_wrong_arguments_are_told_in_one_line(store: Store) -> None:
    said = json.loads(ServerProcess(store).shell(EACH % (WRONG,)))
    assert [line.partition(":")[0] for line in said[:2]] == ["An argument is not UTF-8"] * 2
    assert said[2:] == ["1", "1"], "an error of the command, which is told on standard error"


@pytest.mark.once
@pytest.mark.parametrize(("output", "code"), [("> /dev/full", 1), ("| true", 141), (">&-", 0)], ids=["full", "nobody", "closed"])
def test_an_output_that_takes_nothing_is_told_in_one_line(store: Store, output: str, code: int) -> None:
    command = f"set -o pipefail; {sys.executable} manage.py keys --user ana {output}"
    environment = ServerProcess(store).environment
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (code, 1 if code == 1 else 0), done.stderr


@pytest.mark.once
def test_an_import_of_a_pipe_says_what_is_wrong(store: Store) -> None:
    command = f"echo | {sys.executable} manage.py import --user ana /dev/stdin"
    environment = ServerProcess(store).environment
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert "not seekable" in done.stderr
