"""Scripts are served without their comments, and with nothing else left out."""

import re
from pathlib import Path

import pytest
from django.conf import settings

from config.http.static_files import HashedStaticFiles, without_comments

SCRIPTS = sorted((settings.BASE_DIR / "static" / "js").rglob("*.js"))
_COMMENT = re.compile(r"/\*(?s:.*?)\*/|//[^\n]*")


def test_only_lines_of_comment_are_left_out() -> None:
    script = "/** What it is. */\nconst a = 1; // why\n/*\n * more\n */\n  // a line\nconst b = `// ${a}`;\n"
    assert without_comments(script) == "const a = 1; // why\nconst b = `// ${a}`;\n"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_nothing_but_comments_is_left_out_of_our_scripts(script: Path) -> None:
    """A template of several lines could hold a line that looks like one."""
    text = script.read_text()
    left = iter(without_comments(text).splitlines(keepends=True))
    following = next(left, None)
    gone = ""
    for line in text.splitlines(keepends=True):
        if line == following and not _inside(gone):
            following, gone = next(left, None), ""
        else:
            gone += line
            assert "`" not in _COMMENT.sub("", gone) or _inside(gone), (script, line)
    assert following is None


def _inside(gone: str) -> bool:
    return gone.count("/*") > gone.count("*/")


def test_what_is_collected_has_none(tmp_path: Path) -> None:
    (tmp_path / "js").mkdir()
    (tmp_path / "js" / "one.js").write_text("/** Said. */\nexport const one = 1;\n")
    storage = HashedStaticFiles(location=tmp_path, base_url="/static/")
    names = [name for name, _, _ in storage.post_process({"js/one.js": (storage, "js/one.js")})]
    assert "js/one.js" in names
    found = [path.read_text() for path in (tmp_path / "js").glob("*.js")]
    assert found == ["export const one = 1;\n"] * 2
