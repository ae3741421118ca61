"""What a client is made with, and what it says while its server is away."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.clients.js.conftest import NODE, run
from tests.support.live_server import LiveServer
from tests.support.server_process import free_port

pytestmark = [pytest.mark.skipif(NODE is None, reason="Node is missing."), pytest.mark.once]
PREPARED = """
import { Client } from "stillhere";
for (const name of ["STILLHERE_URL", "STILLHERE_KEY", "STILLHERE_PROJECT"]) delete process.env[name];
const GIVEN = JSON.parse(process.argv[2]);
const say = (value) => console.log(JSON.stringify(value));
const refusal = (options) => {
  try {
    new Client({ url: "http://127.0.0.1:8000", key: "sh_x", project: "p", ...options });
    return null;
  } catch ({ name, message }) {
    return `${name}: ${message}`;
  }
};
"""
PLACEHOLDER = "TypeError: `key` is the placeholder. `make run` prints a key, and the page /keys/ makes some."


def ran(folder: Path, installed: Path, code: str, **given: Any) -> Any:
    (folder / "node_modules").symlink_to(installed)
    (folder / "script.mjs").write_text(PREPARED + code)
    return json.loads(run("node", folder / "script.mjs", json.dumps(given)))


def test_what_is_missing_or_wrong_is_named(installed: Path, tmp_path: Path) -> None:
    wrong = ["127.0.0.1:8000", "chat.example.org", "localhost:8000", "ftp://127.0.0.1", "http://", "http://127.0.0.1/?a=1"]
    code = """
    const missing = ["url", "key", "project"].map((name) => refusal({ [name]: undefined }));
    const empty = refusal({ key: "" });
    process.env.STILLHERE_KEY = "sh_x";
    const found = refusal({ key: "" });
    const keys = ["sh_…", "sh_..."].map((key) => refusal({ key }));
    say({ missing, empty, found, keys, urls: GIVEN.urls.map((url) => refusal({ url })) });
    """
    said = ran(tmp_path, installed, code, urls=wrong)
    assert said["missing"] == [
        "TypeError: Pass `url`, or set STILLHERE_URL.",
        "TypeError: Pass `key`, or set STILLHERE_KEY.",
        "TypeError: Pass `project`, or set STILLHERE_PROJECT.",
    ]
    assert (said["empty"], said["found"]) == (said["missing"][1], None)
    assert said["keys"] == [PLACEHOLDER] * 2
    expected = "TypeError: `url` begins with http:// or https:// and a name, and has no query: "
    assert said["urls"] == [expected + url for url in wrong]


def test_the_address_of_the_api_is_that_of_the_server(installed: Path, tmp_path: Path, server: LiveServer, secret: str) -> None:
    code = """
    const ids = [];
    for (const end of ["", "/", "/api/v1", "/api/v1/"]) {
      const client = new Client({ url: GIVEN.url + end, key: GIVEN.key, project: "/home/alice/shop" });
      ids.push((await client.openSession("a")).id);
    }
    say(new Set(ids).size);
    """
    assert ran(tmp_path, installed, code, url=server.url, key=secret) == 1


def test_one_folder_is_one_project(installed: Path, tmp_path: Path) -> None:
    folders = ["/home/ana/shop", " /home/ana/shop/ ", "//home//ana/./shop//", "/home/ben/../ana/shop"]
    others = ["shop", " my shop/ ", "/", "~/shop"]
    code = """
    say(GIVEN.named.map((project) => new Client({ url: "http://127.0.0.1:8000", key: "sh_x", project }).project));
    """
    expected = ["/home/ana/shop"] * 4 + ["shop", "my shop/", "/", "~/shop"]
    assert ran(tmp_path, installed, code, named=folders + others) == expected


def test_a_server_that_is_away_is_told_soon_and_by_its_address(installed: Path, tmp_path: Path) -> None:
    """Once, though two requests wait for it."""
    code = """
    const told = [];
    const begun = performance.now();
    console.warn = (text) => told.push([text, performance.now() - begun]);
    const client = new Client({ url: GIVEN.url, key: "sh_x", project: "p" });
    client.patience = 6000;
    const [ended] = await Promise.all([1, 2].map(() => client.resume().catch(({ message }) => message)));
    say({ ended, told });
    """
    port = free_port()
    said = ran(tmp_path, installed, code, url=f"http://127.0.0.1:{port}")
    why = f"http://127.0.0.1:{port} does not answer: connect ECONNREFUSED 127.0.0.1:{port}."
    assert said["ended"] == why
    [[told, after]] = said["told"]
    # Before the pause that ends after two seconds: after 0.4 s at the soonest, with the shortest pauses that chance gives.
    assert re.fullmatch(re.escape(f"[Stillhere] {why} It is tried again for ") + r"[3456] s\.", told)
    assert 300 < after < 4000
