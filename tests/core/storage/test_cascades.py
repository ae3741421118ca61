"""What the database erases by itself is what Django would delete."""

from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import PROTECT, Field

from generation_app.models import Stream, StreamPiece
from sessions_app.core.storage import cascades
from sessions_app.models import AiStateVersion, ChatSession, Message, Project
from tests.support.example_objects import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def session(alices_world: World, alice: User) -> ChatSession:
    """With rows that refer to it, and rows that refer to those."""
    version = AiStateVersion.objects.select_related("state__session__project").latest("id")
    session = version.state.session
    stream = Stream.objects.create(session=session, owner=alice, message_id="streamed")
    StreamPiece.objects.create(stream=stream, first=0, count=1, chunks="{}\n")
    Project.objects.filter(id=session.project_id).update(current_session=session)
    return session


def rows() -> dict[str, int]:
    return {model._meta.label: model._default_manager.count() for model in apps.get_models()}


def test_the_same_rows_as_django(session: ChatSession) -> None:
    before = rows()
    with transaction.atomic():
        ChatSession.objects.get(pk=session.pk).delete()
        by_django = rows()
        transaction.set_rollback(True)
    cascades.erase(ChatSession, [session.pk])
    assert rows() == by_django
    assert {name for name, number in before.items() if by_django[name] < number} >= {
        *("sessions_app.ChatSession", "sessions_app.Message", "sessions_app.AiState", "sessions_app.AiStateVersion"),
        *("generation_app.Stream", "generation_app.StreamPiece"),
    }
    assert Project.objects.get(id=session.project_id).current_session_id is None


def test_rows_of_others_stay(session: ChatSession) -> None:
    others = Message.objects.exclude(session=session).count()
    cascades.erase(ChatSession, [])
    assert ChatSession.objects.filter(pk=session.pk).exists()
    cascades.erase(ChatSession, [session.pk])
    assert Message.objects.count() == others


def test_what_only_django_can_do_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    key: Field[Any, Any] = StreamPiece._meta.get_field("stream")
    monkeypatch.setattr(key.remote_field, "on_delete", PROTECT)
    cascades._statements.cache_clear()
    with pytest.raises(TypeError, match=r"StreamPiece\.stream"):
        cascades.erase(ChatSession, [])
    cascades._statements.cache_clear()
