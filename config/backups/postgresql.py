"""PostgreSQL: pg_dump and pg_restore, of a version not older than the server's."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from psycopg import sql

from config.backups import BackupError

ENDING, BEGINS = ".dump", b"PGDMP"
_LOCK = 0x5713
# PostgreSQL truncates longer names.
NAME_BYTES = 63
# A connection that its client has just closed is open to PostgreSQL for a moment.
PATIENCE_SECONDS = 2


def dump(file: Path) -> None:
    name = str(settings.DATABASES["default"]["NAME"])
    _run("pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={file}", database=name, of=file)


def unpack(file: Path, name: str) -> None:
    drop(name)
    with _maintenance() as connection:
        like = str(settings.DATABASES["default"]["NAME"])
        connection.execute(sql.SQL("CREATE DATABASE {} {}").format(sql.Identifier(name), _kind_of(connection, like)))
    _run(
        "pg_restore",
        "--exit-on-error",
        "--no-owner",
        "--no-privileges",
        "--no-comments",
        f"--dbname={name}",
        str(file),
        database=name,
        of=file,
    )


def _kind_of(connection: psycopg.Connection[Any], database: str) -> sql.Composable:
    """Encoding and locale of a database, for one of the same kind: the cluster's default may be another, such as ASCII."""
    row = connection.execute("SELECT to_jsonb(d) FROM pg_database d WHERE datname = %s", [database]).fetchone()
    if row is None:
        raise BackupError(f"There is no database {database}. Create it, empty, then restore.")
    found: dict[str, Any] = row[0]
    chosen: dict[str, Any] = {"LC_COLLATE": found["datcollate"], "LC_CTYPE": found["datctype"]}
    # The locale's column has another name since PostgreSQL 17.
    if found.get("datlocprovider") == "i":
        chosen |= {"LOCALE_PROVIDER": "icu", "ICU_LOCALE": found.get("datlocale") or found.get("daticulocale")}
    encoding = connection.execute("SELECT pg_encoding_to_char(%s)", [found["encoding"]]).fetchone()
    chosen["ENCODING"] = encoding and encoding[0]
    given = [sql.SQL("{} {}").format(sql.SQL(word), sql.Literal(value)) for word, value in chosen.items() if value]
    return sql.SQL(" ").join([sql.SQL("TEMPLATE template0"), *given])


def beside(database: str, stamp: str) -> tuple[str, str]:
    endings = ("_restoring", f"_before_{stamp.lower()}")
    ready, former = (database[: NAME_BYTES - len(ending)] + ending for ending in endings)
    return ready, former


@contextmanager
def reserved(database: str) -> Iterator[None]:
    """Of two restores one would put the other's half database in the store's place. Servers are connected: `check_alone`."""
    with _maintenance() as connection:
        row = connection.execute("SELECT pg_try_advisory_lock(%s, hashtext(%s))", [_LOCK, database]).fetchone()
        if row is None or not row[0]:
            raise BackupError("Another restore of this database is at work. Wait for its end, then repeat.")
        yield


def check_alone(database: str) -> None:
    # Client connections only: autovacuum stops when it is in the way.
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND backend_type = 'client backend'"
    until = time.monotonic() + PATIENCE_SECONDS
    with _maintenance() as connection:
        while (row := connection.execute(others, [database]).fetchone()) and row[0]:
            if time.monotonic() > until:
                raise BackupError(f"{row[0]} connections are open to this database. Stop the server, then restore.")
            time.sleep(0.1)


def swap(database: str, ready: str, former: str) -> None:
    """Both renames or none; PostgreSQL refuses while anybody is connected."""
    rename = sql.SQL("ALTER DATABASE {} RENAME TO {}")
    with _maintenance() as connection, connection.transaction():
        connection.execute(rename.format(sql.Identifier(database), sql.Identifier(former)))
        connection.execute(rename.format(sql.Identifier(ready), sql.Identifier(database)))


def drop(name: str) -> None:
    """The pg_restore of a killed restore may be connected to it still."""
    with _maintenance() as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def _maintenance() -> Iterator[psycopg.Connection[Any]]:
    """A connection to another database: a connection cannot rename its own."""
    database: dict[str, Any] = settings.DATABASES["default"]
    try:
        with psycopg.connect(autocommit=True, **_parameters(database, "postgres")) as connection:
            yield connection
    except psycopg.errors.InsufficientPrivilege:
        raise BackupError("The database's user may not create databases: a superuser runs ALTER ROLE … CREATEDB once.") from None
    except psycopg.Error as error:
        raise BackupError(f"PostgreSQL: {' '.join(str(error).split())}.") from None


def _run(program: str, *arguments: str, database: str, of: Path | None = None) -> None:
    """Passes the connection in the environment: any user of the machine can read arguments. `of`: the file to name in errors."""
    if shutil.which(program) is None:
        raise BackupError(f"{program} is missing. Install PostgreSQL's client programs (Debian: apt install postgresql-client).")
    environment = {**os.environ, **environment_of(settings.DATABASES["default"], database)}
    done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        named = "" if of is None else f"{of}: "
        said = done.stderr.strip()[-500:] or f"it ended with {done.returncode}."
        raise BackupError(f"{named}{program} failed: {said}")


def environment_of(known: dict[str, Any], database: str) -> dict[str, str]:
    """The variables that libpq reads in place of the connection's parameters."""
    variables = {option.keyword.decode(): (option.envvar or b"").decode() for option in psycopg.pq.Conninfo.get_defaults()}
    told = _parameters(known, database).items()
    return {variable: str(value) for name, value in told if (variable := variables.get(name))}


def _parameters(known: dict[str, Any], database: str) -> dict[str, Any]:
    """As the server itself connects: what the address names, and of its query what the address does not name."""
    named = {"host": known["HOST"], "port": known["PORT"], "user": known["USER"], "password": known["PASSWORD"]}
    return {**known["OPTIONS"], **{name: value for name, value in named.items() if value}, "dbname": database}
