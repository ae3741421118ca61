"""Which tests run: what each of them is marked with, the database, and the command decide."""

import os
from typing import Any

import pytest

from tests.support.databases import ON_POSTGRESQL

DATABASES = {"db", "transactional_db", "first_store"}
LONG = ("browser", "scale", "prove")
# What these are about is above the database: on the second one they are slow tests.
ABOVE_THE_DATABASE = (
    *("api/test_headers", "api/test_not_found", "api/test_schema", "api/test_scoping", "api/test_unknown_fields", "mcp"),
    *(f"clients/python/{name}" for name in ("cli", "spool", "test_cancelled", "test_client", "test_documents")),
    *(f"clients/python/{name}" for name in ("test_event_loops", "test_forks", "test_wires")),
    *("clients/js/claude_agent/test_refusals", "browser/chat", "browser/module"),
    *("config/test_bridge", "config/test_http_limits", "config/test_loaded_libraries"),
    *("frontends/test_assistant_cloud_access", "frontends/test_socket_access", "generation/generations/test_other_model_server"),
    *("memory/errors/test_noise", "pages/test_admin", "pages/test_page_costs", "portability/test_import_refusals"),
    *("portability/test_replay", "scale/load/test_large_bodies", "scale/operations/test_logs"),
)


def choose(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What drives a browser, measures or proves takes the time it takes. Full-size proofs are for `make prove`; so is, on a
    second database, what the suite runs `once`, and what uses no database. `make test-all` runs what is `slow` too."""
    proving = "STILLHERE_PROVE" in os.environ
    again = proving or not ON_POSTGRESQL
    patient = proving or "STILLHERE_TEST_SLOW" in os.environ
    left_out = [name for name, runs in (("prove", proving), ("once", again), ("slow", patient)) if not runs]
    tests = config.rootpath / "tests"
    above = tuple(str(tests / name) for name in ABOVE_THE_DATABASE) if ON_POSTGRESQL and not patient else ()
    wanted: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        is_left_out = any(item.get_closest_marker(name) for name in left_out) or not (again or uses_database(item))
        is_left_out |= str(item.path).startswith(above)
        (others if is_left_out else wanted).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = wanted
    for item in items:
        if any(item.get_closest_marker(name) for name in LONG) and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(3600 if item.get_closest_marker("prove") else 300))


def uses_database(item: Any) -> bool:
    """Tests of servers as processes, and of commands, say that they are of this scale."""
    return bool(item.get_closest_marker("django_db") or item.get_closest_marker("scale") or DATABASES & set(item.fixturenames))
