"""What a restore refuses, before anything is changed, and what it leaves behind."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.databases import ON_POSTGRESQL, own_database
from tests.server import ServerProcess

pytestmark = pytest.mark.scale
NEWER = "INSERT INTO django_migrations (app, name, applied) VALUES ('sessions_app', '9999_later', '2030-01-01 00:00:00Z')"


@pytest.fixture
def own() -> Iterator[dict[str, str]]:
    with own_database() as own:
        yield own


def in_database(own: dict[str, str], folder: Path, statement: str) -> None:
    if ON_POSTGRESQL:
        with psycopg.connect(own["DATABASE_URL"], autocommit=True) as connection:
            connection.execute(statement)
        return
    file: Any = sqlite3.connect(folder / "stillhere.sqlite3", isolation_level=None)
    file.execute(statement)
    file.close()


def refused(server: ServerProcess, *arguments: str) -> str:
    with pytest.raises(AssertionError) as caught:
        server.manage("restore", *arguments)
    return str(caught.value)


def test_a_restore_that_cannot_be_right_changes_nothing(own: dict[str, str], tmp_path: Path) -> None:
    with ServerProcess(tmp_path, own=own) as server:
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
            assert "Nothing was changed." in refused(server, str(file))
        in_database(own, tmp_path, NEWER)
        newer = server.manage("backup")
        assert "newer version" in refused(server, newer)
        in_database(own, tmp_path, "DELETE FROM django_migrations WHERE name = '9999_later'")
        server.start()
        assert [message["id"] for message in api.call("GET", f"/sessions/{session}")["messages"]] == ["m1", "m2"]
        server.stop()
        former = server.manage("restore", backup).rpartition("kept as ")[2].rstrip(".")
        assert "m2" in messages_of(own, former)
        server.start()
        assert [message["id"] for message in api.call("GET", f"/sessions/{session}")["messages"]] == ["m1"]
        api.close()
    drop(own, former)


def messages_of(own: dict[str, str], name: str) -> list[str]:
    """In what stood there before."""
    select = "SELECT message_id FROM sessions_app_message"
    if ON_POSTGRESQL:
        with psycopg.connect(own["DATABASE_URL"].rpartition("/")[0] + f"/{name}") as connection:
            return [row[0] for row in connection.execute(select).fetchall()]
    file: Any = sqlite3.connect(name)
    try:
        return [row[0] for row in file.execute(select).fetchall()]
    finally:
        file.close()


def drop(own: dict[str, str], name: str) -> None:
    if ON_POSTGRESQL:
        with psycopg.connect(own["DATABASE_URL"].rpartition("/")[0] + "/postgres", autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}"'.encode())
