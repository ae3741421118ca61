"""What a person sees on the server's pages of a graph that ran with the saver."""

from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from memory_app.models import GraphThread
from stillhere.langgraph import StillhereSaver

THREAD: RunnableConfig = {"configurable": {"thread_id": "weather / Paris"}}


class State(MessagesState):
    attempts: int
    plan: Any


def _graph(saver: StillhereSaver) -> Any:
    """It calls a tool, plans, and asks before it answers."""

    def look(state: State) -> dict[str, Any]:
        call = {"name": "get_weather", "args": {"city": "Paris"}, "id": "c1"}
        return {"messages": [AIMessage("I look.", tool_calls=[call])], "attempts": 7, "plan": {"steps": ["look", "answer"]}}

    def answer(state: State) -> dict[str, Any]:
        return {"messages": [AIMessage(f"It is warm ({interrupt({'question': 'Tell them?'})}).")]}

    graph = StateGraph(State)
    graph.add_node("look", look)
    graph.add_node("answer", answer)
    graph.add_edge(START, "look")
    graph.add_edge("look", "answer")
    graph.add_edge("answer", END)
    return graph.compile(checkpointer=saver)


def _page(client: Client) -> str:
    thread = GraphThread.objects.get()
    return client.get(reverse("thread", args=[thread.project_id, thread.name])).content.decode()


def test_the_page_of_a_graph_that_asks_and_goes_on(saver: StillhereSaver, alice: User) -> None:
    client = Client()
    client.force_login(alice)
    _graph(saver).invoke({"messages": [("user", "How is the weather?")]}, THREAD)
    html = _page(client)
    places = [
        html.index(text)
        for text in (
            "Waits for an answer</h3>",
            "Tell them?",
            "How is the weather?",
            "I look.",
            ">get_weather<",
            ">attempts<",
            ">plan<",
        )
    ]
    assert places == sorted(places)
    assert 'argument">7<' in html
    _graph(saver).invoke(Command(resume="yes"), THREAD)
    html = _page(client)
    assert "It is warm (yes)." in html
    assert "Tell them?" not in html
