import io
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from stillhere.cli import main
from tests.clients.python.conftest import PROJECT, SOURCE
from tests.support.live_server import LiveServer

RUN = "import sys; from stillhere.cli import main; sys.exit(main())"
type Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def environment(server: LiveServer, secret: str) -> dict[str, str]:
    return {"STILLHERE_URL": server.url, "STILLHERE_KEY": secret, "STILLHERE_PROJECT": PROJECT}


@pytest.fixture
def command(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:  # fmt: skip
    """Runs it; returns the exit code, standard output and standard error."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str, input: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(input.encode())))
        code = main(arguments)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def process(environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Runs it as a process of its own. `redirected`: as a shell writes it. `PYTHON…`: variables."""

    def run(*arguments: str, input: bytes = b"", redirected: str = "", **variables: str) -> subprocess.CompletedProcess[bytes]:
        settings = {**environment, "PYTHONPATH": str(SOURCE), "PATH": os.environ["PATH"], **variables}
        command = ["sh", "-c", f'exec "$@" {redirected}', "sh", sys.executable, "-c", RUN, *arguments]
        return subprocess.run(command, input=input, env=settings, capture_output=True, timeout=60, check=False)

    return run
