"""ChatGPT exports: a conversation is a tree of nodes (`mapping`), and `current_node` is the end of the branch last seen."""

import math
from typing import Any

from sessions_app.portability.replay.conversation import Conversation, conversation

Nodes = dict[str, Any]
REASONING = {"thoughts": "reasoning", "reasoning_recap": "reasoning recap"}


def read_chatgpt(item: Any, *, name: str) -> Conversation:
    """The branch that ends in `current_node`, first turn first; messages of other branches are counted."""
    chat = item if isinstance(item, dict) else {}
    made = conversation(chat.get("title"), name)
    nodes = chat.get("mapping")
    if not isinstance(nodes, dict):
        made.skipped["not a conversation"] += 1
        return made
    branch = _branch(nodes, _end(nodes, chat.get("current_node"), made), made)
    for node_id in branch:
        _add(made, node_id, nodes[node_id])
    others = sum(1 for node_id, node in nodes.items() if node_id not in branch and _message(node) is not None)
    made.skipped.update({"other branch": others} if others else {})
    return made


def _add(made: Conversation, node_id: str, node: Any) -> None:
    message = _message(node)
    if message is None:
        return
    if not isinstance(message, dict):
        made.skipped["not a message"] += 1
        return
    author, content = message.get("author"), message.get("content")
    role = author.get("role") if isinstance(author, dict) else None
    if left_out := _not_said(message, role, content):
        made.skipped[left_out] += 1
        return
    # Only `parts` hold the message; searches, code and quotes have their own fields.
    said = content.get("parts") if isinstance(content, dict) else content
    made.add(role=role, content=said, given_id=message.get("id") or node_id)


def _not_said(message: dict[str, Any], role: object, content: Any) -> str:
    """Why an assistant's message is not an answer to the user: a tool call, reasoning, or a recap of it."""
    recipient = message.get("recipient")
    if role == "assistant" and isinstance(recipient, str) and recipient != "all":
        return "tool call"
    kind = content.get("content_type") if isinstance(content, dict) else None
    return REASONING.get(kind, "") if isinstance(kind, str) else ""


def _message(node: Any) -> Any:
    return node.get("message") if isinstance(node, dict) else node


def _end(nodes: Nodes, current: object, made: Conversation) -> str | None:
    """`current_node`, or the newest leaf if that names no node."""
    if isinstance(current, str) and current in nodes:
        return current
    made.notes["current_node unknown"] += 1
    # `children` is not used: in some exports it disagrees with `parent`.
    parents = {parent for node in nodes.values() if isinstance(parent := _parent(node), str)}
    leaves = [node_id for node_id in nodes if node_id not in parents] or list(nodes)
    return max(enumerate(leaves), key=lambda leaf: (_created(nodes[leaf[1]]), leaf[0]))[1] if leaves else None


def _branch(nodes: Nodes, end: str | None, made: Conversation) -> dict[str, None]:
    """The ids from the root to `end`, in this order (a dict, for its fast `in`)."""
    upwards: dict[str, None] = {}
    at: object = end
    while isinstance(at, str):
        if at in upwards:
            made.notes["cycle"] += 1
            break
        if at not in nodes:
            made.notes["parent unknown"] += 1
            break
        upwards[at] = None
        at = _parent(nodes[at])
    return dict.fromkeys(reversed(upwards))


def _parent(node: Any) -> object:
    return node.get("parent") if isinstance(node, dict) else None


def _created(node: Any) -> float:
    message = _message(node)
    at = message.get("create_time") if isinstance(message, dict) else None
    # Seconds; compared as floats, since a NaN or an integer beyond any date would spoil the order.
    return (
        at if isinstance(at, float) and math.isfinite(at) else float(at) if isinstance(at, int) and abs(at) < 2**53 else -math.inf
    )
