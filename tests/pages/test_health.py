"""Health probes and what they report."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from redis import Redis

from sessions_app.core.errors import InsufficientStorage
from sessions_app.core.web.product_version import version
from tests.support.redis_server import AVAILABLE, RedisServer


def test_health_tells_version_and_what_a_save_rests_on(client: Client, db: None) -> None:
    body = client.get("/healthz").json()
    assert (body["status"], body["version"], body["database"]) == ("ok", version(), connection.vendor)
    if connection.vendor == "sqlite":
        assert body["durability"]["synchronous"] == "FULL"
        assert body["durability"]["sqlite_version"].startswith("3.")
    else:
        assert body["durability"] == {"synchronous_commit": "on"}


def test_the_version_is_that_of_the_newest_changes(client: Client, db: None) -> None:
    newest = re.search(r"^## (\S+)", (settings.BASE_DIR / "CHANGELOG.md").read_text(), re.MULTILINE)
    with (settings.BASE_DIR / "pyproject.toml").open("rb") as file:
        stated = tomllib.load(file)["project"]["version"]
    assert newest is not None
    assert client.get("/healthz").json()["version"] == newest[1] == stated


def test_health_answers_while_the_database_does_not(client: Client, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **options: Any) -> None:
        raise DatabaseError("away")

    with monkeypatch.context() as away:
        away.setattr(connection, "cursor", fail)
        answer = client.get("/healthz")
    assert (answer.status_code, answer.json()["durability"]) == (200, None)


def test_ready_when_tables_and_channel_layer_are_there(client: Client, db: None) -> None:
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "ready")


def test_not_ready_before_the_tables_are_those_of_this_version(client: Client, db: None) -> None:
    MigrationRecorder.Migration.objects.filter(app="sessions_app").latest("pk").delete()
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "store_not_ready")
    assert answer["Retry-After"] == "2"


def test_not_ready_without_its_redis(client: Client, db: None, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "channel_layer_unreachable")
    assert "events reach other processes later, by the log" in answer.json()["error"]["message"]
    assert "127.0.0.1" not in answer.content.decode()


@pytest.mark.skipif(not AVAILABLE, reason="no redis-server to start")
def test_not_ready_with_a_redis_that_answers_and_takes_nothing(client: Client, db: None, settings: Any, tmp_path: Path) -> None:
    with RedisServer(tmp_path) as server, Redis.from_url(server.url) as redis:
        settings.REDIS_URL = server.url
        assert client.get("/readyz").status_code == 200
        redis.config_set("maxmemory", 1)
        full = client.get("/readyz")
        redis.config_set("maxmemory", 0)
        assert client.get("/readyz").status_code == 200
        redis.replicaof("127.0.0.1", 1)
        replica = client.get("/readyz")
        for answer in (full, replica):
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "channel_layer_refuses_writes")
            assert "127.0.0.1" not in answer.content.decode()


@pytest.mark.skipif(not AVAILABLE, reason="no redis-server to start")
@pytest.mark.parametrize("password", ["", ":wrong@"])
def test_not_ready_with_a_redis_that_wants_another_password(
    client: Client, db: None, settings: Any, tmp_path: Path, password: str
) -> None:
    with RedisServer(tmp_path) as server, Redis.from_url(server.url) as redis:
        redis.config_set("requirepass", "right")
        settings.REDIS_URL = server.url.replace("redis://", f"redis://{password}")
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "channel_layer_refuses_access")
        assert "wrong" not in answer.content.decode()


def test_what_does_not_pass_by_itself_names_no_time(client: Client, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise InsufficientStorage

    monkeypatch.setattr("sessions_app.pages.health.probes.check_ready", full)
    answer = client.get("/readyz")
    assert answer.status_code == 507
    assert "Retry-After" not in answer
