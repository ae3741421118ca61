"""Two processes at standard input and a person at the pages, on one project."""

import threading
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from memory_app.models import Run
from sessions_app.models import Message
from tests.mcp.stdio_agent import Agent, agent_process
from tests.mcp.test_remote_stdio import command, environment
from tests.support.live_server import LiveServer

# It starts processes, which takes seconds on an idle machine.
pytestmark = pytest.mark.timeout(300)
MESSAGES = 8


def save(agent: Agent, key: str, value: Any) -> dict[str, Any]:
    return agent.call("session_store", action="save", namespace="notes", key=key, data=value)


def load(agent: Agent, key: str) -> Any:
    return agent.call("session_store", action="load", namespace="notes", key=key)["stored"]["value"]


def test_two_agents_and_a_page_lose_nothing_and_the_lease_is_handed_over(
    server: LiveServer, secret: str, alice: User, path: str, tmp_path: Path
) -> None:
    page, given = Client(), environment(tmp_path, secret)
    page.force_login(alice)
    with agent_process(command(server.url, path), given) as first:
        assert save(first, "first", 1)["created"]
        with agent_process(command(server.url, path), given) as second:
            assert save(second, "second", 2)["error"]["code"] == "lease_held"
            project = alice.projects.get()
            made = page.post(f"/projects/{project.id}/memory-new/", {"namespace": "notes", "key": "page", "value": "3"})
            assert made.status_code == 302
            assert load(first, "page") == load(second, "page") == 3
            save_messages_at_once(first, second)
            assert Message.objects.filter(session__project=project).count() == 2 * MESSAGES
            newest = Run.objects.filter(project=project).order_by("-number")[0]
            assert page.post(f"/projects/{project.id}/runs/{newest.id}/takeover/").status_code == 302
            assert save(second, "second", 2)["created"]
            assert save(first, "first", 4)["error"]["code"] == "lease_lost"
            assert {key: load(first, key) for key in ("first", "second", "page")} == {"first": 1, "second": 2, "page": 3}
            second.end()
        first.end()
    assert not Run.objects.filter(project=project, ended_at=None).exists()


def save_messages_at_once(*agents: Agent) -> None:
    def work(name: int, agent: Agent) -> None:
        for number in range(MESSAGES):
            agent.call("session_save", messages=[{"id": f"{name}-{number}", "role": "user", "text": "said"}])

    agents[0].call("session_resume")
    threads = [threading.Thread(target=work, args=numbered) for numbered in enumerate(agents)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
