"""In bundles, modules do what they do as single files: each runs once, after what it imports."""

import json
import posixpath
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from config.http.static_files.bundles import BUNDLES, IMPORTED, SHARED, NotUnderstood, bundled
from config.http.static_files.storage import HashedStaticFiles

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="Node is missing.")
# `pages/event.js` is imported by the chat and by another page; `chat/later.js` only when the chat asks for it. `find.js` and
# `marks.js` are in no bundle, and neither is `session/parts.js`, which both import.
PROGRAM = {
    "js/stillhere.js": """
import { ApiError, uuid as unique } from "./stillhere/util.js";
console.log("module", unique(), new ApiError("said").message);
export { ApiError };
export const connect = () => unique();
""",
    "js/stillhere/util.js": """
/** Counts. */
let count = 0; // so far
export class ApiError extends Error {}
export function uuid() {
  count += 1;
  return `id ${count}`;
}
export async function* read() {
  yield* ["read", "twice"];
}
console.log("util");
""",
    "js/pages/common.js": """
import { all } from "./elements.js";
import "./dialog.js";
console.log("common", all);
""",
    "js/pages/elements.js": 'console.log("elements");\nexport const all = "all";\n',
    "js/pages/dialog.js": 'import { all } from "./elements.js";\nconsole.log("dialog", all);\nexport {};\n',
    "js/pages/event.js": 'import { all } from "./elements.js";\nexport const event = { all, times: 0 };\n',
    "js/chat.js": """
import { read } from "./stillhere/util.js";
import { show } from "./chat/view.js";
import "./pages/lightbox.js";
import "./pages/zoom.js";
import { connect } from "./stillhere.js";
const all = "own";
show(connect(), all);
(async () => {
  for await (const word of read()) show(word, all);
})();
""",
    "js/chat/view.js": """
import { event } from "../pages/event.js";
/** @param {import("./types.js").Word[]} words */
export async function show(...words) {
  const { late } = await import("./later.js");
  event.times += 1;
  console.log("shown", late(words), event.times);
}
""",
    "js/chat/later.js": """
import { uuid } from "../stillhere/util.js";
import { event } from "../pages/event.js";
console.log("later");
export const late = (words) => `${words} ${uuid()} ${event.times}`;
""",
    "js/find.js": """
/** Finds. @type {import("./find-types.js").Find} */
import { event as news } from "./pages/event.js";
import "./pages/lightbox.js";
import { part } from "./session/parts.js";
import { all } from "./pages/elements.js";
import "./pages/zoom.js";
console.log("find", news.all, all, part(), (news.times += 10));
export { all, part as piece };
""",
    "js/marks.js": """
import "./session/parts.js";
import { part } from "./session/parts.js";
import "./pages/zoom.js";
console.log("marks", part());
""",
    "js/session/parts.js": """
import "../pages/event.js";
console.log("parts");
let parts = 0;
export const part = () => (parts += 1);
""",
    "js/pages/lightbox.js": 'console.log("lightbox");\n',
    "js/pages/zoom.js": 'import { all } from "./elements.js";\nconsole.log("zoom", all);\n',
    "js/theme.js": "document.documentElement.dataset.theme = localStorage.theme;\n",
}
PAGES = {
    "chat": ["js/pages/common.js", "js/find.js", "js/chat.js"],
    "another page": ["js/pages/common.js", "js/find.js", "js/marks.js"],
    "a page without the others": ["js/find.js"],
    "a frontend": ["js/stillhere.js", "js/stillhere/util.js"],
}


def hashed(name: str, text: str) -> str:
    return name.replace(".js", f".{len(text)}.js")


def collected(folder: Path, sources: dict[str, str]) -> HashedStaticFiles:
    for name, source in sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    storage = HashedStaticFiles(location=folder, base_url="/static/")
    list(storage.post_process({name: (storage, name) for name in sources}))
    return storage


def said(folder: Path, modules: list[str]) -> list[str]:
    """What a page with these modules writes to the console, run by Node."""
    page = folder / "page.mjs"
    page.write_text("".join(f'await import("./{name}");\n' for name in modules))
    (folder / "package.json").write_text('{"type": "module"}')
    done = subprocess.run([str(NODE), str(page)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@needs_node
@pytest.mark.parametrize("page", PAGES)
def test_bundled_modules_say_what_they_say_as_files(tmp_path: Path, page: str) -> None:
    single, together = tmp_path / "single", tmp_path / "together"
    for name, source in PROGRAM.items():
        (single / name).parent.mkdir(parents=True, exist_ok=True)
        (single / name).write_text(source)
    collected(together, PROGRAM)
    expected = said(single, PAGES[page])
    assert len(expected) > 1
    assert said(together, PAGES[page]) == expected


def imported(files: dict[str, str]) -> set[str]:
    """What is loaded with these files at once, not what they ask for later."""
    found = re.compile(r'^import (?:[^"]* from )?"([^"]+)"', re.MULTILINE)
    paths = (posixpath.join(posixpath.dirname(name), other) for name, text in files.items() for other in found.findall(text))
    return {posixpath.normpath(path) for path in paths}


def kept(files: dict[str, str]) -> set[str]:
    """The bundles, as they are named by all who import them."""
    return {hashed(name, text) for name, text in files.items() if name.startswith("js/bundles/")}


def test_every_module_imports_bundles_under_their_hashed_names_and_nothing_else() -> None:
    """A browser may have the file of another version under a plain name, and that would name bundles that are gone."""
    files = bundled(PROGRAM, hashed)
    assert imported(files) <= kept(files)
    assert len(imported({"js/find.js": files["js/find.js"]})) == 3


def test_a_module_outside_of_the_bundles_changes_its_name_with_what_it_imports(tmp_path: Path) -> None:
    """It may be kept for ever."""
    other = {**PROGRAM, "js/pages/elements.js": 'export const all = "other";\n'}
    before, after = collected(tmp_path / "one", PROGRAM), collected(tmp_path / "other", other)
    assert before.stored_name("js/find.js") != after.stored_name("js/find.js")
    assert before.stored_name("js/theme.js") == after.stored_name("js/theme.js")


@needs_node
def test_a_module_runs_once_also_under_its_hashed_name(tmp_path: Path) -> None:
    """Pages name it so; other sites, and who asks for it later, by its plain name."""
    storage = collected(tmp_path, PROGRAM)
    for plain in ("js/pages/common.js", "js/session/parts.js"):
        named = storage.stored_name(plain)
        assert named != plain
        assert said(tmp_path, [named, plain]) == said(tmp_path, [plain])


def test_what_the_chat_shares_with_other_pages_is_not_in_its_bundle() -> None:
    """Else a page that needs one of these modules would load the chat."""
    files = bundled(PROGRAM, hashed)
    find, later, parts, event = (
        f"${sorted(PROGRAM).index(name):x}"
        for name in ("js/find.js", "js/chat/later.js", "js/session/parts.js", "js/pages/event.js")
    )
    assert not {find, later, parts} & set(re.findall(r"\$\w+", "".join(files[name] for name in BUNDLES)))
    assert [name for name in BUNDLES if f"const {event} = " in files[name]] == [SHARED]
    assert "bundles/shared" in files["js/pages/event.js"]


def test_what_is_loaded_and_named_by_no_page_is_listed() -> None:
    """A browser that goes on without the server needs it: what is loaded later, and bundles that only modules name."""
    files = bundled(PROGRAM, hashed)
    parts = "js/bundles/alone/session/parts.js"
    assert json.loads(files[IMPORTED]) == [hashed(parts, files[parts]), "js/chat/later.js"]


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("await connect();\n", "await connect"),
        ('import * as all from "./pages/elements.js";\n', "import [*] as all"),
        ('export { all } from "./pages/elements.js";\n', "export"),
        ("export default 1;\n", "export default"),
        ("export let many = 1;\n", "export let"),
        ("const here = import.meta.url;\n", "import.meta"),
        ('import { gone } from "./chat/gone.js";\n', "there is no js/chat/gone.js"),
        ('import { show } from "./chat/view.js";\nimport { all } from "elements";\n', "import"),
        ('const later = () => import("./chat/gone.js");\n', "there is no js/chat/gone.js"),
        ("const later = (name) => import(name);\n", "import[(]name"),
    ],
)
def test_a_module_that_cannot_be_bundled_is_named(source: str, named: str) -> None:
    with pytest.raises(NotUnderstood, match=f"^js/chat.js cannot be bundled: .*{named}"):
        bundled({**PROGRAM, "js/chat.js": source}, hashed)


def test_modules_that_import_each_other_in_a_circle_are_named() -> None:
    circle = {"js/pages/elements.js": 'import "./dialog.js";\nexport const all = 1;\n'}
    with pytest.raises(NotUnderstood, match="imports itself by way of js/pages/"):
        bundled({**PROGRAM, **circle}, hashed)


@pytest.fixture(scope="module")
def ours() -> dict[str, str]:
    """What is made of our own modules."""
    static = settings.BASE_DIR / "static"
    sources = {path.relative_to(static).as_posix(): path.read_text() for path in (static / "js").rglob("*.js")}
    return bundled(sources, hashed)


def test_our_modules_import_nothing_but_bundles(ours: dict[str, str]) -> None:
    assert imported(ours) <= kept(ours)


def test_of_our_modules_few_are_kept_under_their_plain_names(ours: dict[str, str]) -> None:
    """Types in comments name many more."""
    listed = json.loads(ours[IMPORTED])
    assert {name for name in listed if name in ours} == {
        "js/chat/answering/notification.js",
        "js/chat/input/attachment-line.js",
        "js/chat/input/field-height.js",
        "js/chat/input/long-text.js",
        "js/chat/offline/offline.js",
        "js/forms/typed-input.js",
        "js/pages/keyboard/palette.js",
        "js/pages/message/lightbox.js",
        "js/stillhere.js",
        "js/stillhere/storage/former-keys.js",
    }


def test_our_modules_are_in_bundles(ours: dict[str, str]) -> None:
    assert ours.keys() >= set(BUNDLES)
    assert "bundles/stillhere." in ours["js/stillhere/connection.js"]
    assert "bundles/chat." in ours["js/chat/view.js"]
    assert len(ours) > 80


@needs_node
@pytest.mark.parametrize("bundle", BUNDLES)
def test_our_bundles_are_programs(tmp_path: Path, ours: dict[str, str], bundle: str) -> None:
    script = tmp_path / "bundle.mjs"
    script.write_text(ours[bundle])
    done = subprocess.run([str(NODE), "--check", str(script)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
