"""LangGraph's own suite against a server, and graphs that continue with another client."""

import asyncio
import operator
from collections.abc import AsyncGenerator, Callable
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from stillhere import connection
from stillhere.connection import Connection, Request
from stillhere.http.answers import MSGPACK, Answer, value_in
from stillhere.langgraph import StillhereSaver
from stillhere.operations import checkpoints

BASE_AND_OPTIONAL = 81
THREAD: RunnableConfig = {"configurable": {"thread_id": "a / thread ~ 中文"}}


class State(TypedDict):
    words: Annotated[list[str], operator.add]
    answer: str


@pytest.mark.timeout(300)
def test_it_passes_the_whole_suite_of_langgraph(saver: StillhereSaver) -> None:
    @checkpointer_test(name="StillhereSaver")
    async def ours() -> AsyncGenerator[StillhereSaver]:
        yield saver
        await saver.connection.aclose()

    report = asyncio.run(validate(ours))
    assert {name: result.failures for name, result in report.results.items() if not result.passed} == {}
    assert sum(result.tests_passed for result in report.results.values()) == BASE_AND_OPTIONAL


def _asking(saver: Any) -> Any:
    """A graph that asks a person before it answers."""

    def think(state: State) -> dict[str, Any]:
        return {"words": ["thought " * 50]}

    def ask(state: State) -> dict[str, Any]:
        return {"answer": interrupt({"question": "Go on?"}), "words": ["asked"]}

    graph = StateGraph(State)
    graph.add_node("think", think)
    graph.add_node("ask", ask)
    graph.add_edge(START, "think")
    graph.add_edge("think", "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver)


def test_an_interrupted_graph_goes_on_with_another_client(new_saver: Callable[[], StillhereSaver]) -> None:
    asked = _asking(new_saver()).invoke({"words": ["hello"]}, THREAD)
    assert asked["__interrupt__"][0].value == {"question": "Go on?"}
    other = _asking(new_saver())
    assert [task.interrupts[0].value for task in other.get_state(THREAD).tasks] == [{"question": "Go on?"}]
    done = other.invoke(Command(resume="yes"), THREAD)
    assert done == {"words": ["hello", "thought " * 50, "asked"], "answer": "yes"}
    history = list(_asking(new_saver()).get_state_history(THREAD))
    assert [len(each.values["words"]) if each.values else 0 for each in history] == [3, 2, 1, 0]


def test_an_earlier_checkpoint_begins_a_branch_of_its_own(saver: StillhereSaver) -> None:
    """Its versions are not mixed up with those of the first branch."""
    graph = _asking(saver)
    graph.invoke({"words": ["hello"]}, THREAD)
    before = graph.get_state(THREAD)
    graph.invoke(Command(resume="yes"), THREAD)
    first = graph.get_state(THREAD)
    branch = graph.update_state(before.config, {"words": ["otherwise"]})
    assert graph.get_state(branch).values["words"] == ["hello", "thought " * 50, "otherwise"]
    assert graph.get_state(first.config).values == first.values


def test_a_thread_without_a_name_is_refused_in_words(saver: StillhereSaver) -> None:
    with pytest.raises(ValueError, match="The id of a thread is not empty"):
        _asking(saver).invoke({"words": ["hello"]}, {"configurable": {"thread_id": ""}})


class Log(TypedDict):
    lines: Annotated[list[str], DeltaChannel(lambda lines, new: [*lines, *(each for some in new for each in some)])]


def _logging(saver: Any) -> Any:
    graph = StateGraph(Log)
    graph.add_node("add", lambda state: {"lines": [f"line {len(state['lines'])}"]})
    graph.add_edge(START, "add")
    return graph.compile(checkpointer=saver)


def test_a_pruned_thread_still_has_its_delta_channels(saver: StillhereSaver) -> None:
    ours, theirs = _logging(saver), _logging(InMemorySaver())
    for number in range(3):
        for graph in (ours, theirs):
            graph.invoke({"lines": [f"said {number}"]}, THREAD)
    assert ours.get_state(THREAD).values == theirs.get_state(THREAD).values
    assert len(ours.get_state(THREAD).values["lines"]) == 6
    saver.prune([THREAD["configurable"]["thread_id"]])
    assert ours.get_state(THREAD).values == theirs.get_state(THREAD).values
    for graph in (ours, theirs):
        graph.invoke({"lines": ["after"]}, THREAD)
    assert ours.get_state(THREAD).values == theirs.get_state(THREAD).values


def test_every_call_is_one_round_trip(saver: StillhereSaver, monkeypatch: Any) -> None:
    graph = _asking(saver)
    graph.invoke({"words": ["hello"]}, THREAD)
    sent: list[Request] = []
    built = Connection._built

    def watched(self: Connection, request: Request) -> Any:
        sent.append(request)
        return built(self, request)

    monkeypatch.setattr(Connection, "_built", watched)
    latest = saver.get_tuple(THREAD)
    assert latest is not None
    saver.put(latest.config, {**latest.checkpoint, "id": "f" * 36}, latest.metadata, {})
    saver.put_writes(latest.config, [("words", ["more"]), ("answer", "x")], "task")
    assert len(list(saver.list(THREAD, limit=20))) == 4
    assert len(list(saver.list(None, filter={"source": "loop"}, limit=1))) == 1
    saver.delete_thread(THREAD["configurable"]["thread_id"])
    assert [request.method for request in sent] == ["GET", "PUT", "PUT", "GET", "GET", "GET", "DELETE"]


def test_a_list_of_one_checkpoint_reads_no_others(saver: StillhereSaver, monkeypatch: Any) -> None:
    """Those of a thread may be thousands, with all their values."""
    graph = _asking(saver)
    for _ in range(3):
        graph.invoke({"words": ["hello"]}, THREAD)
    everything, seen = list(saver.list(THREAD)), []
    listed = checkpoints.list_checkpoints

    def watched(*args: Any, **kwargs: Any) -> Any:
        answer = yield from listed(*args, **kwargs)
        seen.append(len(answer["items"]))
        return answer

    monkeypatch.setattr(checkpoints, "list_checkpoints", watched)
    middle = everything[len(everything) // 2]
    assert list(saver.list(middle.config)) == list(saver.list(middle.config, limit=1)) == [middle]
    assert list(saver.list(middle.config, before=everything[0].config, filter={"step": middle.metadata["step"]})) == [middle]
    assert list(saver.list(middle.config, before=middle.config)) == list(saver.list(middle.config, filter={"step": -9})) == []
    assert sum(seen) <= 4 * 2
    no_id: Any = {"configurable": {**THREAD["configurable"], "checkpoint_id": ""}}
    assert list(saver.list(no_id)) == everything


def test_states_are_read_as_bytes_and_as_json_where_that_has_more(saver: StillhereSaver, monkeypatch: Any) -> None:
    """MessagePack has no integer beyond 64 bits."""
    kinds: list[str] = []

    def watched(answer: Answer) -> Any:
        kinds.append(answer.headers["content-type"])
        return value_in(answer)

    monkeypatch.setattr(connection, "value_in", watched)
    _asking(saver).invoke({"words": ["hello"]}, THREAD)
    kinds.clear()
    latest = saver.get_tuple(THREAD)
    assert latest is not None
    [listed] = saver.list(THREAD, limit=1)
    assert listed.checkpoint == latest.checkpoint
    assert kinds == [MSGPACK, MSGPACK]
    metadata: Any = {**latest.metadata, "large": 2**70}
    saver.put(latest.config, {**latest.checkpoint, "id": "f" * 36}, metadata, {})
    [newest] = saver.list(THREAD, limit=1)
    assert (newest.metadata, newest.checkpoint["channel_values"]) == (metadata, latest.checkpoint["channel_values"])
    assert kinds[-1].startswith("application/json")
