"""Which tests run: what each of them is marked with, the database, and the command decide. And which of them failed."""

import os
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.databases import ON_POSTGRESQL

DATABASES = {"db", "transactional_db", "first_store"}
LONG = ("browser", "scale", "prove")
# What these are about is above the database: on the second one they are slow tests.
ABOVE_THE_DATABASE = (
    *("accounts", "agents/test_handoff_pages", "agents/test_mcp_words", "agents/transfer/test_transfer_page", "mcp", "pages"),
    *(
        f"api/test_{name}"
        for name in ("edges", "former", "headers", "not_found", "other", "refused", "schema", "scoping", "unknown")
    ),
    *(
        f"api/test_hostile_{name}"
        for name in ("bodies.py::test_an_odd", "bodies.py::test_what_cannot_be_read", "operations.py::test_what_cannot_be_read")
    ),
    *("browser/chat", "browser/module", "chats/search/test_excerpts", "chats/search/test_search_page"),
    *(f"chats/files/test_{name}" for name in ("backed", "bucket", "exported", "files", "shown")),
    *(f"clients/python/{name}" for name in ("cli", "spool", "test_cancelled", "test_client", "test_documents")),
    *(f"clients/python/connections/test_{name}" for name in ("event_loops", "forks", "wires")),
    *("clients/js/assistant_cloud/test_tokens", "clients/js/claude_agent/test_refusals"),
    *(f"config/quick_requests/test_quick_{name}" for name in ("chats", "chunks", "memory")),
    "config/http",
    *(f"config/test_{name}" for name in ("app_icons", "collector", "loaded_libraries", "logs")),
    *("core/test_extension", "core/test_markdown", "core/test_planted_secrets", "core/test_stream_share"),
    *("frontends/test_assistant_cloud_access", "frontends/test_deaf_sockets", "frontends/test_hostile_sockets"),
    *("frontends/test_socket_access", "frontends/test_sockets.py::test_too_large", "frontends/test_sockets.py::test_what_cannot"),
    *(f"generation/generations/test_{name}" for name in ("attachments", "models", "other_model_server")),
    *("memory/batches/test_namespace_settings", "memory/batches/test_paths", "memory/checkpoints/test_threads.py::test_a_wrong"),
    *(f"memory/errors/test_{name}" for name in ("error_pages", "noise", "state_changes")),
    *("memory/portability", "memory/runs/test_run_end", "memory/scenarios"),
    *(f"memory/test_{name}" for name in ("context", "damaged_rows", "memory_editor", "memory_pages", "performance", "persons")),
    *(f"portability/test_{name}" for name in ("import_page", "import_refusals", "import_secrets", "replay")),
    *(
        "scale/failures/test_bad_networks",
        "scale/failures/test_hangups",
        "scale/load/test_floods",
        "scale/load/test_large_bodies",
    ),
    *("scale/load/test_large_imports.py::test_a_file_for", "scale/operations/test_restore.py::test_the_previous_store"),
    *(f"scale/operations/test_{name}" for name in ("commands_without_store", "logs", "serve_and_run")),
)

PROVING = "STILLHERE_PROVE" in os.environ


def choose(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What drives a browser, measures or proves takes the time it takes. Full-size proofs are for `make prove`; so is, on a
    second database, what the suite runs `once`, and what uses no database. `make test-all` runs what is `slow` too."""
    again = PROVING or not ON_POSTGRESQL
    patient = is_patient()
    left_out = [name for name, runs in (("prove", PROVING), ("once", again), ("slow", patient)) if not runs]
    tests = config.rootpath / "tests"
    above = tuple(str(tests / name) for name in ABOVE_THE_DATABASE) if ON_POSTGRESQL and not patient else ()
    wanted: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        is_left_out = any(item.get_closest_marker(name) for name in left_out) or not (again or uses_database(item))
        is_left_out |= f"{item.path}::{item.name}".startswith(above)
        (others if is_left_out else wanted).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = wanted
    for item in items:
        if any(item.get_closest_marker(name) for name in LONG) and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(3600 if item.get_closest_marker("prove") else 300))


def first_of(values: Iterable[Any], count: int) -> list[Any]:
    """Parameters of a test: the first so many are of the suite, the others are `slow`."""
    return [value if number < count else pytest.param(value, marks=pytest.mark.slow) for number, value in enumerate(values)]


def some_of[T](values: Iterable[T], one_in: int) -> Sequence[T]:
    """Of what a test goes through: one in so many, from a random one on; all of them where slow tests run too."""
    known = list(values)
    return known if is_patient() else known[random.randrange(one_in) :: one_in]


def is_patient() -> bool:
    """Do slow tests run too?"""
    return PROVING or "STILLHERE_TEST_SLOW" in os.environ


def uses_database(item: Any) -> bool:
    """Tests of servers as processes, and of commands, say that they are of this scale."""
    return bool(item.get_closest_marker("django_db") or item.get_closest_marker("scale") or DATABASES & set(item.fixturenames))


def list_failures(reporter: pytest.TerminalReporter) -> None:
    """For the end of `make test`: what failed in the first of its four runs is far above that."""
    path = os.environ.get("STILLHERE_TEST_FAILURES")
    if not path or hasattr(reporter.config, "workerinput"):
        return
    with Path(path).open("a") as file:
        for report in (*reporter.stats.get("failed", ()), *reporter.stats.get("error", ())):
            file.write("\n".join(["", report.nodeid, *report.longreprtext.splitlines()[-12:], ""]))
