"""P10: pages with much content: time to the first byte, and the size of a first visit.

A page's weight is its HTML, gzipped here as a proxy would, and every style sheet, script and icon that it names, and what
scripts import, as the server sends them to a client that takes gzip. The icon for a phone's home screen is left out: it is loaded
when the page is put there.
"""

import gzip
import json
import re
import shutil
from pathlib import Path
from statistics import median
from urllib.parse import urljoin

from benchmarks.seeding.page_seed import NAMESPACE
from benchmarks.seeding.seed import PATH
from benchmarks.support.http_client import Wire, request_bytes, without_gc
from benchmarks.support.sample_sizes import WARM_UP, Plan
from benchmarks.support.sides import Filled, Stillhere, collected, filled
from benchmarks.support.table import Row

SESSIONS, MESSAGES, ERRORS, KEYS = 10_000, 5_000, 500, 5_000
FIRST_BYTE_MS, WEIGHT_KB = 100, 80
NAMED = re.compile(rb"""(?<!rel="apple-touch-icon" )(?:src|href)=["']?(/static/[^"' >]+)""")
IMPORTED = re.compile(rb"""(?:\bfrom|\bimport)\s*["'](\.[^"']+)["']|\burl\(["']?([^"')]+)""")


class WithPages(Stillhere):
    """Serves like production: static files compressed, under hashed names."""

    def __init__(self, store: Filled) -> None:
        super().__init__(store, STATIC_MANIFEST="1")

    def prepare(self) -> None:
        static = Path("data") / "static"
        shutil.copytree(collected().folder / static, self.server.folder / static, dirs_exist_ok=True)
        super().prepare()


def pages(plan: Plan) -> list[Row]:
    sizes = [max(5, size // plan.fewer) for size in (SESSIONS, MESSAGES, ERRORS, KEYS)]
    seeded = filled("-m", "benchmarks.seeding.page_seed", "bench", *map(str, sizes))
    made, rows, weights = json.loads(seeded.said), list[Row](), dict[str, float]()
    with WithPages(seeded) as side:
        headers = {"Cookie": side.cookie, "Accept-Encoding": "gzip"}
        wire = Wire(side.port)
        for what, path in _addresses(made["project"], made["session"], sizes).items():
            request = request_bytes("GET", path, headers)
            first = _first_byte_ms(wire, request, plan.requests)
            rows.append(Row("P10", f"first byte of {what}", first, FIRST_BYTE_MS, "goal", "ms", 1.0, at_most=True))
            weights[what] = _weight(wire, wire.send(request), path, headers) / 1_000
        wire.close()
    heaviest = sorted(weights.items(), key=lambda pair: pair[1], reverse=True)[:2]
    return rows + [
        Row("P10", f"first view, gzipped: {what}", weight, WEIGHT_KB, "goal", "KB", 1.0, at_most=True)
        for what, weight in heaviest
    ]


def _addresses(project: str, session: str, sizes: list[int]) -> dict[str, str]:
    sessions, messages, errors, keys = sizes
    return {
        "the first page": "/",
        f"a project of {sessions:,} sessions": f"/projects/{project}/",
        f"a transcript of {messages:,} messages": f"/sessions/{session}/",
        "the chat page": f"/chat/?project={PATH}",
        f"{errors:,} errors": f"/projects/{project}/errors/",
        "the overview of a memory": f"/projects/{project}/memory/",
        f"{keys:,} keys of a memory": f"/projects/{project}/memory/{NAMESPACE}/",
    }


def _first_byte_ms(wire: Wire, request: bytes, count: int) -> float:
    for _ in range(min(WARM_UP, count)):
        wire.send(request)
    with without_gc():
        return median(wire.first_byte_seconds(request) for _ in range(count)) * 1000


def _weight(wire: Wire, html: bytes, path: str, headers: dict[str, str]) -> int:
    """Bytes; each file once."""
    weight, waiting, seen = len(gzip.compress(html)), _named(html, path), set[str]()
    while waiting:
        address = waiting.pop()
        if address in seen:
            continue
        seen.add(address)
        sent = wire.send(request_bytes("GET", address, headers))
        weight += len(sent)
        plain = gzip.decompress(sent) if sent.startswith(b"\x1f\x8b") else sent
        waiting |= _imported(plain, address)
    return weight


def _named(html: bytes, path: str) -> set[str]:
    return {urljoin(path, found.decode()) for found in NAMED.findall(html)}


def _imported(content: bytes, address: str) -> set[str]:
    if not address.endswith((".js", ".css")):
        return set()
    found = (script or style for script, style in IMPORTED.findall(content))
    return {urljoin(address, name.decode()) for name in found if not name.startswith(b"data:")}
