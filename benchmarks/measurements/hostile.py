"""S6, G4 and P18: searches in a large store, and a page of texts that are expensive to render.

Each figure has its limit beside it. Searches go through HTTP, with words of every kind in turn, and the worst counts.
"""

import json
import os
import random
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks.seeding.chat_texts import VOCABULARY, texts
from benchmarks.support.http_client import Wire, request_bytes, without_gc
from benchmarks.support.sample_sizes import Plan
from benchmarks.support.sides import Stillhere, filled
from benchmarks.support.table import Row

SEARCH_MS, LIST_MS, PAGE_MS = 300, 100, 1_000
SESSIONS, MESSAGES, STRINGS = 20_000, 100_000, 500
SIGNS = ["a" * 150 + "b", "b" + "a" * 150, "***", "](", "  ", "e", "checkout_4711", "100%", "not there at all"]
HOSTILE = ["[", "![", "*a ", "*a_", "a**b", "<", "&", "> a\n"]
BLOCKS = [("python", " \n"), ("yaml", "*"), ("make", "a"), ("javascript", "/"), ("html", "<a "), ("sql", "'"), ("perl", "(")]


def words(count: int) -> list[str]:
    """Words of the texts, parts of them, several together, and what no text has."""
    source, vocabulary, known = random.Random(4711), VOCABULARY.split(), texts()  # noqa: S311 - nothing secret
    found = list(SIGNS)
    while len(found) < count:
        text = source.choice(known)
        start = source.randrange(len(text) - 60)
        found += [
            source.choice(vocabulary),
            " ".join(source.choices(vocabulary, k=source.randint(2, 6))),
            text[start : start + source.randint(3, 60)],
            text[start : start + source.randint(3, 40)][::-1],
        ]
    return found[:count]


def searches(plan: Plan) -> list[Row]:
    """The worst of many strings, by `/search` and in a project's list of sessions."""
    sessions = min(SESSIONS, plan.many)
    seeded = filled("-m", "benchmarks.seeding.seed", "bench", str(sessions), str(max(1, min(MESSAGES, plan.many) - sessions)))
    project = json.loads(seeded.said)["project"]
    rows = []
    with Stillhere(seeded) as side:
        for name, path, limit in (("S6", "/search?q=", SEARCH_MS), ("G4", f"/projects/{project}/sessions?q=", LIST_MS)):
            worst, asked = _worst(side, path, min(STRINGS, plan.requests * 5))
            what = f"{path.partition('?')[0].rpartition('/')[2]}?q=, {sessions:,} sessions, {asked!r}"
            rows.append(Row(name, what, worst, limit, "goal", "ms", 1.0, at_most=True))
    return rows


def _worst(side: Stillhere, path: str, count: int) -> tuple[float, str]:
    """Milliseconds, the faster of two tries, which excludes other load of the machine."""
    wire = Wire(side.port)
    took = []
    with without_gc():
        for text in words(count):
            request = side.calls.get(path + quote(text))
            took.append((min(wire.seconds(request), wire.seconds(request)) * 1000, text[:20]))
    wire.close()
    return max(took)


def hostile_page(plan: Plan) -> list[Row]:
    """CPU time of the server and its children for one page of 40 texts."""
    size = 19_000
    texts = [atom * (size // len(atom)) for atom in HOSTILE]
    texts += [f"~~~~~{language}\n{atom * (size // len(atom))}\n~~~~~" for language, atom in BLOCKS]
    with Stillhere() as side:
        took = [_page_cpu(side, [f"{text} {number}.{round_}" for number in range(3) for text in texts][:40])
                for round_ in range(min(3, plan.rounds))]  # fmt: skip
    return [Row("P18", "CPU of a page of 40 hostile texts", max(took), PAGE_MS, "goal", "ms", 1.0, at_most=True)]


def _page_cpu(side: Stillhere, texts: list[str]) -> float:
    wire = Wire(side.port)
    [session] = side.new_sessions(1)
    ops = [{"op": "upsert", "id": f"m{number}", "role": "user", "parts": _parts(text)} for number, text in enumerate(texts)]
    body = json.dumps({"epoch": 1, "writer_id": session, "seq": 1, "ops": ops}).encode()
    wire.send(request_bytes("POST", f"/api/v1/sessions/{session}/changes", side.calls.headers, body))
    before = cpu_seconds(side.server.pid)
    wire.send(request_bytes("GET", f"/sessions/{session}/", {"Cookie": side.cookie}))
    wire.close()
    return (cpu_seconds(side.server.pid) - before) * 1000


def _parts(text: str) -> list[dict[str, Any]]:
    """The text, a formula, and a command with it, which are shown by different ways."""
    command = {"type": "tool-run", "input": {"command": text[:9_000]}, "output": "\x1b[31m" + text[:9_000]}
    edit = {
        "type": "tool-edit",
        "input": {"old_string": text[:9_000], "new_string": text[1:9_000]},
        "output": f"[{text[:9_000]}]",
    }
    return [{"type": "text", "text": text}, {"type": "text", "text": f"$$\n{text[:1_900]}\n$$"}, command, edit]


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and its children, including ended ones."""
    # Listed with the thread that started them.
    children = [child for listed in Path(f"/proc/{pid}/task").glob("*/children") for child in listed.read_text().split()]
    ticks = sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK") + sum(cpu_seconds(int(child)) for child in children)
