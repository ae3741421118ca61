"""A memory folder is not for version control: it is added to `.gitignore` once."""

import subprocess
from pathlib import Path

import pytest

from tests.memory.conftest import Memory
from tests.memory.portability.folder_files import export


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The project is a folder, as those of agents are."""
    folder = tmp_path / "shop"
    folder.mkdir()
    return str(folder)


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout


@pytest.mark.parametrize("before", [None, "", "node_modules/", "*.log\r\ndist\r\n", "dist\n"])
def test_git_is_told_once(memory: Memory, path: str, before: str | None) -> None:
    root = Path(path)
    git(root, "init", "-q")
    ignored = root / ".gitignore"
    if before is not None:
        ignored.write_bytes(before.encode())
    memory.put("notes/n", 1)
    export(path)
    told_once = ignored.read_bytes()
    export(path)
    assert ignored.read_bytes() == told_once
    lines = told_once.decode().splitlines()
    assert lines == [*(before or "").splitlines(), "/.stillhere/"]
    assert (b"\r\n" in told_once) == ("\r\n" in (before or ""))
    assert ".stillhere" not in git(root, "status", "--porcelain", "--untracked-files=all")


@pytest.mark.parametrize("line", [".stillhere", ".stillhere/", "/.stillhere", "**/.stillhere/", "  /.stillhere/  "])
def test_a_gitignore_that_covers_the_folder_is_not_changed(memory: Memory, path: str, line: str) -> None:
    (Path(path) / ".git").mkdir()
    ignored = Path(path) / ".gitignore"
    ignored.write_text(f"a\n{line}\n")
    export(path)
    assert ignored.read_text() == f"a\n{line}\n"


def test_the_line_stands_at_the_root_of_the_work_tree(memory: Memory, path: str) -> None:
    root = Path(path).parent
    (root / ".git").write_text("gitdir: elsewhere")
    export(path)
    assert (root / ".gitignore").read_text() == "/shop/.stillhere/\n"
    odd = root / "a [b]*"
    odd.mkdir()
    export(path, to=odd / "memory")
    assert (root / ".gitignore").read_text().splitlines()[-1] == r"/a \[b]\*/memory/"
    assert not (Path(path) / ".gitignore").exists()


def test_a_gitignore_that_is_a_link_is_left_alone(memory: Memory, path: str, tmp_path: Path) -> None:
    (Path(path) / ".git").mkdir()
    target = tmp_path / "victim"
    target.write_text("untouched")
    (Path(path) / ".gitignore").symlink_to(target)
    export(path)
    assert target.read_text() == "untouched"
