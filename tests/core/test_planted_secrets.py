"""Keys, tickets, tokens and passwords are nowhere to be found afterwards, and what is stored of them opens nothing."""

import hashlib
from collections.abc import Iterator

import httpx
import pytest

from tests.support.server_process import ServerProcess
from tests.support.stores import Store

PASSWORD = "Tr0mbone-orchard-planted"
SET_PASSWORD = f"""
from django.contrib.auth.models import User
user = User.objects.get(username="ana")
user.set_password("{PASSWORD}")
user.save()
"""


@pytest.fixture
def server(store: Store) -> Iterator[ServerProcess]:
    with ServerProcess(store, LOG_LEVEL="DEBUG") as process:
        yield process


@pytest.mark.timeout(240)
def test_planted_secrets_are_nowhere_and_their_hashes_open_nothing(server: ServerProcess, store: Store) -> None:
    key = server.key("ana")
    server.shell(SET_PASSWORD)
    api = server.api(key)
    _, session = api.session("/planted")
    ticket = api.call("POST", "/ws-tickets")["ticket"]
    token = api.call("POST", f"/sessions/{session}/flush-tokens")["flush_token"]
    api.close()
    planted = [key, ticket, token, PASSWORD]
    shown = provoke(server, planted)
    found = {"error pages": shown, "log": server.whole_log(), "database": server.manage("dumpdata")}
    found["files"] = "".join(file.read_text("latin-1") for file in store.folder.glob("stillhere.sqlite3*"))
    assert len(found["database"]) > 1_000
    assert '"route":"login/"' in found["log"]
    for place, text in found.items():
        for secret in planted:
            assert secret not in text, place
    for secret in planted:
        stored = hashlib.sha256(secret.encode()).hexdigest()
        for bearer in (stored, stored[:8], secret[:8], f"sh_{stored}"):
            assert get(server, "/projects", bearer).status_code == 401


def get(server: ServerProcess, path: str, bearer: str) -> httpx.Response:
    return httpx.get(f"{server.url}/api/v1{path}", headers={"Authorization": f"Bearer {bearer}"})


def provoke(server: ServerProcess, planted: list[str]) -> str:
    """Every kind of refusal, with a secret in the header, the body or a form; what was answered."""
    shown = []
    for secret in planted:
        shown.append(get(server, "/projects/unknown", secret))
        shown.append(get(server, "/projects", f"{secret}x"))
        bodies = ({"path": 5, "api_key": secret}, {"path": "x", "name": [secret]}, secret)
        headers = {"Authorization": f"Bearer {planted[0]}"}
        shown += [httpx.post(f"{server.url}/api/v1/projects", json=body, headers=headers) for body in bodies]
        shown.append(httpx.post(f"{server.url}/login/", data={"username": "ana", "password": secret}))
        shown.append(httpx.get(f"{server.url}/nowhere/", headers={"Cookie": f"sessionid={secret}"}))
    assert {answer.status_code for answer in shown} <= {401, 403, 404, 422}
    return "".join(answer.text + str(answer.headers) for answer in shown)
