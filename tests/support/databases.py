"""Databases for servers that a test starts as processes: of the kind that this run of the suite is for."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import psycopg
from django.core.management import call_command
from django.db import ProgrammingError, connection, transaction
from psycopg import sql

# Filled by migrations, and the same after every test.
KEPT = {"auth_permission", "django_content_type", "django_migrations"}
ON_POSTGRESQL = os.environ.get("STILLHERE_TEST_DATABASE") == "postgresql"
# With all tables and no rows, for copies: migrating takes seconds. A file, or on PostgreSQL the name of a database.
TEMPLATE = os.environ.get("STILLHERE_TEST_TEMPLATE", "")


@contextmanager
def own_database(*, like: str = "") -> Iterator[dict[str, str]]:
    """Settings for a server: on SQLite none (its folder holds the file), else a database that is dropped afterwards, with those
    that a restore made beside it.

    `like`: the name of one that it is a copy of; else it is empty.
    """
    if not ON_POSTGRESQL:
        yield {}
        return
    url = urlsplit(os.environ["STILLHERE_TEST_POSTGRES_URL"])
    name = f"stillhere_{secrets.token_hex(6)}"
    with psycopg.connect(url.geturl(), autocommit=True) as connection:
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        connection.execute(create.format(sql.Identifier(name), sql.Identifier(like or "template1")))
        try:
            yield {
                "DATABASE_URL": url._replace(path=f"/{name}").geturl(),
                "REDIS_URL": os.environ["STILLHERE_TEST_REDIS_URL"],
            }
        finally:
            beside = "SELECT datname::text FROM pg_database WHERE starts_with(datname::text, %s)"
            for (left,) in [(name,), *connection.execute(beside, [f"{name}_"]).fetchall()]:
                connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(left)))


@contextmanager
def only_reading() -> Iterator[None]:
    """This connection can only read in the block. The server would replace it by another one that could not write either: a test
    says that it should not."""
    on, off = ("SET default_transaction_read_only = on", "SET default_transaction_read_only = off")
    if not ON_POSTGRESQL:
        on, off = "PRAGMA query_only = 1", "PRAGMA query_only = 0"
    with connection.cursor() as cursor:
        cursor.execute(on)
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(off)


def flush() -> None:
    """Empties the tables after a test that commits, as the command `flush` does.

    That empties all of them and fills again what migrations fill, which is much more work: on PostgreSQL each table and index
    gets a new file. Here only rows that are there are deleted, on PostgreSQL without foreign keys and triggers. Who may not do
    that gets the command.
    """
    tables = [table for table in connection.introspection.django_table_names(only_existing=True) if table not in KEPT]
    quoted = {table: connection.ops.quote_name(table) for table in tables}
    filled = " UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {name})" for table, name in quoted.items())
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            if ON_POSTGRESQL:
                cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute(filled)
            for (table,) in cursor.fetchall():
                cursor.execute(f"DELETE FROM {quoted[table]}")
    except ProgrammingError:
        call_command("flush", verbosity=0, interactive=False, reset_sequences=False, allow_cascade=False)
