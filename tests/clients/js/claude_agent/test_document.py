"""The code of the document with the real SDK: the second question knows the answer to the first one."""

import re
from pathlib import Path

import pytest

from tests.clients.js.claude_agent.conftest import Start
from tests.clients.js.claude_agent.test_store import pytestmark as needs_sdk
from tests.clients.js.test_documents import blocks
from tests.clients.python.gate import Gate
from tests.support.server_process import ROOT

pytestmark = [pytest.mark.once, needs_sdk]
IMPORTS = re.compile(r"^import .*$", re.MULTILINE)
OPTIONS = "{ pathToClaudeCodeExecutable: GIVEN.program, executable: 'node', "


def test_the_code_of_the_document(start: Start, gate: Gate, secret: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (code,) = blocks(ROOT / "docs/frameworks/claude-agent.md", "js")
    code = code.replace("http://127.0.0.1:8000", gate.url).replace("sh_…", secret).replace("options: { ", f"options: {OPTIONS}")
    # The SDK comes from the tests' preparation; the store is imported there already.
    code = "const { query } = sdk;" + IMPORTS.sub("", code)
    with start(code, program=str(Path(__file__).with_name("program.js"))) as process:
        output, errors = process.communicate(timeout=60)
    assert output == "San Francisco\nCalifornia\n", errors
    assert list((tmp_path / "state/stillhere/claude-agent-js").glob("*.json")) == []
