"""What a thread's page shows of its state: values, questions, failures; and how much of the store that reads."""

import base64
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Interrupt

from memory_app.checkpoints.threads import state_rows
from memory_app.models import Checkpoint
from tests.memory.checkpoints.conftest import Graph
from tests.memory.checkpoints.test_thread_pages import project_page, shown
from tests.memory.conftest import Memory

SERIALIZER = JsonPlusSerializer()
TALK = [
    HumanMessage("What is <b>new</b>?"),
    AIMessage("I look.", tool_calls=[{"name": "search", "args": {"query": "news & more"}, "id": "1"}]),
    ToolMessage("Nothing", tool_call_id="1", name="search"),
]


@pytest.fixture
def page(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def sent(value: Any) -> dict[str, str]:
    kind, data = SERIALIZER.dumps_typed(value)
    return {"type": kind, "base64": base64.b64encode(data).decode()}


def put(graph: Graph, checkpoint_id: str, *, ns: str = "~", inside: Any = None, step: int = 1, **values: Any) -> None:
    """A checkpoint as the client's saver puts it: short values are `inside`."""
    body = {
        "checkpoint": sent({"v": 4, "channel_values": inside or {}}),
        "metadata": {"step": step},
        "versions": dict.fromkeys(values, checkpoint_id),
        "values": {name: sent(value) for name, value in values.items()},
    }
    assert graph.api.put(graph.address(f"/checkpoints/{ns}/{checkpoint_id}"), body).status_code == 201


def write(graph: Graph, checkpoint_id: str, channel: str, value: Any, idx: int = -3) -> None:
    writes = [{"idx": idx, "channel": channel, **sent(value)}]
    answer = graph.api.put(graph.address(f"/checkpoints/~/{checkpoint_id}/writes/task"), {"writes": writes})
    assert answer.status_code == 200, answer.content


def thread_page(graph: Graph) -> str:
    return project_page(graph, f"threads/{graph.thread}")


def test_messages_read_as_a_conversation_and_other_values_follow(page: Client, graph: Graph) -> None:
    internal = {"branch:to:agent": None, "__start__": "inner"}
    put(graph, "c1", inside={"count": 3, **internal}, messages=TALK, plan={"goal": "<i>win</i>"})
    html = shown(page, thread_page(graph))
    assert "Newest state, step 1" in html
    places = [html.index(text) for text in ("What is &lt;b&gt;new", "I look.", "news &amp; more", "Nothing", ">count<", ">plan<")]
    assert places == sorted(places)
    assert "2 internal channels of the graph" in html
    assert html.index(">plan<") < html.index(">__start__<") < html.index('id="steps"')
    assert "<b>" not in html
    assert "<i>" not in html
    assert 'class="preview">Nothing<' in shown(page, project_page(graph, "threads"))


def test_a_question_is_shown_and_one_of_an_earlier_checkpoint_too(page: Client, graph: Graph) -> None:
    put(graph, "c1", step=1)
    write(graph, "c1", "__interrupt__", (Interrupt({"question": "Send <it>?"}, id="i"),))
    html = shown(page, thread_page(graph))
    assert html.index("Waits for an answer</h3>") < html.index("Send &lt;it&gt;?") < html.index("Newest state")
    put(graph, "c2", step=2)
    assert "Send" not in shown(page, thread_page(graph))
    earlier = shown(page, thread_page(graph) + "?checkpoint=c1")
    assert "Asked here</h3>" in earlier
    assert "Send &lt;it&gt;?" in earlier
    assert "State, step 1" in earlier
    assert "Show the newest" in earlier


def test_a_text_that_is_asked_and_several_questions(page: Client, graph: Graph) -> None:
    put(graph, "c1")
    write(graph, "c1", "__interrupt__", (Interrupt("Go on?", id="i"),))
    assert ">Go on?</p>" in shown(page, thread_page(graph))
    write(graph, "c1", "__interrupt__", (Interrupt("Here?", id="i"), Interrupt("There?", id="j")))
    html = unescape(shown(page, thread_page(graph)))
    assert "“Here?”" in html
    assert "“There?”" in html
    write(graph, "c1", "__error__", ValueError("No <space>"), idx=-1)
    assert "ValueError(&#x27;No &lt;space&gt;&#x27;)" in shown(page, thread_page(graph))


def test_each_step_opens_the_state_that_it_had(page: Client, graph: Graph) -> None:
    put(graph, "c1", topic=["first"])
    put(graph, "c2", topic=["second"], step=2)
    put(graph, "c3", ns="inner", topic=["of a part"], step=3)
    html = shown(page, thread_page(graph))
    assert "second" in html
    assert "first" not in html
    assert "?checkpoint=c1&amp;ns=#state" in html
    assert "first" in shown(page, thread_page(graph) + "?checkpoint=c1&ns=")
    assert "of a part" in shown(page, thread_page(graph) + "?checkpoint=c3&ns=inner")
    assert 'id="state"' not in shown(page, thread_page(graph) + "?before=c2&ns=")
    for unknown in ("?checkpoint=c3", "?checkpoint=x", "?checkpoint=%00", "?checkpoint=c1&ns=%ED%A0%80"):
        assert page.get(thread_page(graph) + unknown).status_code == 404, unknown


def test_what_a_page_cannot_read_is_described(page: Client, graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    graph.put("c1", versions={"own": "1", "large": "1"}, values={"own": b"1", "large": b"x" * 5_000})
    body = {
        "checkpoint": sent({}),
        "versions": {"own": "2", "large": "1"},
        "values": {"own": {"type": "pickle", "base64": "AAAA"}},
    }
    assert graph.api.put(graph.address("/checkpoints/~/c2"), body).status_code == 201
    html = shown(page, thread_page(graph))
    assert "in the graph&#x27;s own format" in html or "in the graph's own format" in html
    assert "<code>pickle</code>" in html
    assert "5 000 bytes" in html.replace("\u202f", " ")
    monkeypatch.setattr(state_rows, "PAGE_BYTES", 100)
    assert "too large to be shown" in shown(page, thread_page(graph))


def test_damaged_rows_have_a_page(page: Client, graph: Graph) -> None:
    put(graph, "c1", messages=TALK)
    for damage in ({"versions": "{damaged"}, {"versions": '{"messages": 3}'}, {"metadata": "{"}, {"data": b"\xc1"}):
        Checkpoint.objects.update(**damage)
        assert 'id="state"' in shown(page, thread_page(graph))
        assert "graph" in shown(page, project_page(graph, "threads"))


def test_the_state_of_another_user_is_nobodys(page: Client, graph: Graph, bob: User) -> None:
    put(graph, "c1", messages=TALK)
    page.force_login(bob)
    for rest in ("", "?checkpoint=c1"):
        reply = page.get(thread_page(graph) + rest)
        assert reply.status_code == 404
        assert b"I look." not in reply.content


def test_reads_are_bounded(page: Client, graph: Graph, memory: Memory) -> None:
    def statements(address: str) -> int:
        with CaptureQueriesContext(connection) as seen:
            assert len(shown(page, address)) < 1_000_000
        return len(seen)

    put(graph, "c1", messages=TALK, plan=[1])
    addresses = (thread_page(graph), project_page(graph, "threads"))
    few = [statements(address) for address in addresses]
    many: dict[str, Any] = {f"channel {number:03}": {"text": "x" * 15_000} for number in range(150)}
    put(graph, "c2", **many, messages=TALK)
    for number in range(40):
        put(Graph(memory, f"more {number}"), "c1", messages=[HumanMessage("y" * 60_000)])
    assert [statements(address) for address in addresses] == few
    assert "51 more channels" in shown(page, thread_page(graph))


def test_a_long_list_of_messages_is_folded(page: Client, graph: Graph) -> None:
    put(graph, "c1", messages=[HumanMessage(f"Text {number}.") for number in range(130)])
    html = shown(page, thread_page(graph))
    assert "The first 30 items are not shown." in html
    assert "90 earlier messages" in html
    assert "Text 29." not in html
    assert html.index("90 earlier messages") < html.index("Text 30.") < html.index("Text 129.")
    put(graph, "c2", messages=[HumanMessage(f"Text {number}. " + "z" * 1_000) for number in range(2_000)])
    assert "too large to be shown" in shown(page, thread_page(graph))
