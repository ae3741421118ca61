"""Whose project, and which, a folder of memory is written from and read into."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memory_app.models import MemoryEntry
from tests.memory.conftest import Memory
from tests.memory.portability.folder_files import export


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The project is a folder, as those of agents are."""
    folder = tmp_path / "shop"
    folder.mkdir()
    return str(folder)


def test_whose_and_which_is_asked_where_it_is_not_clear(memory: Memory, path: str, bob: Any, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="--user"):
        export(path)
    assert export(path, user="alice").is_dir()
    with pytest.raises(CommandError, match="no project"):
        export("/nobody/nothing", user="alice")
    Memory(memory.api, "no folder")
    with pytest.raises(CommandError, match=r"not a folder on this machine\. Name one with --to"):
        export("no folder", user="alice")
    with pytest.raises(CommandError, match=r"no \.stillhere and no \.gasoline"):
        call_command("memory_import", project=str(tmp_path), user="alice")
    written = export(path, user="alice")
    for folder in (tmp_path / "nothing", written):
        with pytest.raises(CommandError, match=r"Cannot read|no project '/mistyped'.*--create"):
            call_command("memory_import", project="/mistyped", user="alice", folder=folder)
    with pytest.raises(CommandError, match="no project"):
        export("/mistyped", user="alice")
    call_command("memory_import", project="/mistyped", user="alice", folder=written, create=True)
    assert export("/mistyped", user="alice", to=tmp_path / "made").is_dir()


def test_a_folder_in_a_project_s_own_makes_the_project(memory: Memory, path: str, tmp_path: Path) -> None:
    memory.put("notes/n", "kept")
    (tmp_path / "new").mkdir()
    export(path, to=tmp_path / "new" / ".stillhere")
    call_command("memory_import", project=str(tmp_path / "new"))
    assert MemoryEntry.objects.filter(project__path=str(tmp_path / "new"), key="n").exists()
