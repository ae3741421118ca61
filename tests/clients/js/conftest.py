"""The package as it is packed, a page that is bundled with it, and the real React and AI SDK."""

import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import browser, chromium
from tests.browser.driving import Browser
from tests.clients.js.chat_page import ChatPage
from tests.clients.js.chat_site import Site
from tests.clients.python.gate import Gate
from tests.support.live_server import LiveServer
from tests.support.server_process import ROOT

__all__ = ["browser", "chromium"]
PACKAGE = ROOT / "clients/js"
MODULES = ROOT / "node_modules"
NODE = shutil.which("node")
# For the TypeScript compiler: a program outside of the repository.
STRICT = ("--strict", "--noEmit", "--target", "es2024", "--module", "esnext", "--moduleResolution", "bundler", "--types", "")
needs_packages = pytest.mark.skipif(
    NODE is None or not (MODULES / "@ai-sdk/react").exists(), reason="Node or the packages of package.json are missing."
)


def copied(folder: Path) -> Path:
    """The package's source beside what it is packed from."""
    shutil.copytree(PACKAGE, folder / "clients/js", ignore=shutil.ignore_patterns("browser", "*.tgz", "node_modules"))
    shutil.copytree(ROOT / "static/js/stillhere", folder / "static/js/stillhere")
    for name in ("stillhere.js", "stillhere.d.ts"):
        shutil.copy(ROOT / "static/js" / name, folder / "static/js" / name)
    return folder / "clients/js"


def run(*command: object, cwd: Path = ROOT, **environment: str) -> str:
    variables = {**os.environ, **environment}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=variables, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A `node_modules` with the package's files in it."""
    folder = tmp_path_factory.mktemp("package")
    package = copied(folder / "source")
    run("node", "pack.js", cwd=package)
    shutil.copytree(package, folder / "node_modules/stillhere")
    return folder / "node_modules"


def bundled(page: Path, installed: Path, *more: str) -> bytes:
    """A page with all that it imports, in one file. With React's strict mode, which only its development build has."""
    made = installed.parent / "bundled.js"
    options = (
        "--bundle",
        "--format=esm",
        "--jsx=automatic",
        '--define:process.env.NODE_ENV="development"',
        "--log-level=warning",
    )
    run(MODULES / ".bin/esbuild", page, *options, *more, f"--outfile={made}", NODE_PATH=f"{installed}:{MODULES}")
    return made.read_bytes()


@pytest.fixture(scope="session")
def script(installed: Path) -> bytes:
    return bundled(Path(__file__).with_name("page.js"), installed)


@pytest.fixture
def gate(server: LiveServer) -> Iterator[Gate]:
    with Gate(server.host) as gate:
        yield gate


@pytest.fixture
def site(script: bytes, settings: Any) -> Iterator[Site]:
    with Site(script) as site:
        settings.CORS_ALLOWED_ORIGINS = [site.url]
        yield site


@pytest.fixture
def page(browser: Browser, site: Site, server: LiveServer, secret: str) -> Iterator[ChatPage]:
    """One chat, not opened yet."""
    options = {"url": server.url, "key": secret, "project": f"/home/alice/{uuid.uuid4()}", "id": "a"}
    yield ChatPage(browser, site.url, options)
    browser.leave()  # Before the server: it answers to the end.
