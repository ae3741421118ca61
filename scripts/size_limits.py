"""Prints what exceeds the limits in CONTRIBUTING.md: long functions, long files, full folders. Exits with 1 if there is any.

What is in migrations is exempt: Django writes it, and it must stay as it was released. So are documents, and the root
folder, where tools look for their files. Biome limits the functions of JavaScript (`biome.json`).
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (
    "benchmarks",
    "clients",
    "config",
    "docs",
    "generation_app",
    "mcp_app",
    "memory_app",
    "nouns",
    "scripts",
    "sessions_app",
    "static",
    "templates",
    "tests",
)
NOT_SOURCE = {"__pycache__"}
MIGRATIONS = "migrations"
SUFFIXES = {".css", ".html", ".js", ".py", ".sh", ".ts"}
FUNCTION_LINES = 35
FILE_LINES = 300
ENTRIES, ENTRIES_OF_TESTS = 14, 20


def too_large(root: Path = ROOT) -> Iterator[str]:
    """One line for each excess."""
    for name in FOLDERS:
        for folder, folders, files in (root / name).walk():
            folders[:] = [one for one in folders if one not in NOT_SOURCE]
            if folder.name == MIGRATIONS:
                continue
            place = folder.relative_to(root)
            most = ENTRIES_OF_TESTS if name == "tests" else ENTRIES
            if len(folders) + len(files) > most:
                yield f"{place}: {len(folders) + len(files)} entries, at most {most}"
            for file in files:
                if Path(file).suffix in SUFFIXES:
                    yield from _too_long(folder / file, str(place / file))


def _too_long(path: Path, name: str) -> Iterator[str]:
    text = path.read_text()
    lines = len(text.splitlines())
    if lines > FILE_LINES:
        yield f"{name}: {lines} lines, at most {FILE_LINES}"
    if path.suffix != ".py":
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield f"{name}: {node.name} has {length} lines, at most {FUNCTION_LINES}"


if __name__ == "__main__":
    found = sorted(too_large())
    print("\n".join(found))
    sys.exit(bool(found))
