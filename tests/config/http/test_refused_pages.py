"""What is refused before Django sees it is a page where a browser shows it, and JSON where a program reads it."""

from collections.abc import Iterator

import httpx
import pytest

from tests.support.live_server import LiveServer

# As browsers send it for what they show.
FOR_A_PAGE = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
TOO_LARGE = b"text=" + b"x" * 6_000_000


@pytest.fixture
def http(transactional_db: None) -> Iterator[httpx.Client]:
    with LiveServer() as server, httpx.Client(base_url=server.url) as client:
        yield client


def test_a_form_that_is_too_large_and_sent_without_a_script_gets_a_page(http: httpx.Client) -> None:
    reply = http.post("/login/", content=TOO_LARGE, headers=FOR_A_PAGE)
    assert reply.status_code == 413
    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "style-src 'self'" in reply.headers["Content-Security-Policy"]
    assert "A request has at most" in reply.text
    assert "Back leads to what you wrote" in reply.text


@pytest.mark.parametrize(("path", "headers"), [("/login/", {}), ("/api/v1/projects", FOR_A_PAGE), ("/mcp", FOR_A_PAGE)])
def test_a_program_gets_json(http: httpx.Client, path: str, headers: dict[str, str]) -> None:
    reply = http.post(path, content=TOO_LARGE, headers=headers)
    assert (reply.status_code, reply.headers["Content-Type"].partition(";")[0]) == (413, "application/json")
    assert "style-src" not in reply.headers["Content-Security-Policy"]
