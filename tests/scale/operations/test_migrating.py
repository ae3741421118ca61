"""kill -9 in the middle of an upgrade from the first tables to the present ones: the next attempt ends it, nothing is lost."""

import hashlib
import random
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.scale.table_definitions import definitions_in
from tests.support.databases import ON_POSTGRESQL, own_database
from tests.support.server_process import ServerProcess
from tests.support.stores import Store
from tests.support.suite import is_patient

pytestmark = pytest.mark.scale
PROJECTS = 30 if is_patient() else 8
# What a store of the first version held, written by its own models.
OLD_STORE = """
import uuid
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
first = [("sessions_app", "0001_first")]
executor = MigrationExecutor(connection)
executor.loader = MigrationLoader(connection, replace_migrations=False)  # A new store gets all tables at once.
executor.migrate(first)
model = executor.loader.project_state(first).apps.get_model
ana = model("auth", "User").objects.create(username="ana", password="!")
removals = ["", "", "deleted", "truncated"]
for number in range(PROJECTS):
    project = model("sessions_app", "Project").objects.create(owner=ana, path=f"/old/{number}", settings={"n": number})
    session = model("sessions_app", "ChatSession").objects.create(
        project=project, title=f"Old {number} 中文", message_count=100, size_bytes=100 * 300, last_position=200, rev=200)
    project.current_session = session
    project.save()
    common = {"session": session, "epoch": 1, "role": "user", "status": "complete", "size_bytes": 300, "writer_id": "w"}
    texts = (f"words {number} {each} 🦊 " * 10 for each in range(200))
    model("sessions_app", "Message").objects.bulk_create(
        model("sessions_app", "Message")(**common, message_id=f"m{each}", position=each + 1, rev=each + 1, text=text,
        metadata='{"a": 1.50}', removed=removals[each % 4]) for each, text in enumerate(texts))
    model("sessions_app", "ConflictCopy").objects.create(
        session=session, message_id="m1", epoch=1, role="user", text=f"copy {number}", reason="conflict", status="complete")
"""
ROWS = (
    "SELECT message_id, role, text, metadata, epoch, position, ver, rev, removed, status FROM sessions_app_message ORDER BY id",
    "SELECT message_id, text, reason FROM sessions_app_conflictcopy ORDER BY id",
    "SELECT title, epoch, rev, message_count, size_bytes, last_position FROM sessions_app_chatsession ORDER BY id",
)


def rows_of(store: Store) -> str:
    """A digest of all that the first version stored."""
    digest = hashlib.sha256()
    with opened(store) as connection:
        for statement in ROWS:
            for row in connection.execute(statement).fetchall():
                digest.update(repr(tuple(row)).encode())
        if not ON_POSTGRESQL:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return digest.hexdigest()


def tables_of(store: Store) -> set[Any]:
    with opened(store) as connection:
        return definitions_in(connection)


@contextmanager
def opened(store: Store) -> Iterator[Any]:
    file = store.folder / "stillhere.sqlite3"
    connection: Any = psycopg.connect(store.settings["DATABASE_URL"]) if ON_POSTGRESQL else sqlite3.connect(file)
    try:
        yield connection
    finally:
        connection.close()


# One with foreign keys, which are made after its tables.
KILLED_BEFORE_ITS_RECORD = """
import os
from django.core.management import call_command
from django.db.migrations.recorder import MigrationRecorder
recorded = MigrationRecorder.record_applied
def record(self, app, name):
    if (app, name) == ("admin", "0001_initial"):
        os._exit(9)
    recorded(self, app, name)
MigrationRecorder.record_applied = record
call_command("migrate", verbosity=0)
"""


@pytest.fixture
def old_store(tmp_path: Path) -> Iterator[Store]:
    """As the first version left it."""
    folder = tmp_path / "old"
    folder.mkdir()
    with own_database() as settings:
        store = Store(folder, settings)
        ServerProcess(store).shell(OLD_STORE.replace("PROJECTS", str(PROJECTS)))
        yield store


def kill_within(migrating: subprocess.Popen[bytes], *, begun: int, share: float) -> int:
    """Once so many migrations have begun, a moment later; answers how many had."""
    assert migrating.stdout is not None
    said = b""
    while said.count(b"Applying") < begun and (more := migrating.stdout.read(1)):
        said += more
    try:
        migrating.wait(share * 0.1)
    except subprocess.TimeoutExpired:
        migrating.kill()
    migrating.communicate()
    return said.count(b"Applying")


def crash_upgrades(old: Store, new: Store, folder: Path, *, times: int) -> None:
    """Each ends with the rows of the old store in the tables of a new one, which were made at once."""
    before, tables = rows_of(old), tables_of(new)
    for number in range(times):
        with old.copied(folder / str(number)) as copy:
            server = ServerProcess(copy)
            with server.begin("migrate") as migrating:
                begun = kill_within(migrating, begun=random.randint(1, 25), share=random.random())
            assert begun > 0
            server.manage("migrate", "--verbosity", "0")
            assert rows_of(copy) == before
            assert tables_of(copy) == tables
            with server:
                api = server.api(server.manage("create_key", "--user", "ana"))
                bundle = api.call("GET", "/resume", project="/old/3")
                found = api.call("GET", "/search", q="words 3 0")["items"]
                api.close()
        assert (len(bundle["messages"]), bundle["messages"][0]["text"][:9]) == (100, "words 3 0")
        assert found


def test_processes_that_upgrade_at_once_wait_for_each_other(old_store: Store) -> None:
    """Servers on PostgreSQL; on an embedded store agents at standard input, each of which migrates it when it starts."""
    before = rows_of(old_store)
    with ExitStack() as stack:
        upgrades = [stack.enter_context(ServerProcess(old_store).begin("migrate")) for _ in range(3)]
        assert [(upgrade.communicate() and upgrade.returncode) for upgrade in upgrades] == [0, 0, 0]
    assert rows_of(old_store) == before


@pytest.mark.slow
def test_a_migration_that_is_killed_before_its_record_is_made_again(old_store: Store) -> None:
    before, server = rows_of(old_store), ServerProcess(old_store)
    with pytest.raises(AssertionError, match="failed"):
        server.shell(KILLED_BEFORE_ITS_RECORD)
    server.manage("migrate", "--verbosity", "0")
    assert rows_of(old_store) == before


@pytest.mark.slow
def test_a_migration_that_fails_is_told_in_a_line(tmp_path: Path) -> None:
    """It ran again in the server's own process, which then ended with a traceback, or with the advice to run it."""
    kind = "relation" if ON_POSTGRESQL else "table"
    failed = f'The migration admin.0001_initial failed, and nothing of it was kept: {kind} "django_admin_log" already exists.'
    with own_database() as settings:
        store = Store(tmp_path, settings)
        with opened(store) as connection:
            connection.execute("CREATE TABLE django_admin_log (id integer)")
            connection.commit()
        server = ServerProcess(store, STATIC_MANIFEST="0")
        assert said_by(server, "serve") == (
            f"Stillhere cannot start: {failed} "
            "The migrations before it stay: start again when the cause is gone, or restore a backup from before.\n"
        )
        assert said_by(server, "serve") == f"Stillhere cannot start: {failed} The store is as it was before.\n"
        assert said_by(server, "migrate") == f"CommandError: {failed}\n"


def said_by(server: ServerProcess, command: str) -> str:
    with pytest.raises(AssertionError) as caught:
        server.manage(command)
    return str(caught.value).partition("failed:\n")[2]


@pytest.mark.timeout(600)
def test_an_upgrade_that_is_killed_goes_on(old_store: Store, first_store: Store, tmp_path: Path) -> None:
    crash_upgrades(old_store, first_store, tmp_path, times=1)


@pytest.mark.prove
def test_twenty_upgrades_that_are_killed_go_on(old_store: Store, first_store: Store, tmp_path: Path) -> None:
    crash_upgrades(old_store, first_store, tmp_path, times=20)
