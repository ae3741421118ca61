"""What a restore refuses, before anything is changed, and what it leaves behind."""

import sqlite3
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.databases import ON_POSTGRESQL
from tests.support.server_process import ServerProcess
from tests.support.stores import Store

pytestmark = pytest.mark.scale
NEWER = "INSERT INTO django_migrations (app, name, applied) VALUES ('sessions_app', '9999_later', '2030-01-01 00:00:00Z')"


def in_database(store: Store, statement: str) -> None:
    if ON_POSTGRESQL:
        with psycopg.connect(store.settings["DATABASE_URL"], autocommit=True) as connection:
            connection.execute(statement)
        return
    file: Any = sqlite3.connect(store.folder / "stillhere.sqlite3", isolation_level=None)
    file.execute(statement)
    file.close()


def refused(server: ServerProcess, *arguments: str) -> str:
    with pytest.raises(AssertionError) as caught:
        server.manage("restore", *arguments)
    return str(caught.value).partition("failed:\n")[2]


def test_a_restore_that_cannot_be_right_changes_nothing(store: Store, tmp_path: Path) -> None:
    with ServerProcess(store) as server:
        api = server.api(server.key("ana"))
        _, session = api.session("/kept")
        api.save(session, "m1", text="before the backup")
        backup = server.manage("backup", "--to", str(tmp_path / "first.backup"))
        api.save(session, "m2", text="since the backup")
        assert "Stop" in refused(server, backup)
        server.stop()
        whole = Path(backup).read_bytes()
        half, other = tmp_path / "half", tmp_path / "other"
        half.write_bytes(whole[: len(whole) // 2])
        other.write_text("shopping list")
        for file in (half, other, tmp_path / "missing"):
            said = refused(server, str(file))
            assert str(file) in said, "the file that was given is named"
            assert "restoring" not in said, "and none that the restore makes for itself"
            assert "Nothing was changed." in said
        in_database(store, NEWER)
        newer = server.manage("backup")
        assert f"newer version made {newer}" in refused(server, newer)
        in_database(store, "DELETE FROM django_migrations WHERE name = '9999_later'")
        server.start()
        assert [message["id"] for message in api.call("GET", f"/sessions/{session}")["messages"]] == ["m1", "m2"]
        server.stop()
        former = server.manage("restore", backup).rpartition("kept as ")[2].rstrip(".")
        assert "m2" in messages_of(store, former)
        server.start()
        assert [message["id"] for message in api.call("GET", f"/sessions/{session}")["messages"]] == ["m1"]
        api.close()
    drop(store, former)


def messages_of(store: Store, name: str) -> list[str]:
    """In what was there before."""
    select = "SELECT message_id FROM sessions_app_message"
    if ON_POSTGRESQL:
        with psycopg.connect(store.settings["DATABASE_URL"].rpartition("/")[0] + f"/{name}") as connection:
            return [row[0] for row in connection.execute(select).fetchall()]
    file: Any = sqlite3.connect(name)
    try:
        return [row[0] for row in file.execute(select).fetchall()]
    finally:
        file.close()


def drop(store: Store, name: str) -> None:
    if ON_POSTGRESQL:
        with psycopg.connect(store.settings["DATABASE_URL"].rpartition("/")[0] + "/postgres", autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}"'.encode())
