"""Transfers as a client asks for them, and what a transfer could change."""

from typing import Any

from sessions_app.models import ChatSession, Event
from tests.support.chat import Chat

PLAN = {"title": "Ship", "steps": [{"id": "s1", "title": "Build", "status": "pending"}]}
ASK = {"id": "a1", "kind": "deploy", "payload": {"to": "production"}}


def todo(content: str, status: str = "pending", **more: Any) -> dict[str, Any]:
    return {"content": content, "status": status, **more}


def save_ai(chat: Chat, ai_id: str = "claude", **fields: Any) -> None:
    assert chat.api.put(f"/sessions/{chat.id}/ai-states/{ai_id}", fields).status_code in {200, 201}


def ai(chat: Chat, ai_id: str = "claude") -> Any:
    return chat.api.get(f"/sessions/{chat.id}/ai-states/{ai_id}").json()


def carry(source: Chat, target: Chat | None = None, **body: Any) -> Any:
    """The raw response."""
    where = {} if target is None else {"to_session": target.id}
    return source.api.post(f"/sessions/{source.id}/transfer", {**where, **body})


def carried(source: Chat, target: Chat | None = None, **body: Any) -> Any:
    answer = carry(source, target, **body)
    assert answer.status_code in {200, 201}, answer.content
    return answer.json()


def everything(*chats: Chat) -> list[bytes]:
    """All that a transfer could change of these sessions, and of how many there are."""
    addresses = ("", "/agent-state", "/ai-states", "/conflicts", "/removed")
    answers = [chat.api.get(f"/sessions/{chat.id}{address}").content for chat in chats for address in addresses]
    return [*answers, str((ChatSession.objects.count(), Event.objects.count())).encode()]


def events_of(chat: Chat) -> list[dict[str, Any]]:
    project = chat.read()["session"]["project_id"]
    items = chat.api.get(f"/projects/{project}/events?since=0&limit=500").json()["items"]
    return [event for event in items if event.get("session") == chat.id]
