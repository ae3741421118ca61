"""LibreChat exports: messages with `isCreatedByUser`, in a list or as a tree of `children`. Pure."""

from typing import Any

from sessions_app.portability.replay.conversation import Conversation, conversation


def is_librechat(item: dict[str, Any]) -> bool:
    messages = item.get("messages")
    return isinstance(messages, list) and any(isinstance(one, dict) and "isCreatedByUser" in one for one in messages)


def read_librechat(item: dict[str, Any], *, name: str) -> Conversation:
    """The newest branch, first turn first; messages of other branches are counted."""
    made = conversation(item.get("title"), name)
    level = item["messages"]
    if not any(isinstance(one, dict) and one.get("children") for one in level):
        _read_flat(made, level)
        return made
    while level:
        for other in level[:-1]:
            made.skipped["other branch"] += _count(other)
        _add(made, level[-1])
        children = level[-1].get("children") if isinstance(level[-1], dict) else None
        level = children if isinstance(children, list) else []
    return made


def _read_flat(made: Conversation, messages: list[Any]) -> None:
    """The messages that lead to the newest one. If none names one before it, all of them, as they are listed."""
    known = {str(one["messageId"]): one for one in messages if isinstance(one, dict) and one.get("messageId")}
    if not any(_parent(one) in known for one in known.values()):
        for message in messages:
            _add(made, message)
        return
    # Of the same time, or without one, the last one is the newest.
    at = max(reversed(known), key=lambda each: str(known[each].get("createdAt", "")))
    path = dict[str, Any]()
    while at in known and at not in path:
        path[at] = known[at]
        at = _parent(known[at])
    for message in reversed(path.values()):
        _add(made, message)
    if others := len(messages) - len(path):
        made.skipped["other branch"] += others


def _parent(message: dict[str, Any]) -> str:
    return str(message.get("parentMessageId"))


def _add(made: Conversation, message: Any) -> None:
    if not isinstance(message, dict):
        made.skipped["not a message"] += 1
        return
    role = "user" if message.get("isCreatedByUser") is True else "assistant"
    content = message.get("text") or message.get("content")
    made.add(role=role, content=content, given_id=message.get("messageId"))


def _count(message: Any) -> int:
    """The number of messages: this one and all below it."""
    waiting, count = [message], 0
    while waiting:
        one = waiting.pop()
        count += 1
        children = one.get("children") if isinstance(one, dict) else None
        waiting.extend(children if isinstance(children, list) else [])
    return count
