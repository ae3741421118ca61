"""The pages of threads: which there are, which wait for an answer, their steps; pruning and deleting."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memory_app.checkpoints.threads import pages
from memory_app.models import Checkpoint, GraphThread
from tests.memory.checkpoints.conftest import Graph, grown
from tests.support.chat import Chat

INTERRUPT, ERROR = (-3, "__interrupt__", b"May I?"), (-1, "__error__", b"No")
FAILED = '<span class="chip bad">failed</span>'


@pytest.fixture
def page(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def project_page(graph: Graph, rest: str = "") -> str:
    return "/" + graph.memory.address(rest).strip("/") + "/" * bool(not rest or not rest.endswith("/"))


def shown(page: Client, address: str) -> str:
    reply = page.get(address)
    assert reply.status_code == 200, address
    return reply.content.decode()


def names_in(html: str) -> list[str]:
    return re.findall(r'<a class="title clamped" href="[^"]*/threads/[^"]*" title="[^"]*">(.*?)</a>', html)


def test_a_project_has_the_tab_once_it_has_a_thread(page: Client, graph: Graph) -> None:
    tab = f'href="{project_page(graph, "threads")}"'
    assert tab not in shown(page, project_page(graph))
    assert "There are no threads" in shown(page, project_page(graph, "threads"))
    grown(graph, 1)
    assert tab in shown(page, project_page(graph))
    assert tab in shown(page, project_page(graph, "settings"))


def test_a_project_that_has_only_threads_leads_to_them(page: Client, graph: Graph, path: str) -> None:
    link = f'<a href="{project_page(graph, "threads")}">Threads</a>'

    def leads() -> tuple[bool, bool]:
        return link in shown(page, "/"), f"under {link}" in shown(page, project_page(graph))

    assert leads() == (False, False)
    grown(graph, 1)
    assert leads() == (True, True)
    assert "0 messages" not in shown(page, "/")
    chat = Chat(graph.api, project=path)
    assert leads() == (False, False)
    graph.api.delete(f"/sessions/{chat.id}")
    assert leads() == (True, True)


def test_the_last_begun_threads_come_first_and_say_whether_they_wait(
    page: Client, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "A_PAGE", 2)
    for name in ("one", "two", "three"):
        grown(Graph(graph.memory, name), 2)
    Graph(graph.memory, "one").write("c0", INTERRUPT)  # It was answered: its graph went on.
    Graph(graph.memory, "two").write("c1", INTERRUPT)
    first = shown(page, project_page(graph, "threads"))
    assert names_in(first) == ["three", "two"]
    assert first.count("waits for an answer") == 1
    older = re.findall(r'href="(\?before=\d+)"', first)[0]
    last = shown(page, project_page(graph, "threads") + older)
    assert (names_in(last), "waits for an answer" in last, "?before" in last) == (["one"], False, False)
    assert names_in(shown(page, project_page(graph, "threads") + "?q=t")) == ["three", "two"]
    assert names_in(shown(page, project_page(graph, "threads") + "?q=tw")) == ["two"]
    assert "No thread begins with" in shown(page, project_page(graph, "threads") + "?q=T")


def test_a_thread_of_which_a_task_failed_says_so(page: Client, graph: Graph) -> None:
    for name in ("one", "two"):
        grown(Graph(graph.memory, name), 2)
    Graph(graph.memory, "one").write("c0", ERROR)  # Its graph went on.
    Graph(graph.memory, "two").write("c1", ERROR)
    html = shown(page, project_page(graph, "threads"))
    assert (html.count(FAILED), html.index(">two</a>") < html.index(FAILED) < html.index(">one</a>")) == (1, True)
    assert shown(page, project_page(graph, "threads/one")).count(FAILED) == 1  # Of its step.
    assert shown(page, project_page(graph, "threads/two")).count(FAILED) == 2
    assert "waits for an answer" not in html


@pytest.mark.parametrize("name", ["%20", "%C2%A0%20", "%E2%80%8B"])
def test_a_name_that_nobody_sees_has_a_link_in_words(page: Client, memory: Any, name: str) -> None:
    graph = Graph(memory, name)
    assert graph.put("c1").status_code == 201
    html = shown(page, project_page(graph, "threads"))
    assert names_in(html) == ["Thread without a name"]
    address = unescape(re.findall(r'<a class="title clamped" href="([^"]*)"', html)[0])
    assert '<h2 class="clamped" title="Thread without a name">Thread without a name</h2>' in shown(page, address)


def test_what_a_tree_leaves_out_is_said_to_be_where_it_is(page: Client, graph: Graph) -> None:
    """These pages have no raw JSON."""
    graph.put("c1", metadata={"long": "x" * 30_000, **{f"field {number}": number for number in range(299)}})
    html = shown(page, project_page(graph, f"threads/{graph.thread}"))
    assert "100 more: the API returns them" in html
    assert "10,000 more characters: the API returns them".replace(",", "\u202f") in html


def test_a_thread_shows_its_steps_the_newest_first(page: Client, graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "A_PAGE", 3)
    for number in range(5):
        graph.put(f"c{number}", metadata={"step": number - 1, "source": "loop" if number else "input", "writes": "<b>"})
    graph.put("c2", ns="inner", metadata={"step": "none", "source": 7})
    graph.write("c4", INTERRUPT)
    steps, address = list[tuple[str, str]](), project_page(graph, f"threads/{graph.thread}")
    html = shown(page, address)
    assert "waits for an answer" in html
    assert "<b>" not in html
    while html:
        steps += re.findall(r'<a class="title" [^>]*>(.*?)</a>.*?<code>(c\d)</code>', html, re.DOTALL)
        more = re.findall(r'href="(\?before=[^"]*)"', html)
        html = shown(page, address + more[0].replace("&amp;", "&")) if more else ""
    assert steps == [
        *(("Step 3", "c4"), ("Step 2", "c3"), ("Checkpoint", "c2")),
        *(("Step 1", "c2"), ("Step 0", "c1"), ("Step -1", "c0")),
    ]


@pytest.mark.parametrize("name", ["a/b", "~", "..x", ".x", "ü 🙂", "a'b\"<i>", "%2F", "x" * 500])
def test_any_name_has_a_page(page: Client, memory: Any, name: str) -> None:
    escaped = quote(name.replace("~", "~0").replace("/", "~1"), safe="~")
    graph = Graph(memory, escaped)
    assert graph.put("c1").status_code == 201
    address = unescape(re.findall(r'<a class="title clamped" href="([^"]*)"', shown(page, project_page(graph, "threads")))[0])
    assert "c1</code>" in shown(page, address)


def test_pruning_keeps_the_newest_and_deleting_nothing(page: Client, graph: Graph) -> None:
    grown(graph, 3)
    address = project_page(graph, f"threads/{graph.thread}")
    reply = page.post(address + "prune/", follow=True)
    assert "Erased: 2 checkpoints. What the graph goes on from stays." in reply.content.decode()
    assert graph.ids() == ["c2"]
    assert "There is only what the graph goes on from." in page.post(address + "prune/", follow=True).content.decode()
    reply = page.post(address + "delete/", follow=True)
    assert "The thread is erased, with 1 checkpoint." in reply.content.decode()
    assert not GraphThread.objects.exists()
    assert page.get(address).status_code == 404


def test_long_metadata_are_cut_and_damaged_ones_left_out(page: Client, graph: Graph) -> None:
    for number in range(20):
        graph.put(f"c{number:02}", metadata={f"field {index}": index for index in range(1_000)})
    Checkpoint.objects.filter(checkpoint_id="c19").update(metadata="{damaged")
    html = shown(page, project_page(graph, f"threads/{graph.thread}"))
    assert 0 < html.count('<summary class="hint">Metadata') < 19
    assert "damaged" not in html
    assert len(html) < 400_000


def test_a_list_costs_the_same_however_many_there_are(page: Client, graph: Graph, api: Callable[..., Any]) -> None:
    grown(graph, 1)

    def statements(rest: str) -> int:
        with CaptureQueriesContext(connection) as seen:
            shown(page, project_page(graph, rest))
        return len(seen)

    addresses = ("threads", f"threads/{graph.thread}")
    few = [statements(address) for address in addresses]
    for number in range(12):
        grown(Graph(graph.memory, f"more {number}"), 2)
        graph.put(f"d{number}", metadata={"step": number}, versions={"own": "0"})
    assert [statements(address) for address in addresses] == few


def test_an_address_that_names_nothing_is_answered(page: Client, graph: Graph) -> None:
    grown(graph, 2)
    thread = project_page(graph, f"threads/{graph.thread}")
    for query in ("?before=%00", "?before=c1&ns=%00", "?before=%EF%BF%BD%ED%A0%80", "?before=x"):
        assert page.get(thread + query).status_code == 200, query
    for query in ("?q=%00", "?q=%00one", "?before=%00", "?before=99999999999999999999", "?before=-1"):
        assert page.get(project_page(graph, "threads") + query).status_code == 200, query
    for name in ("a%00b", "none", "~2", "%ED%A0%80"):
        assert page.get(project_page(graph, f"threads/{name}")).status_code == 404, name
        assert page.post(project_page(graph, f"threads/{name}") + "delete/").status_code == 404, name
        assert page.post(project_page(graph, f"threads/{name}") + "prune/").status_code == 404, name
    assert graph.ids() == ["c1", "c0"]


def test_a_graph_in_the_graph_hides_no_question(page: Client, graph: Graph) -> None:
    """Its checkpoints may be newer than that of the whole graph, which waits."""
    graph.put("c0")
    graph.write("c0", INTERRUPT)
    graph.put("c1", ns="inner")
    for rest in ("threads", f"threads/{graph.thread}", f"threads/{graph.thread}/?before=c1&ns=inner"):
        assert shown(page, project_page(graph, rest).replace("inner/", "inner")).count("waits for an answer") == 1, rest


def test_long_texts_in_metadata_are_limited_too(page: Client, graph: Graph) -> None:
    for number in range(20):
        graph.put(f"c{number:02}", metadata={str(index): "x" * 290 for index in range(100)})
    assert len(shown(page, project_page(graph, f"threads/{graph.thread}"))) < 400_000
