"""An app of its own adds rows, numbers and events to this one without a change or a migration here."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from sessions_app.chats.lifecycle.pruning import Due, prune
from sessions_app.core import extension
from sessions_app.core.callers import caller_of_user
from sessions_app.core.extension import Extension, Tab
from sessions_app.core.limits import quotas
from sessions_app.events import event_log
from sessions_app.models import Login, Project
from sessions_app.models.times import now
from tests.support.chat import Chat


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[[Extension], None]:
    """For one test only."""
    monkeypatch.setattr(extension, "_registered", dict(extension._registered))
    return extension.register


def test_numbers_bytes_and_expired_rows(
    chat: Chat, alice: User, client: Client, register: Callable[[Extension], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = quotas.usage_now(alice.pk).size_bytes
    asked: list[list[uuid.UUID]] = []

    def count_notes(projects: list[uuid.UUID]) -> dict[uuid.UUID, int]:
        asked.append(projects)
        return {}

    Login.objects.create(session_key="note", session_data="", expire_date=now() + timedelta(hours=1))
    due = Due(Login.objects.filter(session_key="note"))
    notes = Extension(
        name="notes",
        project_counts={"notes": count_notes},
        account_bytes=lambda user_id: 5_000 if user_id == alice.pk else 0,
        due_rows=lambda: {"notes": due},
    )
    register(notes)
    register(notes)
    client.force_login(alice)
    assert client.get("/").status_code == 200
    assert asked == [[Project.objects.get().id]]
    assert quotas.usage_now(alice.pk).size_bytes == kept + 5_000
    assert (prune()["notes"], prune()["notes"]) == (1, 0)


def test_an_event_of_its_own_type(chat: Chat, alice: User) -> None:
    project = Project.objects.get()
    with transaction.atomic():
        event_log.publish(project_id=project.id, type="NOTE_ADDED", caller=caller_of_user(alice), data={"note": 1})
    newest: Any = chat.api.get(f"/projects/{project.id}/events").json()["items"][-1]
    assert (newest["type"], newest["data"]) == ("NOTE_ADDED", {"note": 1})


def test_a_tab_of_projects_and_words_for_its_events(
    chat: Chat, alice: User, client: Client, register: Callable[[Extension], None]
) -> None:
    register(Extension(name="notes", tabs=(Tab("project_handoff", "Notes"),), event_phrases={"NOTE_ADDED": "Note taken"}))
    project = Project.objects.get()
    with transaction.atomic():
        event_log.publish(project_id=project.id, type="NOTE_ADDED", caller=caller_of_user(alice), data={"note": 1})
    client.force_login(alice)
    shown = client.get(f"/projects/{project.id}/activity/").content.decode()
    assert "Note taken" in shown
    assert f'href="/projects/{project.id}/handoff/" >Notes</a>' in shown
