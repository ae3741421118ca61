"""Keeps a folder out of the git work tree that it lies in."""

import os
import re
from pathlib import Path

from memory_app.portability.folder.safe_files import open_folder

NAME = ".gitignore"
MOST_BYTES = 1_000_000


def ignore(folder: Path) -> Path | None:
    """Adds `folder` to the `.gitignore` at the root of its work tree, unless it is listed. Returns the file if it was changed.

    None also outside any work tree, or if `folder` is its root. Raises OSError if the file is a link or cannot be written.
    """
    folder = Path(os.path.realpath(folder))
    root = next((parent for parent in folder.parents if (parent / ".git").exists()), None)
    if root is None:
        return None
    line = f"/{_pattern(folder.relative_to(root).as_posix())}/"
    with open_folder(root) as tree:
        try:
            present = tree.read(NAME, most=MOST_BYTES)
        except FileNotFoundError:
            present = b""
        if _is_ignored(present, line, _pattern(folder.name)):
            return None
        newline = b"\r\n" if b"\r\n" in present else b"\n"
        gap = newline if present and not present.endswith(b"\n") else b""
        tree.write(NAME, present + gap + line.encode() + newline)
    return root / NAME


def _pattern(path: str) -> str:
    """The path as a pattern that matches only it; a line break can only be matched by a wildcard."""
    return re.sub(r"[\r\n]", "?", re.sub(r"([\\*?\[])", r"\\\1", path))


def _is_ignored(present: bytes, line: str, name: str) -> bool:
    """Whether the folder is ignored, in any of the usual notations."""
    whole = line.strip("/")
    known = {prefix + path + suffix for path in (whole, name) for prefix in ("", "**/") for suffix in ("", "/")}
    known |= {f"/{whole}", f"/{whole}/"}
    return any(found.strip() in known for found in present.decode("utf-8", "replace").splitlines())
