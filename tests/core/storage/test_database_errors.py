"""What a database says when it takes no more connections: a reason of its own, and a line that names what can be changed."""

import os
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings as configured
from django.contrib.auth.models import User
from django.db import DEFAULT_DB_ALIAS, OperationalError, ProgrammingError, connection, connections
from django.test import Client

from config.http import asgi, bridge
from config.server import background
from generation_app.generations import runner
from sessions_app.core.storage import database_errors
from sessions_app.core.storage.database_errors import (
    LoginRefused,
    NoConnectionLeft,
    StoreNotReady,
    StoreUnreachable,
    as_app_error,
)
from sessions_app.events import hub
from sessions_app.pages.dashboard import home_page
from sessions_app.pages.health import probes
from sessions_app.projects import api as projects_api
from tests.support.databases import ON_POSTGRESQL
from tests.support.server_process import ServerProcess
from tests.support.stores import Store

SAID = (
    'connection failed: connection to server at "127.0.0.1", port 5432 failed: FATAL:  sorry, too many clients already',
    "connection failed: FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute",
    'connection failed: FATAL:  too many connections for role "stillhere"',
    'connection failed: FATAL:  too many connections for database "stillhere"',
)
DOCS = Path(configured.BASE_DIR) / "docs"


@pytest.fixture(autouse=True)
def untold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_errors, "_notices", database_errors._Notices())


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == database_errors.__name__]


@pytest.mark.parametrize("said", SAID)
def test_it_has_a_reason_of_its_own_and_the_log_says_what_to_change(said: str, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        found = as_app_error(OperationalError(said))
        assert isinstance(found, NoConnectionLeft)
        assert (found.status, found.code, found.retry_after) == (503, "too_many_connections", 2)
    [line] = lines(caplog)
    assert "max_connections" in line
    assert "STILLHERE_THREADS or STILLHERE_WORKERS" in line


def test_other_silence_is_not_mistaken_for_it(caplog: pytest.LogCaptureFixture) -> None:
    for said in ('connection to server at "127.0.0.1", port 5432 failed: Connection refused', "server closed the connection"):
        assert type(as_app_error(OperationalError(said))) is StoreUnreachable
    assert lines(caplog) == []


@pytest.mark.parametrize(
    "said",
    [
        'database "elsewhere" does not exist',
        'role "nobody" does not exist',
        'password authentication failed for user "nobody"',
        'no pg_hba.conf entry for host "127.0.0.1", user "nobody", database "stillhere", no encryption',
    ],
)
def test_a_login_that_postgresql_refuses_is_no_store_without_tables(said: str) -> None:
    found = as_app_error(OperationalError(f'connection failed: connection to server at "::1", port 5432 failed: FATAL:  {said}'))
    assert isinstance(found, LoginRefused)
    assert (found.status, found.code) == (503, "store_unreachable")
    assert type(as_app_error(ProgrammingError('relation "sessions_app_project" does not exist'))) is StoreNotReady


@pytest.mark.scale
@pytest.mark.skipif(not ON_POSTGRESQL, reason="a file is made where there is none")
def test_a_database_that_does_not_exist_is_told_to_be_created(tmp_path: Path) -> None:
    address = urlsplit(os.environ["STILLHERE_TEST_POSTGRES_URL"])._replace(path="/stillhere_nowhere")
    server = ServerProcess(Store(tmp_path, {"DATABASE_URL": address.geturl()}))
    with pytest.raises(AssertionError, match="createdb"):
        server.manage("migrate")


def test_the_probe_names_it(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise OperationalError(SAID[0])

    monkeypatch.setattr(probes, "check_ready", refused)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["error"]["code"], answer["Retry-After"]) == (503, "too_many_connections", "2")
    assert "127.0.0.1" not in answer.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/api/v1/projects", "/"])
def test_the_log_says_once_in_a_time_that_the_database_is_away(
    client: Client, alice: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, address: str
) -> None:
    def away(*_: object, **__: object) -> None:
        raise OperationalError("connection failed: Connection refused")

    client.force_login(alice)
    monkeypatch.setattr(projects_api, "list_projects", away)
    monkeypatch.setattr(home_page, "list_overviews", away)
    assert [client.get(address).status_code for _ in range(3)] == [503] * 3
    told = [(record.name, record.getMessage().partition(": ")[2]) for record in caplog.records]
    assert told == [(database_errors.__name__, "store_unreachable (OperationalError)")]


@pytest.fixture
def nobody() -> Iterator[str]:
    """A role that may have no connection."""
    name = f"nobody_{uuid.uuid4().hex}"  # Roles are those of the whole server, which other tests use too.
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {name} LOGIN CONNECTION LIMIT 0")
    yield name
    with connection.cursor() as cursor:
        cursor.execute(f"DROP ROLE {name}")


@pytest.mark.skipif(not ON_POSTGRESQL, reason="Only a database server counts connections.")
@pytest.mark.django_db(transaction=True)
def test_postgresql_itself_says_it_so(nobody: str) -> None:
    other = connections[DEFAULT_DB_ALIAS].copy("other")
    other.settings_dict = other.settings_dict | {"USER": nobody}
    with pytest.raises(OperationalError) as refused:
        other.ensure_connection()
    assert isinstance(as_app_error(refused.value), NoConnectionLeft)


def test_the_documents_count_the_connections_that_the_code_opens() -> None:
    """Per process: what is opened before the first request, and the most."""
    small = 1 + bridge.RESUMING_THREADS
    deciding_and_probes = asgi.DECIDING_THREADS + asgi.PROBE_THREADS
    others = hub.READERS + 1 + runner.THREADS + len(background.TASKS)
    [most] = re.findall(
        r"`STILLHERE_THREADS` \+ `STILLHERE_CHAT_STREAMS` \+ (\d+)", (DOCS / "operations.md").read_text(encoding="utf-8")
    )
    assert int(most) == small + deciding_and_probes + others
    assert f"`STILLHERE_CHAT_STREAMS` + {most}" in (DOCS / "configuration.md").read_text(encoding="utf-8")
