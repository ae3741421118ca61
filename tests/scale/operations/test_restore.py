"""What a restore refuses, before anything is changed, and what it leaves behind."""

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.support.databases import ON_POSTGRESQL, own_database
from tests.support.server_process import ROOT, ServerProcess
from tests.support.stores import Store

pytestmark = pytest.mark.scale
# A restore that takes long.
SLOW = """
import sys, time
import django
django.setup()
from django.core.management import call_command
from config.backups import save_and_restore
engine = save_and_restore._engine()
unpack = engine.unpack
def slowly(*arguments):
    unpack(*arguments)
    print("unpacked", flush=True)
    time.sleep(60)
engine.unpack = slowly
call_command("restore", sys.argv[1])
"""
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


def each_refused(server: ServerProcess, *files: Path) -> list[str]:
    """The same for each of these, by one process: to start takes longer than to refuse."""
    code = f"""
import json
from django.core.management import call_command
from django.core.management.base import CommandError
said = []
for file in {[str(file) for file in files]!r}:
    try:
        call_command("restore", file)
    except CommandError as error:
        said.append(str(error))
print(json.dumps(said))
"""
    said: list[str] = json.loads(server.shell(code))
    return said


def test_a_restore_that_cannot_be_right_changes_nothing(store: Store, tmp_path: Path) -> None:
    with ServerProcess(store) as server:
        api = server.api(server.key("ana"))
        _, session = api.session("/kept")
        api.save(session, "m1", text="before the backup")
        backup = server.manage("backup", "--to", str(tmp_path / "first.backup"))
        api.save(session, "m2", text="since the backup")
        assert "Stop" in refused(server, backup)
        api.close()
        server.stop()
        whole = Path(backup).read_bytes()
        half, other = tmp_path / "half", tmp_path / "other"
        half.write_bytes(whole[: len(whole) // 2])
        other.write_text("shopping list")
        beside = tmp_path / "beside"
        beside.write_bytes(b"SQLite format 3\0" if ON_POSTGRESQL else b"PGDMP\1")
        in_database(store, NEWER)
        newer = Path(server.manage("backup"))
        wrong = {other: "no backup", beside: "STILLHERE_DATABASE_URL", tmp_path: "a folder", half: "", tmp_path / "missing": ""}
        wrong[newer] = f"newer version made {newer}"
        for (file, why), said in zip(wrong.items(), each_refused(server, *wrong), strict=True):
            assert why in said
            assert str(file) in said, "the file that was given is named"
            assert "restoring" not in said, "and none that the restore makes for itself"
            assert "Nothing was changed." in said
        in_database(store, "DELETE FROM django_migrations WHERE name = '9999_later'")
        assert messages_of(store) == ["m1", "m2"]
        former = server.manage("restore", backup).rpartition("kept as ")[2].rstrip(".")
        assert messages_of(store, former) == ["m1", "m2"]
        server.start()
        again = server.api(server.key("ana"))
        assert [message["id"] for message in again.call("GET", f"/sessions/{session}")["messages"]] == ["m1"]
        again.close()


@pytest.mark.skipif(ON_POSTGRESQL, reason="a database that is a file")
@pytest.mark.slow
def test_a_damaged_store_is_replaced_without_what_lies_beside_it(store: Store, tmp_path: Path) -> None:
    """The write-ahead log that a crash left belongs to the damaged file."""
    with ServerProcess(store) as server:
        api = server.api(server.key("ana"))
        _, session = api.session("/kept")
        api.save(session, "m1", text="before the backup")
        backup = server.manage("backup", "--to", str(tmp_path / "whole.backup"))
        api.save(session, "m2", text="since the backup")
        server.kill()
        database = store.folder / "stillhere.sqlite3"
        assert Path(f"{database}-wal").stat().st_size > 0
        damaged = b"no database" * 1_000
        database.write_bytes(damaged)
        with pytest.raises(AssertionError, match=r"failed:\nThe database is damaged \(file is not a database\)\."):
            server.manage("keys", "--user", "ana")
        former = server.manage("restore", backup).rpartition("kept as ")[2].rstrip(".")
        assert Path(former).read_bytes() == damaged
        assert not Path(f"{database}-wal").exists()
        server.start()
        assert [message["id"] for message in api.call("GET", f"/sessions/{session}")["messages"]] == ["m1"]
        api.close()


@pytest.mark.skipif(ON_POSTGRESQL, reason="a backup that is a database file")
def test_a_backup_that_lacks_its_last_bytes_is_refused(store: Store, tmp_path: Path) -> None:
    """SQLite reads zeros in their place and calls the file sound."""
    server = ServerProcess(store)
    short = Path(server.manage("backup", "--to", str(tmp_path / "short.backup")))
    short.write_bytes(short.read_bytes()[:-1])
    said = refused(server, str(short))
    assert f"{short} is not complete" in said
    assert "Nothing was changed." in said


@pytest.mark.skipif(not ON_POSTGRESQL, reason="a file has no locale")
@pytest.mark.slow
def test_a_restored_database_has_the_encoding_and_locale_of_the_one_that_it_replaces(store: Store, tmp_path: Path) -> None:
    """The default of the cluster may be another: under ASCII no text is compared as it is written."""
    address = urlsplit(store.settings["DATABASE_URL"])
    name = f"{address.path[1:]}_c"
    create = f"CREATE DATABASE \"{name}\" TEMPLATE template0 ENCODING UTF8 LC_COLLATE 'C' LC_CTYPE 'C'"
    kind = "SELECT pg_encoding_to_char(encoding), datcollate, datctype FROM pg_database WHERE datname = current_database()"
    with psycopg.connect(address.geturl(), autocommit=True) as connection:
        connection.execute(create.encode())
    other = Store(tmp_path / "c", {**store.settings, "DATABASE_URL": address._replace(path=f"/{name}").geturl()})
    server = ServerProcess(other)
    server.manage("migrate", "--verbosity", "0")
    server.manage("restore", server.manage("backup"), "--discard")
    with psycopg.connect(other.settings["DATABASE_URL"]) as connection:
        assert connection.execute(kind).fetchone() == ("UTF8", "C", "C")


@pytest.mark.slow
def test_a_restore_without_the_folder_of_files_says_how_many_are_missing(store: Store, tmp_path: Path) -> None:
    with ServerProcess(store) as server:
        api = server.api(server.key("ana"))
        _, session = api.session("/with-a-file")
        assert api.http.post(f"/sessions/{session}/files", content=b"words").status_code == 201
        backup = server.manage("backup", "--to", str(tmp_path / "whole.backup"))
        api.close()
    files, kept = Path(f"{backup}.files"), tmp_path / "elsewhere"
    files.rename(kept)
    shutil.rmtree(store.folder / "files")
    for present, said in ((False, f"1 files of chats are missing or incomplete: they belong into {files}."), (True, "")):
        if present:
            kept.rename(files)
        command = [sys.executable, "manage.py", "restore", "--discard", backup]
        done = subprocess.run(command, cwd=ROOT, env=server.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0
        assert done.stderr.partition(" Put")[0] == said


@pytest.mark.slow
def test_a_file_that_is_not_whole_is_put_back(store: Store, tmp_path: Path) -> None:
    """A disk that was full, or a copy that was broken off, leaves a file of another size. The backup may have such a one too."""
    with ServerProcess(store) as server:
        api = server.api(server.key("ana"))
        _, session = api.session("/with-a-file")
        file = api.http.post(f"/sessions/{session}/files", content=b"all words").json()["file"]
        backup = server.manage("backup", "--to", str(tmp_path / "whole.backup"))
        server.stop()
        [stored] = [path for path in (store.folder / "files").rglob("*") if path.is_file()]
        for kept in (b"all", b"all words and more", b""):
            stored.unlink()
            stored.write_bytes(kept)
            said = server.manage("restore", "--discard", backup)
            assert "Restored" in said
            assert stored.read_bytes() == b"all words"
        [saved] = [path for path in Path(f"{backup}.files").rglob("*") if path.is_file()]
        saved.unlink()
        saved.write_bytes(b"all")
        server.manage("restore", "--discard", backup)
        server.start()
        assert api.http.get(f"/files/{file}").content == b"all words"
        api.close()


def test_the_previous_store_keeps_the_files_that_the_backup_does_not_know(store: Store, tmp_path: Path) -> None:
    """The restored store deletes them from their folder, since no row of its own names them."""
    with ServerProcess(store) as server:
        api = server.api(server.key("ana"))
        _, session = api.session("/with-a-file")
        backup = Path(server.manage("backup", "--to", str(tmp_path / "before.backup")))
        assert api.http.post(f"/sessions/{session}/files", content=b"after the backup").status_code == 201
    told = server.manage("restore", str(backup))
    [file] = [path for path in (store.folder / "files").rglob("*") if path.is_file()]
    former, files = re.findall(r"kept as (.+), its files as (.+)\.$", told)[0]
    [kept] = [path for path in Path(files).rglob("*") if path.is_file()]
    assert kept.samefile(file)
    file.unlink()
    if not ON_POSTGRESQL:
        server.manage("restore", former, "--discard")
        assert file.read_bytes() == b"after the backup"
        assert list(store.folder.glob("*.files")) == [Path(files)]


def test_a_restore_begins_anew_where_a_killed_one_ended(store: Store, tmp_path: Path) -> None:
    server = ServerProcess(store)
    backup = server.manage("backup", "--to", str(tmp_path / "whole.backup"))
    if not ON_POSTGRESQL:
        (store.folder / "stillhere.sqlite3.restoring").write_bytes(b"half")
        assert "Restored" in server.manage("restore", "--discard", backup)
        assert not (store.folder / "stillhere.sqlite3.restoring").exists()
        return
    in_database(store, f'CREATE DATABASE "{urlsplit(store.settings["DATABASE_URL"]).path[1:]}_restoring"')
    # As its pg_restore, which goes on.
    with psycopg.connect(f"{store.settings['DATABASE_URL']}_restoring"):
        assert "Restored" in server.manage("restore", "--discard", backup)


def test_of_two_restores_the_second_is_refused(store: Store, tmp_path: Path) -> None:
    """It would put its half store in the place of the whole one."""
    server = ServerProcess(store)
    backup = server.manage("backup", "--to", str(tmp_path / "whole.backup"))
    with first_at_work(server, backup):
        said = refused(server, backup)
        assert "another restore" in said.lower()
        assert "Nothing was changed." in said


@pytest.mark.skipif(not ON_POSTGRESQL, reason="a folder is removed with all that is in it")
def test_a_test_of_these_that_fails_midway_leaves_no_database() -> None:
    url = ""
    with suppress(ZeroDivisionError), own_database() as settings:
        url = settings["DATABASE_URL"]
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{urlsplit(url).path[1:]}_restoring"'.encode())
        raise ZeroDivisionError
    for name in (url, f"{url}_restoring"):
        with pytest.raises(psycopg.OperationalError, match="does not exist"):
            psycopg.connect(name)


@contextmanager
def first_at_work(server: ServerProcess, backup: str) -> Iterator[None]:
    environment = {**server.environment, "DJANGO_SETTINGS_MODULE": "config.settings"}
    command, pipe = [sys.executable, "-c", SLOW, backup], subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "unpacked\n"
            yield
        finally:
            process.kill()


def messages_of(store: Store, name: str = "") -> list[str]:
    """In this store, or in what was there before."""
    select = "SELECT message_id FROM sessions_app_message ORDER BY id"
    if ON_POSTGRESQL:
        url = store.settings["DATABASE_URL"]
        with psycopg.connect(f"{url.rpartition('/')[0]}/{name}" if name else url) as connection:
            return [row[0] for row in connection.execute(select).fetchall()]
    file: Any = sqlite3.connect(name or store.folder / "stillhere.sqlite3")
    try:
        return [row[0] for row in file.execute(select).fetchall()]
    finally:
        file.close()
