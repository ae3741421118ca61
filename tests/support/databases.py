"""Databases for servers that a test starts as processes: of the kind that this run of the suite is for."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

ON_POSTGRESQL = os.environ.get("STILLHERE_TEST_DATABASE") == "postgresql"


@contextmanager
def own_database(*, like: str = "") -> Iterator[dict[str, str]]:
    """Settings for a server: on SQLite none (its folder holds the file), else a database that is dropped afterwards.

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
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
