"""Files of export and import, for tests."""

import hashlib
import io
import json
import uuid
from typing import Any

from django.contrib.auth.models import User
from django.test import TestCase

from memory_app.errors.noise.filtering import flush_filtered
from sessions_app.core.callers import caller_of_user
from sessions_app.models import (
    AgentState,
    AgentStateVersion,
    AiState,
    AiStateVersion,
    AppState,
    ChatSession,
    Handoff,
    HandoffSnapshot,
    PendingAction,
    Purge,
)
from sessions_app.portability.content_kinds import export_kinds
from sessions_app.portability.exports.export_file import export_account
from sessions_app.portability.imports.services import import_file
from tests.support.account_contents import everything, fill, fill_memory, fill_states, projects
from tests.support.chat import Chat
from tests.support.routes import NOUNS

OF_AGENTS = (AgentState, AgentStateVersion, AiState, AiStateVersion, Handoff, HandoffSnapshot, PendingAction, Purge)


def download(api: Any, path: str = "/export") -> bytes:
    answer = api.get(path)
    assert answer.status_code == 200, answer.content
    content: bytes = answer.getvalue()
    assert int(answer.headers["Content-Length"]) == len(content)
    return content


def upload(api: Any, content: bytes) -> Any:
    return api.client.generic("POST", "/api/v1/import", content, content_type="application/x-ndjson")


def purge(api: Any) -> None:
    """All that an import brings."""
    AppState.objects.filter(user__projects__id__in=projects(api)).delete()
    for project in projects(api):
        assert api.delete(f"/projects/{project}?purge=1").status_code == 204
    assert projects(api) == []


def round_trip(api: Any, user: User, sessions: int) -> None:
    fill(api, sessions)
    for number in range(3):
        fill_states(Chat(api, project=f"/home/alice/{number}"), number)
    # What noise filtered is counted after the commit, which a test never comes to.
    with TestCase.captureOnCommitCallbacks(execute=True):
        for project in projects(api)[:2]:
            fill_memory(api, project)
    session = str(ChatSession.objects.filter(project__owner=user).values_list("id", flat=True)[0])
    uploaded = api.client.post(f"/api/v1/sessions/{session}/files?name=notes.txt", b"in a file", "text/plain")
    assert uploaded.status_code == 201
    for noun in NOUNS:
        noun.add(Chat(api, project="/home/alice/0"), "a noun's own")
    flush_filtered()
    assert [kind.name for kind in export_kinds() if not kind.model._default_manager.exists()] == []
    before = everything(api)
    frozen = set(HandoffSnapshot.objects.values_list("project_id", "number", "payload", "sha256"))
    file = io.BytesIO()
    export_account(caller=caller_of_user(user), to=file)
    purge(api)
    assert not any(model.objects.exists() for model in OF_AGENTS)
    assert not any(kind.model._default_manager.exists() for kind in export_kinds() if kind.name != "app_state")
    assert call_import(user, file.getvalue())["session"] >= sessions
    assert everything(api) == before
    assert all(hashlib.sha256(row.payload.encode()).hexdigest() == row.sha256 for row in HandoffSnapshot.objects.all())
    assert frozen == set(HandoffSnapshot.objects.values_list("project_id", "number", "payload", "sha256"))
    again = io.BytesIO()
    export_account(caller=caller_of_user(user), to=again)
    assert rows(again.getvalue()) == rows(file.getvalue())


def call_import(user: User, content: bytes) -> dict[str, int]:
    return import_file(caller=caller_of_user(user), file=io.BytesIO(content)).added


def rows(content: bytes) -> list[bytes]:
    return content.splitlines()[1:-1]


def resealed(lines: list[bytes]) -> bytes:
    """A file of these lines with a last line that fits."""
    content = b"".join(line + b"\n" for line in lines)
    counts: dict[str, int] = {}
    for line in lines[1:]:
        kind = next(iter(json.loads(line)))
        counts[kind] = counts.get(kind, 0) + 1
    end = {"end": True, "counts": counts, "sha256": hashlib.sha256(content).hexdigest()}
    return content + json.dumps(end).encode() + b"\n"


def with_fresh_ids(line: bytes, kinds: list[str]) -> bytes:
    value = json.loads(line)
    for kind in kinds:
        if kind in value:
            value[kind]["id"] = str(uuid.uuid4())
    return json.dumps(value).encode()
