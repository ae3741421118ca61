"""What compose.yaml and the Dockerfile promise, read as files: no container engine is needed, and none starts them here."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.server.startup import GRACE_SECONDS

pytestmark = pytest.mark.once
ROOT = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
DOCKERFILE = (ROOT / "Dockerfile").read_text()
SERVICES = pytest.mark.parametrize("service", COMPOSE["services"].values(), ids=COMPOSE["services"])
# The least that an image's entry point needs to take its data folder over and give up root.
START = {"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"}


@SERVICES
def test_a_service_has_few_rights(service: dict[str, Any]) -> None:
    assert service["cap_drop"] == ["ALL"]
    assert set(service.get("cap_add", [])) <= START
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.keys() & {"privileged", "network_mode", "pid", "ipc", "devices"}


@SERVICES
def test_a_service_is_open_to_this_machine_alone(service: dict[str, Any]) -> None:
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


@SERVICES
def test_an_image_has_a_version(service: dict[str, Any]) -> None:
    assert "build" in service or re.fullmatch(r"[\w/]+:\d+\.\d+(\.\d+)?(@sha256:[0-9a-f]{64})?", service["image"])


def test_the_server_writes_to_its_volume_only_and_starts_as_nobody_else() -> None:
    server = COMPOSE["services"]["server"]
    assert server["read_only"] is True
    assert "cap_add" not in server
    [volume] = server["volumes"]
    assert volume.partition(":")[2] == re.search(r"STILLHERE_DATA_DIR=(\S+)", DOCKERFILE)[1]  # type: ignore[index]
    assert re.findall(r"^USER (\S+)", DOCKERFILE, re.MULTILINE)[-1] not in {"root", "0"}


def test_the_server_waits_for_the_services_that_it_names() -> None:
    server = COMPOSE["services"]["server"]
    others = COMPOSE["services"].keys() - {"server"}
    assert server["depends_on"] == {name: {"condition": "service_healthy"} for name in others}
    assert all("healthcheck" in COMPOSE["services"][name] for name in others)
    addresses = server["environment"]["STILLHERE_DATABASE_URL"] + server["environment"]["STILLHERE_REDIS_URL"]
    assert all(re.search(rf"(//|@){name}/", addresses) for name in others)


def test_a_proxy_is_expected_and_the_password_has_no_default() -> None:
    server, database = (COMPOSE["services"][name]["environment"] for name in ("server", "database"))
    assert server["STILLHERE_TRUSTED_PROXIES"] == "${STILLHERE_TRUSTED_PROXIES:-1}"
    asked = database["POSTGRES_PASSWORD"]
    assert asked.startswith("${POSTGRES_PASSWORD:?")
    assert f"//stillhere:{asked}@database/" in server["STILLHERE_DATABASE_URL"]


def test_each_setting_is_one_that_the_server_reads() -> None:
    documented = (ROOT / "docs" / "configuration.md").read_text()
    named = {*COMPOSE["services"]["server"]["environment"], *re.findall(r"\b(STILLHERE_[A-Z_]+)=", DOCKERFILE)}
    assert [name for name in named if f"`{name}`" not in documented] == []


def test_the_server_gets_the_time_that_it_takes_to_stop() -> None:
    assert int(COMPOSE["services"]["server"]["stop_grace_period"].removesuffix("s")) > GRACE_SECONDS
    assert "STOPSIGNAL SIGTERM" in DOCKERFILE
