"""Secrets do not reach the store by way of agent state, AI state, actions or handoff; the answer counts them."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from sessions_app.models import AgentState, AiState, AiStateVersion, Handoff, HandoffSnapshot, PendingAction
from tests.support.chat import Chat
from tests.support.export_files import download, purge, resealed, rows, upload

SECRET = "ghp_" + "a1B2" * 9
TOLD = {"note": f"use {SECRET}", "headers": {"Cookie": f"id={SECRET}"}}


@pytest.fixture
def chat(api: Callable[..., Any], alice: User, path: str) -> Chat:
    return Chat(api(alice), project=path)


def stored() -> str:
    rows = [
        list(model.objects.values()) for model in (AgentState, AiState, AiStateVersion, Handoff, HandoffSnapshot, PendingAction)
    ]
    return json.dumps(rows, default=str)


def test_an_agent_state_is_stored_without_them(chat: Chat) -> None:
    address = f"/sessions/{chat.id}/agent-state"
    plan = {"title": SECRET, "steps": [{"id": "s1", "title": "t", "status": "pending"}]}
    action = {"id": "a1", "kind": "deploy", "payload": TOLD}
    saved = chat.api.put(address, {"context": TOLD, "plan": plan, "pending_action": action, "last_error": SECRET})
    assert saved.json()["redacted"] == {"github_token": 4, "cookie": 2}
    stepped = chat.api.patch(f"{address}/plan/steps/s1", {"title": SECRET})
    assert stepped.json()["redacted"] == {"github_token": 1}
    resolved = chat.api.post(f"{address}/pending-action/a1/resolve", {"decision": "approve", "note": SECRET})
    assert resolved.json()["redacted"] == {"github_token": 1}
    assert chat.api.patch(address, {"pr_data": {"n": 1}}).json()["redacted"] == {}
    assert SECRET not in stored()
    assert chat.api.get(address).json()["context"]["note"] == "use [REDACTED:github_token]"


def test_an_ai_state_is_stored_without_them(chat: Chat) -> None:
    todo = {"content": SECRET, "status": "pending"}
    saved = chat.api.put(f"/sessions/{chat.id}/ai-states/claude", {"todos": [todo], "working_notes": SECRET})
    assert saved.json()["redacted"] == {"github_token": 2}
    assert SECRET not in stored()


def test_a_handoff_is_stored_without_them(chat: Chat) -> None:
    project = chat.api.get(f"/sessions/{chat.id}").json()["session"]["project_id"]
    address = f"/projects/{project}/handoff"
    added = chat.api.post(f"{address}/decisions", {"id": "d1", "text": SECRET})
    assert added.json()["redacted"] == {"github_token": 1}
    again = chat.api.post(f"{address}/decisions", {"text": SECRET})
    assert (again.status_code, again.json()["merged"]) == (200, True)
    assert chat.api.patch(f"{address}/decisions/d1", {"rationale": SECRET}).json()["redacted"] == {"github_token": 1}
    assert chat.api.patch(address, {"summary": SECRET}).json()["redacted"] == {"github_token": 1}
    assert SECRET not in stored()


def with_fitting_hash(line: bytes) -> bytes:
    """A frozen handoff as somebody would write it who wants it to be believed."""
    value = json.loads(line)
    if (frozen := value.get("handoff_snapshot")) is None:
        return line
    frozen["sha256"] = hashlib.sha256(frozen["payload"].encode()).hexdigest()
    return json.dumps(value).encode()


def test_no_secret_comes_in_by_a_file(chat: Chat) -> None:
    """Each place where a file can have one, written there past the rules."""
    project = chat.api.get(f"/sessions/{chat.id}").json()["session"]["project_id"]
    address = f"/sessions/{chat.id}/agent-state"
    chat.api.put(address, {"context": "PLACE", "pending_action": {"id": "a1", "kind": "deploy", "payload": "PLACE"}})
    chat.api.post(f"{address}/pending-action/a1/resolve", {"decision": "approve", "note": "PLACE"})
    chat.api.put(f"/sessions/{chat.id}/ai-states/claude", {"working_notes": "PLACE"})
    chat.api.post(f"/projects/{project}/handoff/decisions", {"text": "PLACE"})
    chat.api.post(f"/projects/{project}/handoff/freeze")
    content = download(chat.api)
    places = content.count(b"PLACE")
    assert places >= 9
    purge(chat.api)
    planted = [with_fitting_hash(line) for line in rows(content.replace(b"PLACE", SECRET.encode()))]
    assert upload(chat.api, resealed([content.splitlines()[0], *planted])).status_code == 200
    assert SECRET not in stored()
    assert stored().count("[REDACTED:github_token]") == places
    snapshot = HandoffSnapshot.objects.get()
    assert snapshot.sha256 == hashlib.sha256(snapshot.payload.encode()).hexdigest()
