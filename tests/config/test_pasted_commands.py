"""Commands of the documents can be pasted into an interactive zsh, the shell of macOS.

To it `#` begins no comment, so it runs what a comment says, backticks included, and it refuses `?`, `*` and `[` where no file
matches.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.server_process import ROOT

pytestmark = pytest.mark.once
NAMED = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md")]
FOUND = [path for pattern in ("docs/**/*.md", "clients/*/README.md", "examples/**/README.md") for path in ROOT.glob(pattern)]
DOCUMENTS = NAMED + sorted(path for path in FOUND if "node_modules" not in path.parts)
PROGRAMS = r"claude|curl|docker|export|git|make|npm|npx|pip|python3?|stillhere|\S*/python|[A-Z_]+=\S+"
# A block without a language that holds commands: it would not be looked at. `# ` is a comment above a command.
COMMAND = rf"^(?:\$ |# |(?:{PROGRAMS}) )"


def blocks(document: Path) -> list[tuple[str, str]]:
    """Language and content of every fenced block, also of those that are indented."""
    return re.findall(r"^ *```([^\n`]*)\n(.*?)^ *```", document.read_text(), re.DOTALL | re.MULTILINE)


def unquoted(script: str) -> Iterator[tuple[str, str]]:
    """Each character outside of quoted strings, with the one before it."""
    quote, before = "", "\n"
    characters = iter(script)
    for character in characters:
        if character == "\\" and quote != "'":
            next(characters, "")
            before = "\\"
            continue
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            yield before, character
        before = character
    assert not quote, f"a string has no end: {script}"


def special(script: str) -> list[str]:
    """What an interactive zsh would not take as bash does."""
    return [each for before, each in unquoted(script) if each in "`?*[" or (each == "#" and before in " \t\n;|&(")]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_block_can_be_pasted_into_zsh(document: Path) -> None:
    for language, content in blocks(document):
        if language == "sh":
            assert special(content) == [], content
        elif not language:
            assert not re.search(COMMAND, content, re.MULTILINE), f"a block of commands is named sh: {content}"


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("make run  # and `make test`\n", ["#", "`", "`"]),
        ("# a line of its own\n", ["#"]),
        ("curl $API/search?q=a -d '{\"a\": [1]}'\n", ["?"]),
        ("ls *.md [a]\n", ["*", "["]),
        ('curl "$API/search?q=a#b" -H "a: \\"*\\"" -d \'{"a": "\'$B\'", "b": [1]}\' \\\n  -o a#b\n', []),
    ],
)
def test_what_is_found(script: str, found: list[str]) -> None:
    assert special(script) == found
