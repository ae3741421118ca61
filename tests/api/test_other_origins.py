"""Frontends on another origin: only listed ones, with a key, never with a cookie."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.support.chat import Chat
from tests.support.live_server import LiveServer

LISTED, OTHER = "https://chat.example.org", "https://evil.example"


@pytest.fixture(autouse=True)
def one_is_listed(settings: Any) -> None:
    settings.CORS_ALLOWED_ORIGINS = [LISTED]


ASKED = {"authorization", "content-type", "idempotency-key", "if-match", "if-none-match", "stillhere-run"}


def preflight(origin: str, method: str = "POST", path: str = "/api/v1/projects") -> Any:
    wanted = {"Origin": origin, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": ", ".join(ASKED)}
    return Client(headers=wanted).options(path)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_a_listed_origin_may_send_what_the_api_takes(method: str) -> None:
    answer = preflight(LISTED, method)
    assert answer.status_code == 200
    assert answer["Access-Control-Allow-Origin"] == LISTED
    assert method in answer["Access-Control-Allow-Methods"]
    allowed = {name.strip() for name in answer["Access-Control-Allow-Headers"].split(",")}
    assert allowed >= ASKED
    assert "Access-Control-Allow-Credentials" not in answer


@pytest.mark.parametrize("origin", [OTHER, "null", "http://chat.example.org", "https://chat.example.org.evil.example"])
def test_no_other_origin_is_let_in(origin: str) -> None:
    assert "Access-Control-Allow-Origin" not in preflight(origin)


def test_pages_are_for_no_other_origin(db: None) -> None:
    assert "Access-Control-Allow-Origin" not in preflight(LISTED, "GET", "/login/")


def test_with_a_key_it_reads_what_it_needs_to_go_on(api: Callable[..., Any], alice: User) -> None:
    chat = Chat(api(alice))
    answer = chat.api.get(f"/sessions/{chat.id}", Origin=LISTED)
    assert (answer.status_code, answer["Access-Control-Allow-Origin"]) == (200, LISTED)
    exposed = {name.strip() for name in answer["Access-Control-Expose-Headers"].split(",")}
    assert {"ETag", "Idempotent-Replayed", "Retry-After"} <= exposed
    assert "origin" in answer["Vary"].lower()


def test_a_cookie_from_there_changes_nothing(alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    answer = client.post("/api/v1/projects", {"path": "x"}, content_type="application/json", headers={"Origin": LISTED})
    assert answer.status_code == 403
    assert "Access-Control-Allow-Credentials" not in answer


@pytest.mark.parametrize(
    ("path", "origin", "read"), [("/api/v1/x", LISTED, LISTED), ("/api/v1/x", OTHER, None), ("/x", LISTED, None)]
)
def test_what_is_refused_at_the_door_may_be_read_there_too(
    server: LiveServer, settings: Any, path: str, origin: str, read: str | None
) -> None:
    """Else a frontend takes it for a server that is away, and sends the very same for ever."""
    body = b"x" * (settings.MAX_BODY_BYTES + 1)
    answer = httpx.post(f"{server.url}{path}", content=body, headers={"Origin": origin})
    assert answer.status_code == 413
    assert answer.headers.get("Access-Control-Allow-Origin") == read
    assert path == "/x" or "origin" in answer.headers["Vary"].lower()
