"""A conversation as a graph. Its state is kept by Stillhere, so the next start continues it."""

import sys

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph

from stillhere.langgraph import StillhereSaver

THREAD: RunnableConfig = {"configurable": {"thread_id": "example"}}


def answer(state: MessagesState) -> dict[str, list[AIMessage]]:
    """In place of a model: it knows what was said before."""
    said = [message for message in state["messages"] if message.type == "human"]
    return {"messages": [AIMessage(f"That was line {len(said)}. The first one was: {said[0].content}")]}


def main() -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    app = graph.compile(checkpointer=StillhereSaver())

    for message in app.get_state(THREAD).values.get("messages", []):
        print(f"{message.type}: {message.content}")
    print("Type a line. Ctrl+D ends.", file=sys.stderr)
    for line in sys.stdin:
        state = app.invoke({"messages": [HumanMessage(line.strip())]}, THREAD)
        print(f"ai: {state['messages'][-1].content}", flush=True)


if __name__ == "__main__":
    main()
