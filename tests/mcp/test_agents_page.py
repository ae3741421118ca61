"""What clients did, on the page Agents and on the page of keys."""

import re
import time
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from mcp_app.activity.queries import MOST_CALLS, MOST_CLIENTS
from mcp_app.activity.services import store_recorded
from mcp_app.core import calls, recording
from mcp_app.core.calls import Call
from mcp_app.core.outcomes import answered
from mcp_app.models import AgentClient, ToolCall
from sessions_app.accounts.api_keys import create_key
from sessions_app.chats.lifecycle.pruning import prune
from sessions_app.core.callers import caller_of_user
from sessions_app.core.public_names import now
from sessions_app.projects.services import create_project
from tests.mcp.mcp_client import HANDSHAKE, META, STATELESS, request, tool_call
from tests.support.live_server import LiveServer

PATIENCE_SECONDS = 10
SECRET = "never-stored-4711"
SAVE = {"action": "save", "namespace": "n", "key": SECRET, "data": SECRET}


@pytest.fixture(autouse=True)
def nothing_recorded() -> None:
    """Of other tests."""
    recording.take_recorded()


class Agent:
    """Plain requests with one key."""

    def __init__(self, server: LiveServer, plain: Any, user: User, project: str) -> None:
        self.key = create_key(caller=caller_of_user(user), name="laptop")
        self._url, self._plain = f"{server.url}/mcp?project={project}", plain

    def send(self, asked: dict[str, Any], agent: str = "") -> Any:
        headers = {**asked["headers"], "Authorization": f"Bearer {self.key.secret}", **({"User-Agent": agent} if agent else {})}
        return self._plain.post(self._url, headers=headers, json=asked["json"]).json()

    def call(self, tool: str, arguments: dict[str, Any], *, name: str = "", agent: str = "", **more: Any) -> Any:
        asked = tool_call(tool, arguments, **more)
        if name:
            asked["json"]["params"]["_meta"] = {**META, "io.modelcontextprotocol/clientInfo": {"name": name, "version": "2"}}
        return self.send(asked, agent)


@pytest.fixture
def agent(server: LiveServer, plain: Any, alice: User) -> Agent:
    return Agent(server, plain, alice, "/shop")


def page_of(user: User) -> str:
    """The page Agents of their only project."""
    client = Client()
    client.force_login(user)
    return client.get(f"/projects/{user.projects.get().id}/agents/").content.decode()


def test_calls_are_shown_without_their_contents(agent: Agent, alice: User) -> None:
    agent.call("session_store", SAVE, name="editor")
    agent.call("session_store", {**SAVE, "action": "load", "key": "none"}, name="editor")
    store_recorded()
    shown = page_of(alice)
    assert re.findall(r"<code>(\w+)</code>\s*(?:<span class=\"chip bad\">(\w+)</span>)?", shown) == [
        ("session_store", "not_found"),
        ("session_store", ""),
    ]
    assert re.search(r"<strong>editor</strong>\s*<span>2</span>\s*<span class=\"chip good\">connected", shown)
    assert SECRET not in shown
    stored = [*ToolCall.objects.values(), *AgentClient.objects.values()]
    assert SECRET not in str(stored)
    assert {call["client"] for call in ToolCall.objects.values()} == {"editor 2"}
    assert all(0 < call["duration_ms"] < 60_000 for call in ToolCall.objects.values())


def test_a_client_with_a_handshake_is_recognised_afterwards(agent: Agent) -> None:
    """It names itself once, maybe to another worker; its calls say which program they are from."""
    hello = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}
    agent.call("handoff_add", {"kind": "risk", "text": "x"}, version=HANDSHAKE, agent="lib/3")
    agent.send(request("initialize", hello, version=HANDSHAKE), "own/1")
    store_recorded()
    agent.call("session_brief", {}, version=HANDSHAKE, agent="own/1")
    store_recorded()
    assert list(ToolCall.objects.order_by("id").values_list("tool", "client")) == [
        ("handoff_add", "lib 3"),
        ("session_brief", "old 1"),
    ]


def test_only_the_newest_rows_are_kept(agent: Agent, alice: User) -> None:
    caller = caller_of_user(alice)
    for number in range(MOST_CALLS + 20):
        name = f"client {number % (MOST_CLIENTS + 5)}"
        if number % 20 == 0:
            agent.call("session_store", SAVE if number == 0 else {"action": "stats"}, name=name)
        else:  # As such a call is recorded, without its way through HTTP.
            call = Call(caller, "/shop", client=calls.Client(name, "2"))
            recording.record_call(call, "session_store", {}, answered("done"), time.perf_counter())
        if number % 90 == 0:
            store_recorded()
    store_recorded()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while ToolCall.objects.count() < MOST_CALLS and time.monotonic() < deadline:
        time.sleep(0.05)  # The server stores too, and may have taken the last calls a moment ago.
    assert ToolCall.objects.count() == MOST_CALLS
    assert not ToolCall.objects.filter(client="client 0 2", at__lt=ToolCall.objects.order_by("id")[0].at).exists()
    assert AgentClient.objects.count() == MOST_CLIENTS
    ToolCall.objects.update(at=now() - (now() - now().replace(year=2000)))
    assert prune()["tool calls"] == MOST_CALLS


def test_other_users_see_nothing_and_cannot_add(agent: Agent, server: LiveServer, plain: Any, alice: User, bob: User) -> None:
    agent.call("session_store", SAVE)
    project = alice.projects.get()
    stranger = Agent(server, plain, bob, str(project.id))
    stranger.call("session_store", {"action": "stats", "project": str(project.id)}, name="spy")
    stranger.call("session_store", {"action": "stats", "project": "/shop"}, name="spy")
    store_recorded()
    assert ToolCall.objects.count() == 1
    assert "spy" not in page_of(alice)
    client = Client()
    client.force_login(bob)
    assert client.get(f"/projects/{project.id}/agents/").status_code == 404


def test_recording_takes_a_few_statements_for_any_number_of_calls(alice: User) -> None:
    """Without a server, whose own task would store some of them."""
    caller = caller_of_user(alice)
    create_project(caller=caller, path="/shop")
    call = Call(caller, "/shop", client=calls.Client("editor", "2"))
    counted = []
    for number in (1, 30):
        for _ in range(number):
            recording.record_call(call, "session_brief", {}, answered("done"), time.perf_counter())
        with CaptureQueriesContext(connection) as seen:
            store_recorded()
        counted.append(len(seen))
    assert counted[0] == counted[1]
    with CaptureQueriesContext(connection) as seen:
        store_recorded()
    assert len(seen) == 0


def test_a_key_is_marked_as_connected_once_its_client_called(agent: Agent, alice: User) -> None:
    page = Client()
    page.force_login(alice)
    asked = {"name": "new", "scopes": ["read", "write"], "project": "", "days": ""}
    made = page.post("/keys/", asked, follow=True).content.decode()
    [secret] = set(re.findall(r"sh_\w{20,}", made))
    assert f'"Authorization": "Bearer {secret}"' in made.replace("&quot;", '"')
    shown = page.get("/keys/").content.decode()
    assert (secret in shown, ">connected<" in shown) == (False, False)
    agent.send(request("tools/list", {"_meta": META}, version=STATELESS))
    store_recorded()
    shown = page.get("/keys/").content.decode()
    assert shown.count(">connected<") == 1
    assert re.search(r"test 1, <time", shown)
