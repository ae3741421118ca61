"""The services that tests use: `services.py postgresql URL` and `services.py redis URL` report whether they respond.

`services.py own URL` prints the URL with a database name of this run's own, so that two runs on one machine do not collide.
`services.py create URL` and `services.py drop URL` make the database that a URL names, empty, and remove it.
"""

import os
import sys
from typing import LiteralString
from urllib.parse import urlsplit

import psycopg
from psycopg import sql
from redis import Redis, RedisError

SECONDS = 3


def postgresql(url: str) -> str:
    with psycopg.connect(url, connect_timeout=SECONDS) as connection:
        return f"PostgreSQL {connection.info.server_version // 10_000}"


def redis(url: str) -> str:
    with Redis.from_url(url, socket_connect_timeout=SECONDS, socket_timeout=SECONDS) as connection:
        return f"Redis {connection.info('server')['redis_version']}"


def own(url: str) -> str:
    return urlsplit(url)._replace(path=f"/stillhere_{os.getppid()}").geturl()


def create(url: str) -> str:
    drop(url)
    return _on_server(url, "CREATE DATABASE {}")


def drop(url: str) -> str:
    return _on_server(url, "DROP DATABASE IF EXISTS {} WITH (FORCE)")


def _on_server(url: str, statement: LiteralString) -> str:
    parts = urlsplit(url)
    name = parts.path.removeprefix("/")
    with psycopg.connect(parts._replace(path="/postgres").geturl(), autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(sql.Identifier(name)))
    return name


def main() -> int:
    answer = {"postgresql": postgresql, "redis": redis, "own": own, "create": create, "drop": drop}[sys.argv[1]]
    try:
        print(answer(sys.argv[2]))
    except (psycopg.Error, RedisError, OSError, ValueError) as error:
        print(" ".join(str(error).split()) or type(error).__name__)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
