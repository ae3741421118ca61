"""The page of how long endpoints take: what got slower comes first, and the cost does not depend on the amount of data."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from sessions_app.core.web.template_tags.charts import HEIGHT, LEAST, bars
from tests.memory.conftest import Memory

TITLES = re.compile(r'class="title"[^>]*><code>([^<]+)</code>')


@pytest.fixture
def page(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def measure(memory: Memory, durations: dict[str, float]) -> None:
    """In a run of its own."""
    run = memory.start()["run_id"]
    samples = [{"endpoint": endpoint, "duration_ms": duration} for endpoint, duration in durations.items()]
    sent = memory.api.post(memory.address("performance"), {"samples": samples}, **{"Stillhere-Run": run})
    assert sent.status_code == 201
    memory.run(run, "end")


def shown(page: Client, memory: Memory, query: str = "") -> str:
    reply: Any = page.get(f"/projects/{memory.project}/performance/{query}")
    assert reply.status_code == 200
    return str(reply.content.decode()).partition("<main")[2].partition("</main>")[0]


def test_what_got_slower_stands_on_top_with_how_much(page: Client, memory: Memory) -> None:
    assert "Nothing was measured yet" in shown(page, memory)
    measure(memory, {"GET /slow": 5_000, "GET /twice": 100, "GET /thrice": 100, "GET /same": 100})
    measure(memory, {"GET /slow": 5_100, "GET /twice": 200, "GET /thrice": 300, "GET /same": 100, "GET /<new>": 1.2})
    html = shown(page, memory)
    assert TITLES.findall(html) == ["GET /thrice", "GET /twice", "GET /slow", "GET /same", "GET /&lt;new&gt;"]
    assert re.findall(r'class="hint( worse)?">([^<]+)<', html) == [
        (" worse", "+200 %"),
        (" worse", "+100 %"),
        ("", "+2 %"),
        ("", "as before"),
        ("", "first run"),
    ]
    assert 'aria-label="p50 300 ms, p95 300 ms, before 100 ms"' in html
    assert 'aria-label="p95 by run: 5.0 s, 5.1 s"' in html


def test_clocks_of_whole_milliseconds_measure_zeros(page: Client, memory: Memory) -> None:
    measure(memory, {"GET /was-nothing": 0, "GET /is-nothing": 0, "GET /twice": 100})
    measure(memory, {"GET /was-nothing": 50, "GET /is-nothing": 0, "GET /twice": 200})
    html = shown(page, memory)
    assert TITLES.findall(html) == ["GET /was-nothing", "GET /twice", "GET /is-nothing"]
    told = re.findall(r'class="hint( worse)?">([^<]+)<', html)
    assert [words for _, words in told] == ["+49\u202f900 %", "+100 %", "as before"]


def test_endpoints_are_filtered_and_paged_by_plain_links(page: Client, memory: Memory) -> None:
    measure(memory, {f"GET /{number:03}": 100 + number for number in range(120)})
    assert TITLES.findall(shown(page, memory, "?q=get%20/11")) == [f"GET /{number}" for number in range(119, 109, -1)]
    assert "No endpoint has" in shown(page, memory, "?q=%25")
    seen, query = [], ""
    while True:
        html = shown(page, memory, query)
        seen += TITLES.findall(html)
        more = re.search(r'href="(\?from=[^"]+)"', html)
        if more is None:
            break
        query = more[1]
    assert seen == [f"GET /{number:03}" for number in range(119, -1, -1)]
    assert len(TITLES.findall(shown(page, memory, "?rows=101"))) == 101


def test_it_takes_the_same_statements_however_many_endpoints_and_runs(page: Client, memory: Memory) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as seen:
            shown(page, memory)
        return len(seen)

    measure(memory, {"GET /": 1})
    few = statements()
    for _ in range(3):
        measure(memory, {f"GET /{number}": number for number in range(60)})
    assert statements() == few


def test_bars_are_as_high_as_their_values_whatever_the_unit() -> None:
    for values in ([0.4, 0.2, 0], [4000, 2000, 0]):
        assert [bar.height for bar in bars(values)] == [HEIGHT, HEIGHT // 2, LEAST]
    assert [bar.height for bar in bars([0, 0])] == [LEAST, LEAST]
