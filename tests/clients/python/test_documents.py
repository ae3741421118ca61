"""The Python of the documents runs, each page as a program of its own, against a real server."""

import gc
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from tests.clients.documents import DOCUMENTS, PAGES, PRINTED, program
from tests.clients.event_loops import own_event_loop
from tests.clients.python.conftest import PROJECT, SOURCE
from tests.support.live_server import LiveServer
from tests.support.server_process import ROOT
from tests.support.suite import is_patient

pytestmark = pytest.mark.once
PYTHONS = {"adk.md": ROOT / ".venv-adk/bin/python"}
# Their frameworks are loaded here already, by other tests: to load them again takes longer than the rest of their tests.
IN_THIS_PROCESS = {"langgraph.md", "openai-agents.md", "pydantic-ai.md"}
# What runs inside of `adk/test_services.py` too.
MARKS = {"adk.md": pytest.mark.slow}


@pytest.mark.parametrize("document", [pytest.param(each, id=each.name, marks=MARKS.get(each.name, ())) for each in DOCUMENTS])
def test_the_examples_run(
    document: Path,
    server: LiveServer,
    secret: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = {"STILLHERE_URL": server.url, "STILLHERE_KEY": secret, "STILLHERE_PROJECT": PROJECT, "HOME": str(tmp_path)}
    if document.name in IN_THIS_PROCESS and not is_patient():
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        run_here(document)
        assert PRINTED[document.name] in capsys.readouterr().out
        return
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), **settings}
    python = PYTHONS.get(document.name, Path(sys.executable))
    if not python.exists() and os.environ.get("STILLHERE_REQUIRE_SERVICES") != "1":
        pytest.skip("scripts/install.sh adk was not run")
    done = subprocess.run([python, "-c", program(document)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert PRINTED[document.name] in done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_page_begins_with_what_a_program_needs(page: Path) -> None:
    """Before the first program: server, key, project and scopes."""
    before = re.split(r"^```(?!sh)\w+$", page.read_text(), maxsplit=1, flags=re.MULTILINE)[0]
    assert "`make run`" in before
    assert "the scopes `read` and `write`" in " ".join(before.split())
    if page in DOCUMENTS:
        assert "\n```sh\nexport STILLHERE_URL=http://127.0.0.1:8000 STILLHERE_KEY=sh_… STILLHERE_PROJECT=" in before


def run_here(document: Path) -> None:
    """Pages leave their clients open, as programs may that end."""
    with warnings.catch_warnings(), own_event_loop():
        warnings.simplefilter("ignore")
        exec(compile(program(document), document.name, "exec"), {"__name__": "__main__"})
        gc.collect()
