import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User


class Memory:
    """One project's memory, as a client of it sees it."""

    def __init__(self, api: Any, path: str) -> None:
        self.api = api
        self.project = api.post("/projects", {"path": path}).json()["id"]

    def address(self, rest: str) -> str:
        return f"/projects/{self.project}/{rest}"

    def put(self, key: str, value: Any, **headers: str) -> Any:
        return self.api.put(self.address(f"memory/{key}"), json.dumps(value), **headers)

    def get(self, key: str, **headers: str) -> Any:
        return self.api.get(self.address(f"memory/{key}"), **headers)

    def delete(self, key: str, **headers: str) -> Any:
        return self.api.delete(self.address(f"memory/{key}"), **headers)

    def start(self, agent: str = "") -> dict[str, Any]:
        answer = self.api.post(self.address("runs"), {"agent": agent})
        assert answer.status_code == 201
        return dict(answer.json())

    def run(self, run_id: str, act: str, body: Any = None) -> Any:
        return self.api.post(self.address(f"runs/{run_id}/{act}"), body)


@pytest.fixture
def memory(api: Callable[..., Any], alice: User, path: str) -> Memory:
    return Memory(api(alice), path)


@pytest.fixture
def shared(transactional_db: None, api: Callable[..., Any], alice: User, path: str) -> Memory:
    """The same where transactions really end, for several threads."""
    return Memory(api(alice), path)
