"""Fifty large bodies (in the suite 25) at once: memory stays small, and refusals say when to retry."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.server_process import ServerProcess
from tests.support.stores import Store
from tests.support.suite import is_patient

pytestmark = [
    pytest.mark.scale,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory from /proc"),
]
# Half as many would need more room too, if all were let in at once.
AT_ONCE = 50 if is_patient() else 25
ROOM_BYTES = 250_000_000


def peak_bytes(server: ServerProcess) -> int:
    """The most resident memory that it ever had."""
    lines = Path(f"/proc/{server.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def body_of(number: int) -> dict[str, Any]:
    """4.5 MB: as much as one request may well bring."""
    text = f"{number} said " * (99_000 // len(f"{number} said "))
    ops = [{"op": "upsert", "id": f"m{number}-{op}", "role": "user", "text": text} for op in range(45)]
    return {"epoch": 1, "writer_id": f"w{number}", "seq": 1, "ops": ops}


def test_fifty_large_bodies_at_once_take_bounded_memory(store: Store) -> None:
    with ServerProcess(store) as server, ThreadPoolExecutor(AT_ONCE) as clients:
        api = server.api(server.key("ana"))
        sessions = [api.session(f"/large/{number}")[1] for number in range(AT_ONCE)]
        headers = {"Authorization": f"Bearer {server.key('ana')}"}

        def save(number: int) -> httpx.Response:
            address = f"{server.url}/api/v1/sessions/{sessions[number]}/changes"
            return httpx.post(address, json=body_of(number), headers=headers, timeout=120)

        answers = list(clients.map(save, range(AT_ONCE)))
        refused = [answer for answer in answers if answer.status_code in {429, 503}]
        assert {answer.status_code for answer in answers if answer not in refused} == {200}
        assert all("Retry-After" in answer.headers for answer in refused)
        api.save(sessions[0], "m1", writer="another")
        api.close()
        assert peak_bytes(server) <= ROOM_BYTES
