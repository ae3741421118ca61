"""Settings, tests and files that the documents name exist."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.once
ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
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


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_test_that_is_named_exists(document: Path) -> None:
    for file, test in named(document):
        source = ROOT / "tests" / file
        assert source.exists(), f"{document.name}: {file}"
        assert not test or f"def test_{test.removeprefix('test_')}(" in source.read_text(), f"{document.name}: {file}::{test}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_to_a_file(document: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", document.read_text()):
        assert (document.parent / target).exists(), f"{document.name}: {target}"
