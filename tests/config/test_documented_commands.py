"""Every command of the documents runs: those in blocks against a real server, those in sentences as far as they are parsed.

A new block is run without further ado. A command that cannot be run here belongs into `NOT_RUN`, with the reason.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand, CommandParser

from tests.support.server_process import ROOT, ServerProcess
from tests.support.stores import Store

pytestmark = [pytest.mark.once, pytest.mark.scale]
DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md")] + sorted((ROOT / "docs").rglob("*.md"))
# Languages of blocks that hold no commands. `js` is run by tests/browser/pages/test_readme.py, `jsx` by
# tests/clients/js/test_documents.py, `python` by tests/clients/python/test_documents.py.
NO_COMMANDS = {"", "js", "json", "jsx", "python", "ts"}
RESTORE = "make restore FROM=data/backups/stillhere-….sqlite3"
NOT_RUN = {
    "make run": "installs first; tests/scale/operations/test_serve_and_run.py runs `manage.py run`",
    "make test": "runs this test",
    "STILLHERE_CORS_ORIGINS=http://127.0.0.1:8080 make run": "installs first; as `make run`",
    "python3 -m http.server 8080 --bind 127.0.0.1": "serves until it is ended",
    'claude mcp add --transport http stillhere "http://127.0.0.1:8000/mcp?project=/home/ana/agents" '
    '--header "Authorization: Bearer $KEY"': "needs Claude Code",
    "claude mcp add stillhere -- /opt/stillhere/.venv/bin/python /opt/stillhere/manage.py mcp --project /home/ana/agents": (
        "needs Claude Code"
    ),
    "git pull": "there is no other repository",
    "make serve": "installs first; tests/scale/operations/test_serve_and_run.py runs `manage.py serve`",
    "STILLHERE_PUBLIC_URL=https://chat.example.org STILLHERE_TRUSTED_PROXIES=1 "
    "STILLHERE_DATABASE_URL=postgresql://stillhere:…@127.0.0.1/stillhere STILLHERE_REDIS_URL=redis://127.0.0.1/0 "
    "STILLHERE_WORKERS=2 make serve": "installs first; tests/scale/operations/test_serve_and_run.py runs `manage.py serve`",
    "POSTGRES_PASSWORD=… docker compose up -d": "needs a container engine",
    "docker compose exec server python manage.py create_user ana": "needs a container engine",
    RESTORE: "needs a stopped server: the test runs it at the end",
}
# `curl` fails on a refusal, and `make` works without installing anything.
PREAMBLE = """
set -euo pipefail
curl() { command curl --fail-with-body --silent --show-error "$@"; }
make() { command make --no-print-directory -C "$ROOT" PYTHON="$PYTHON" "$@"; }
"""
PATH, ADDRESS = "/home/ana/shop", "http://127.0.0.1:8000"
OWNER = """
from django.core.management import call_command
call_command("create_user", "owner")
call_command("create_key", user="owner")
"""
EXAMPLE_ID = "0198c0de-0000-7000-8000-000000000000"
CHAT = [{"role": "user", "content": "Is the cart empty?"}, {"role": "assistant", "content": "It is empty after the payment."}]


def blocks() -> Iterator[tuple[str, str]]:
    """Language and content of every fenced block."""
    for document in DOCUMENTS:
        yield from re.findall(r"^```(\w*)\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE)


def commands() -> list[tuple[str, str]]:
    """Every command of a block, as it is printed, and on one line. None has a comment: see test_pasted_commands.py."""
    found = []
    for language, content in blocks():
        unfinished = ""
        for line in content.splitlines() if language == "sh" else ():
            unfinished += line + "\n"
            if line.endswith(("\\", "|")) or unfinished.count("'") % 2:
                continue
            plain = " ".join(re.sub(r"\\$", "", unfinished, flags=re.MULTILINE).split())
            found += [(unfinished, plain)] if plain else []
            unfinished = ""
        assert not unfinished, unfinished
    return found


def in_sentences(program: str) -> list[str]:
    """What follows the program's name in each `…` outside of blocks."""
    found: set[str] = set()
    for document in DOCUMENTS:
        prose = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
        found |= set(re.findall(rf"`(?:[^`\n]* )?(?:\S*/)?{re.escape(program)} ([^`\n]+)`", prose))
    return sorted(found)


def parser_of(name: str) -> CommandParser:
    command = get_commands()[name]
    return (command if isinstance(command, BaseCommand) else load_command_class(command, name)).create_parser("manage.py", name)


def run(server: ServerProcess, folder: Path, script: str) -> str:
    """What the commands print."""
    script = script.replace(".venv/bin/python manage.py", '"$PYTHON" "$ROOT/manage.py"')
    script = script.replace(ADDRESS, server.url).replace(PATH, str(folder / "shop"))
    environment = {**server.environment, "ROOT": str(ROOT), "PYTHON": sys.executable}
    done = subprocess.run(
        ["bash", "-c", PREAMBLE + script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="the documents use curl")
def test_the_commands_of_all_blocks_run_one_after_the_other(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    (folder / "shop").mkdir(parents=True)
    (folder / "conversations.json").write_text(json.dumps(CHAT))
    (folder / "diagram.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with ServerProcess(store) as server:
        key = server.shell(OWNER).splitlines()[-1]
        server.environment["STILLHERE_KEY"] = key
        script = "".join(printed for printed, plain in commands() if plain not in NOT_RUN)
        said = run(server, folder, script.replace("sh_…", key))
    assert '"text":"The cart is empty."' in said.replace('": "', '":"')
    assert re.search(r"^sh_\w+$", said, re.MULTILINE)
    assert (tmp_path / "shop-memory/notes/cart.json").exists()
    assert (folder / "all.ndjson").stat().st_size
    *_, backup = re.findall(r"\S*/backups/\S+", said)
    run(server, folder, RESTORE.replace(RESTORE.partition("FROM=")[2], shlex.quote(backup)))


def test_what_is_not_run_is_still_documented() -> None:
    assert set(NOT_RUN) <= {plain for _, plain in commands()}


def test_no_block_is_written_in_another_language() -> None:
    assert {language for language, _ in blocks()} == {*NO_COMMANDS, "sh"}


@pytest.mark.parametrize("command", in_sentences("manage.py"))
def test_a_management_command_in_a_sentence_takes_its_arguments(command: str) -> None:
    name, *arguments = [EXAMPLE_ID if word == "ID" else word for word in shlex.split(command)]
    parser = parser_of(name)
    if arguments:
        parser.parse_args(arguments)


@pytest.mark.parametrize("command", in_sentences("make"))
def test_a_make_command_in_a_sentence_has_its_target(command: str) -> None:
    dry = subprocess.run(["make", "-n", *shlex.split(command)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert dry.returncode == 0, dry.stderr
