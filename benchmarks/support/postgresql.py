"""PostgreSQL and Redis for the sides that need them: one database per side, dropped at the end."""

import atexit
import os
import secrets
from urllib.parse import SplitResult, urlsplit

import psycopg
from psycopg import sql
from redis import Redis, RedisError

# The same services as the tests'.
POSTGRES_URL = os.environ.get("STILLHERE_TEST_POSTGRES_URL", "postgresql://postgres@127.0.0.1:5432/postgres")
REDIS_URL = os.environ.get("STILLHERE_TEST_REDIS_URL", "redis://127.0.0.1:6379/15")
SECONDS = 3


def missing() -> str | None:
    """Why the rows on PostgreSQL cannot be measured; None if they can."""
    try:
        with psycopg.connect(POSTGRES_URL, connect_timeout=SECONDS) as connection:
            [durable] = connection.execute("SELECT current_setting('fsync') = 'on'").fetchone() or (False,)
        with Redis.from_url(REDIS_URL, socket_connect_timeout=SECONDS, socket_timeout=SECONDS) as redis:
            redis.ping()
    except (psycopg.Error, RedisError, OSError) as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    return None if durable else "fsync is off there: figures would not show durable writes."


def new_database() -> str:
    """The URL of an empty database, dropped when the bench ends."""
    name = sql.Identifier(f"stillhere_bench_{secrets.token_hex(6)}")
    _run(sql.SQL("CREATE DATABASE {}").format(name))
    atexit.register(_run, sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))
    url: SplitResult = urlsplit(POSTGRES_URL)
    return url._replace(path=f"/{name.as_string().strip(chr(34))}").geturl()


def _run(statement: sql.Composed) -> None:
    with psycopg.connect(POSTGRES_URL, autocommit=True) as connection:
        connection.execute(statement)
