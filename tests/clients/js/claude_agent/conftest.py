"""The packed package and the real Claude Agent SDK in Node, behind a gateway that fails on request."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients.js.conftest import MODULES
from tests.clients.python.gate import Gate

# Each `make()` is a store with a project and a folder of its own.
PREPARED = """
import assert from "node:assert/strict";
import * as sdk from "@anthropic-ai/claude-agent-sdk";
import { StillhereSessionStore, SpoolError } from "stillhere/claude-agent";
const [url, key, folder, given] = process.argv.slice(2);
const GIVEN = JSON.parse(given);
const KEY = { projectKey: "-home-ana-shop", sessionId: "5b1c9a52-9a4c-4d3f-8a6e-0d1d6b8f7c11" };
let made = 0;
const open = (project = "/home/alice/agents", spool = folder) => new StillhereSessionStore({ url, key, project, spool });
const make = () => open(`/home/alice/${(made += 1)}`, `${folder}/${made}`);
const said = (number) => ({ type: "user", uuid: `u${number}`, message: { role: "user", content: `${number}` } });
const say = (value) => console.log(JSON.stringify(value));
"""
type Start = Callable[..., subprocess.Popen[str]]
type Script = Callable[..., Any]


@pytest.fixture
def start(gate: Gate, secret: str, installed: Path, tmp_path: Path) -> Start:
    """Starts code in Node; its folder is the same each time."""
    modules = tmp_path / "node_modules"
    modules.mkdir()
    for package in MODULES.iterdir():
        (modules / package.name).symlink_to(package)
    (modules / "stillhere").symlink_to(installed / "stillhere")

    def started(code: str, **given: Any) -> subprocess.Popen[str]:
        (tmp_path / "script.mjs").write_text(PREPARED + code)
        options = ["--preserve-symlinks", "--preserve-symlinks-main"]  # `stillhere` finds the SDK beside it.
        command = ["node", *options, str(tmp_path / "script.mjs"), gate.url, secret, str(tmp_path / "spool"), json.dumps(given)]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
        )

    return started


@pytest.fixture
def script(start: Start) -> Script:
    """Runs code and returns what it says, if it says something."""

    def ran(code: str, **given: Any) -> Any:
        with start(code, **given) as process:
            output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, output + errors
        return json.loads(output) if output else None

    return ran
