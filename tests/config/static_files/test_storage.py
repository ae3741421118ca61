"""What is collected is smaller than its source, and does the same."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from config.http.static_files.storage import HashedStaticFiles

SCRIPT = "/** Said. */\nexport const one = (number) => {\n  const two = number + 1; // why\n  return two;\n};\n"


def collected(folder: Path, files: dict[str, str]) -> dict[str, str]:
    """The files that are there then, by name."""
    for name, text in files.items():
        (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "source" / name).write_text(text)
        (folder / "made" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "made" / name).write_text(text)
    source = HashedStaticFiles(location=folder / "source", base_url="/static/")
    made = HashedStaticFiles(location=folder / "made", base_url="/static/")
    # As Django does it: what it found is still in its source.
    list(made.post_process({name: (source, name) for name in files}))
    top = folder / "made"
    return {str(path.relative_to(top)): path.read_text() for path in top.rglob("*.?s*") if path.suffix in {".js", ".css"}}


def test_scripts_are_minified_under_both_names(tmp_path: Path) -> None:
    pytest.importorskip("minify")
    made = collected(tmp_path, {"js/one.js": SCRIPT})
    assert len(made) == 2
    assert set(made.values()) == {"export const one=e=>{const t=e+1;return t}"}


def test_style_sheets_are_minified_and_name_what_they_ask_for_by_its_hash(tmp_path: Path) -> None:
    pytest.importorskip("minify")
    made = collected(tmp_path, {"css/a.css": "/* why */\n.a {\n  background: url(b.css);\n}\n", "css/b.css": ".b { margin: 0 }"})
    named = next(text for name, text in made.items() if re.fullmatch(r"css/a\.\w{12}\.css", name))
    assert re.fullmatch(r"\.a\{background:url\(\"?b\.\w{12}\.css\"?\)\}", named)


def test_files_of_packages_stay_as_they_are(tmp_path: Path) -> None:
    made = collected(tmp_path, {"admin/js/one.js": SCRIPT})
    assert set(made.values()) == {SCRIPT}


def test_where_nothing_minifies_scripts_are_served_as_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minify", None)
    assert set(collected(tmp_path, {"js/one.js": SCRIPT}).values()) == {SCRIPT}


def test_scripts_are_kept_for_ever_under_hashed_names_and_asked_for_again_under_plain_ones(tmp_path: Path, settings: Any) -> None:
    """Right after an upgrade a browser has the former script under the plain name."""
    names = [f"/static/{name}" for name in collected(tmp_path, {"js/one.js": SCRIPT})]
    settings.STATIC_ROOT = tmp_path / "made"
    options = {"location": settings.STATIC_ROOT, "base_url": "/static/"}
    hashed = {"BACKEND": "config.http.static_files.storage.HashedStaticFiles", "OPTIONS": options}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": hashed}
    said = {name: Client().head(name) for name in names}
    plain = said.pop("/static/js/one.js")
    assert plain["Cache-Control"] == "max-age=0, public"
    again = Client().get("/static/js/one.js", headers={"If-None-Match": plain["ETag"]})
    assert (again.status_code, again["Cache-Control"]) == (304, "max-age=0, public")
    assert ["immutable" in answer["Cache-Control"] for answer in said.values()] == [True]
