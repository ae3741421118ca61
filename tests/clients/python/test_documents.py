"""The Python of the documents runs, each page as a program of its own, against a real server."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.python.conftest import PROJECT, SOURCE
from tests.support.live_server import LiveServer
from tests.support.server_process import ROOT

pytestmark = pytest.mark.once
README = ROOT / "clients/python/README.md"
PAGES = sorted((ROOT / "docs/frameworks").glob("*.md"))
DOCUMENTS = [README, *(page for page in PAGES if "```python" in page.read_text())]
PRINTED = {
    "README.md": "['Why does the checkout fail?', 'The cart is empty.']",
    "langgraph.md": "['hello', 'You said: hello']",
    "openai-agents.md": "California",
    "pydantic-ai.md": "California 4",
}
# A model that needs no provider in place of the one that a page names.
MODELS = {
    "openai-agents.md": """
from agents import set_tracing_disabled
from agents.testing import ScriptedModel
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)
model = ScriptedModel()
for answer in ("San Francisco", "California"):
    text = ResponseOutputText(text=answer, type="output_text", annotations=[], logprobs=[])
    model.enqueue([ResponseOutputMessage(id="1", type="message", role="assistant", content=[text], status="completed")])
""",
    "pydantic-ai.md": """
from pydantic_ai.models.test import TestModel

model = TestModel(custom_output_text="California")
""",
}


def program(document: Path) -> str:
    text = "\n".join(re.findall(r"^```python\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE))
    return re.sub(r"^model = .*$", lambda _: MODELS[document.name], text, flags=re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_the_examples_run(document: Path, server: LiveServer, secret: str, tmp_path: Path) -> None:
    settings = {"STILLHERE_URL": server.url, "STILLHERE_KEY": secret, "STILLHERE_PROJECT": PROJECT}
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(SOURCE), **settings}
    done = subprocess.run([sys.executable, "-c", program(document)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert PRINTED[document.name] in done.stdout
