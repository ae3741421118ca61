"""Settings, tests, files and headings that the documents name exist."""

import re
from pathlib import Path

import pytest

from sessions_app.chats.saving.message_input import REASONS
from sessions_app.models.event import EventType

pytestmark = pytest.mark.once
ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
OF_PACKAGES = sorted([*(ROOT / "clients").glob("*/*.md"), *(ROOT / "examples").rglob("*.md")])
# Read by a command, not by the settings.
ELSEWHERE = {"STILLHERE_KEY"}


def named(document: Path) -> list[tuple[str, str]]:
    """Test files and the test that is named of each (empty: none), as the tables have them."""
    found = re.findall(r"`(?:tests/)?((?:\w+/)*test_\w+\.py)(?:::(\w+))?`", document.read_text())
    return [(str(file), str(test)) for file, test in found]


def test_every_setting_is_documented() -> None:
    read = re.findall(r'env\.\w+\(\s*"(\w+)"', (ROOT / "config" / "settings.py").read_text())
    documented = set(re.findall(r"`(STILLHERE_[A-Z_]*[A-Z])`", (ROOT / "docs" / "configuration.md").read_text()))
    assert documented - ELSEWHERE == {f"STILLHERE_{name}" for name in read}


def test_every_reason_and_every_event_is_in_the_protocol() -> None:
    """An author of a client has nothing but this page."""
    told = set(re.findall(r"`(\w+)`", (ROOT / "docs" / "protocol.md").read_text()))
    assert {*REASONS, *EventType.values} - told == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_test_that_is_named_exists(document: Path) -> None:
    for file, test in named(document):
        source = ROOT / "tests" / file
        assert source.exists(), f"{document.name}: {file}"
        assert not test or f"def test_{test.removeprefix('test_')}(" in source.read_text(), f"{document.name}: {file}::{test}"


def test_every_file_that_the_architecture_names_exists() -> None:
    top = [path for path in ROOT.iterdir() if path.is_dir() and not path.is_symlink() and not path.name.startswith(".")]
    found = [*ROOT.glob("*.*"), *(file for folder in top for file in folder.rglob("*.*"))]
    files = [f"/{file.relative_to(ROOT)}" for file in found]
    told = set(re.findall(r"`((?:[\w-]+/)*[\w-]+\.(?:py|js|ts|css))", (ROOT / "ARCHITECTURE.md").read_text()))
    assert sorted(name for name in told if not any(file.endswith(f"/{name}") for file in files)) == []


def anchors(document: Path) -> set[str]:
    """Of its headings, as a forge makes them."""
    prose = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", [*DOCUMENTS, *OF_PACKAGES], ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(document: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", document.read_text()):
        file, _, heading = target.partition("#")
        linked = document.parent / file if file else document
        assert linked.exists(), f"{document.name}: {target}"
        assert not heading or heading in anchors(linked), f"{document.name}: {target}"


@pytest.mark.parametrize("document", [*DOCUMENTS, *OF_PACKAGES], ids=lambda path: str(path.relative_to(ROOT)))
def test_every_row_is_below_a_heading_of_its_table(document: Path) -> None:
    """After an empty line rows would be shown as they are written."""
    prose = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    for table in re.findall(r"(?:^\|.*\n)+", prose, re.MULTILINE):
        assert re.match(r"\|.*\n\|[ :|-]+\|\n", table), table
