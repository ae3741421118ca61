"""In bundles, modules do what they do as single files: each runs once, after what it imports."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from config.http.static_files.bundles import BUNDLES, IMPORTED, SHARED, NotUnderstood, bundled
from config.http.static_files.storage import HashedStaticFiles

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="Node is missing.")
# `pages/event.js` is imported by the chat and by another page; `chat/later.js` only when the chat asks for it.
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
import { connect } from "./stillhere.js";
const all = "own";
show(connect(), all);
(async () => {
  for await (const word of read()) show(word, all);
})();
""",
    "js/chat/view.js": """
import { event } from "../pages/event.js";
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
    "js/find.js": 'import { event } from "./pages/event.js";\nconsole.log("find", event.all, (event.times += 10));\n',
}
PAGES = {
    "chat": ["js/pages/common.js", "js/find.js", "js/chat.js"],
    "another page": ["js/pages/common.js", "js/find.js"],
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


@needs_node
def test_a_module_runs_once_also_under_its_hashed_name(tmp_path: Path) -> None:
    """Pages name it so; other modules import it by its plain name."""
    storage = collected(tmp_path, PROGRAM)
    named = storage.stored_name("js/pages/common.js")
    assert named != "js/pages/common.js"
    assert said(tmp_path, [named, "js/pages/common.js"]) == said(tmp_path, ["js/pages/common.js"])


def test_what_the_chat_shares_with_other_pages_is_not_in_its_bundle() -> None:
    """Else a page that needs one of these modules would load the chat."""
    files = bundled(PROGRAM, hashed)
    assert "js/chat/later.js" not in files
    assert "js/find.js" not in files
    assert "$pages_event = " in files[SHARED]
    assert [name for name in BUNDLES if "$pages_event = " in files[name]] == [SHARED]
    assert "bundles/shared" in files["js/pages/event.js"]


def test_the_modules_that_are_loaded_by_their_plain_names_are_listed() -> None:
    """By modules outside of the bundles, or later: a browser that goes on without the server needs these."""
    listed = json.loads(bundled(PROGRAM, hashed)[IMPORTED])
    assert listed == ["js/chat/later.js", "js/pages/event.js", "js/stillhere/util.js"]


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


def test_our_modules_are_in_bundles(ours: dict[str, str]) -> None:
    assert ours.keys() >= set(BUNDLES)
    assert "$stillhere_connection = " in ours["js/bundles/stillhere.js"]
    assert "$chat_view = " in ours["js/bundles/chat.js"]
    assert len(ours) > 80


@needs_node
@pytest.mark.parametrize("bundle", BUNDLES)
def test_our_bundles_are_programs(tmp_path: Path, ours: dict[str, str], bundle: str) -> None:
    script = tmp_path / "bundle.mjs"
    script.write_text(ours[bundle])
    done = subprocess.run([str(NODE), "--check", str(script)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
