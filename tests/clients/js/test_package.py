"""The package is packed, installed from the file in a clean folder, and used without a browser."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.clients.js.conftest import MODULES, NODE, PACKAGE, STRICT, bundled, copied, needs_packages, run
from tests.formats.packages import ui_messages
from tests.support.chat import Chat
from tests.support.live_server import LiveServer
from tests.support.server_process import ROOT

needs_node = pytest.mark.skipif(NODE is None, reason="Node is missing.")
# Nothing of a page exists here, and no framework is installed.
IMPORTED = """
import { Client, ApiError } from "stillhere";
if (typeof Client !== "function" || typeof ApiError !== "function") throw new Error("incomplete");
console.log(import.meta.resolve("stillhere/browser"), import.meta.resolve("stillhere/ai-sdk"));
"""
RENDERED = """
import { renderToString } from "react-dom/server";
import { useStillhereChat } from "stillhere/ai-sdk";
function Chat() {
  const { status, messages, loaded } = useStillhereChat({ project: "/home/alice/shop", id: "a" });
  return <p>{`${status} ${messages.length} ${loaded}`}</p>;
}
console.log(renderToString(<Chat />));
"""
# React's own modules for servers are CommonJS.
REQUIRE = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);'
USED = """
import { Client } from "stillhere";
const [url, key] = process.argv.slice(2);
const client = new Client({ url, key, project: "/home/alice/shop" });
const { id } = await client.openSession("thread-42", { title: "Checkout bug" });
await client.save(id, [{ id: "m1", role: "user", text: "Why does the checkout fail?" }]);
await client.save(id, Array.from({ length: 600 }, (_, at) => ({ id: `n${at}`, role: "assistant", text: `${at}` })));
const again = await new Client({ url, key, project: "/home/alice/shop" }).openSession("thread-42");
const all = await client.messages(id);
const items = await client.messages(id, { as: "ai-sdk" });
const stream = await client.openStream(id, "a1");
void stream.append(["The cart", " is"]);
await stream.append([" empty."]);
await stream.end();
const read = [];
for await (const chunk of client.readStream(stream.id)) read.push(chunk);
const refused = await client.save("00000000-0000-4000-8000-000000000000", []).catch(({ status }) => status);
const { session } = await client.resume();
console.log(JSON.stringify({ same: again.id === id, all: all.length, items: items.slice(0, 2), read, refused,
  title: session.title, none: await client.findSession("none") }));
"""

# Of a type, each name that the server does not return is an error, and each that it returns and that is not declared is one too.
RESUMED = """
import { Client } from "stillhere";
const resumed = await new Client().resume();
type Names = keyof NonNullable<typeof resumed>;
const returned = RETURNED as const;
const missing: Exclude<Names, (typeof returned)[number]> extends never ? true : never = true;
const undeclared: Exclude<(typeof returned)[number], Names> extends never ? true : never = true;
export { missing, undeclared };
"""


def test_version_and_licence_are_the_repositorys() -> None:
    version = json.loads((PACKAGE / "package.json").read_text())["version"]
    newest = re.search(r"^## (\S+)", (PACKAGE / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == version
    assert (PACKAGE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


@needs_node
@pytest.mark.once
@pytest.mark.scale
def test_it_is_packed_and_installed_from_the_file(tmp_path: Path) -> None:
    package, clean = copied(tmp_path / "source"), tmp_path / "clean"
    clean.mkdir()
    quiet = {"npm_config_cache": str(tmp_path / "cache"), "npm_config_offline": "true", "npm_config_loglevel": "error"}
    (file,) = run("npm", "pack", "--pack-destination", tmp_path, cwd=package, **quiet).split()[-1:]
    assert not (package / "browser").exists()
    (clean / "package.json").write_text("{}")
    run("npm", "install", tmp_path / file, cwd=clean, **quiet)
    (clean / "use.mjs").write_text(IMPORTED)
    module, adapter = run("node", "use.mjs", cwd=clean).split()
    installed = clean / "node_modules/stillhere"
    assert (module, adapter) == ((installed / "browser/stillhere.js").as_uri(), (installed / "src/ai-sdk/index.js").as_uri())
    assert {one.name for one in installed.iterdir()} == {"browser", "src", "CHANGELOG.md", "LICENSE", "README.md", "package.json"}
    assert (installed / "browser/stillhere/types.d.ts").exists()
    assert (installed / "browser/stillhere.js").read_bytes() == (ROOT / "static/js/stillhere.js").read_bytes()


@needs_packages
@pytest.mark.once
def test_a_server_renders_an_empty_chat(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "page.jsx").write_text(RENDERED)
    (tmp_path / "rendered.mjs").write_bytes(
        bundled(tmp_path / "page.jsx", installed, "--platform=node", "--banner:js=" + REQUIRE)
    )
    assert run("node", tmp_path / "rendered.mjs") == "<p>ready 0 false</p>\n"


@needs_node
@pytest.mark.once
def test_the_core_without_a_browser(installed: Path, server: LiveServer, secret: str) -> None:
    script = installed.parent / "use.mjs"
    script.write_text(USED)
    said = json.loads(run("node", script, server.url, secret))
    items = said.pop("items")
    assert said == {
        "same": True, "all": 601, "read": ["The cart", " is", " empty."], "refused": 404, "title": "Checkout bug", "none": None,
    }  # fmt: skip
    assert items[0] == {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Why does the checkout fail?"}]}
    assert ui_messages(items) == "valid"


@needs_packages
@pytest.mark.once
def test_a_resume_has_the_names_that_are_declared(installed: Path, api: Callable[..., Any], alice: User) -> None:
    Chat(api(alice)).say("m1", "hello")
    returned = api(alice).get("/resume?project=/home/alice/shop").json()
    file = installed.parent / "resumed.ts"
    file.write_text(RESUMED.replace("RETURNED", json.dumps(list(returned))))
    run(MODULES / ".bin/tsc", *STRICT, file)
