"""What the minifier makes of our modules does the same."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from config.http.static_files.storage import minified
from tests.support.server_process import ROOT

TSC = ROOT / "node_modules/.bin/tsc"
pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(
        not TSC.exists() or shutil.which("node") is None, reason="Node or the packages of package.json are missing."
    ),
]
# Used before its declaration; used before being assigned.
TOO_EARLY = re.compile(r"TS(?:2448|2449|2454):")


def checked(folder: Path) -> list[str]:
    """What of these modules is used before it is there."""
    options = ("--noEmit", "--allowJs", "--checkJs", "--noResolve", "--target", "esnext", "--module", "esnext", "--types", "")
    done = subprocess.run([TSC, *options, *map(str, folder.rglob("*.js"))], capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if TOO_EARLY.search(line)]


def put(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(minified(name, text))


def test_nothing_is_used_before_it_is_declared(tmp_path: Path) -> None:
    """The minifier joins declarations, and puts those by a pattern first. In the browser this fails where it runs."""
    [folder] = settings.STATICFILES_DIRS
    for path in Path(folder).rglob("*.js"):
        put(tmp_path, str(path.relative_to(folder)), path.read_text())
    assert checked(tmp_path) == []


def test_it_would_be_noticed(tmp_path: Path) -> None:
    """Where this is no longer so, the minifier is mended, and the test above is not needed."""
    put(
        tmp_path,
        "early.js",
        "export function early(a) {\n  const b = a + 1;\n  const { c, ...d } = f({ b });\n  return [b, c, d];\n}\n",
    )
    assert len(checked(tmp_path)) == 1
