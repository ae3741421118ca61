"""How long the record of a generation is kept."""

from datetime import timedelta
from typing import Any

import pytest

from generation_app.models import Generation
from sessions_app.chats.lifecycle.pruning import prune
from sessions_app.core.public_names import now
from tests.support.chat import Chat
from tests.support.saves import refusal

pytestmark = pytest.mark.django_db


def ask(chat: Chat) -> Any:
    answer = chat.post_plain("generations", {"message": {"text": "why?"}})
    assert answer.status_code == 202, answer.content
    return answer.json()


def test_its_record_goes_30_days_after_its_end_and_the_answer_stays(chat: Chat) -> None:
    ended, active = ask(chat), ask(Chat(chat.api))
    chat.post_plain(f"generations/{ended['generation']}/stop", {})
    Generation.objects.filter(id=ended["generation"]).update(ended_at=now() - timedelta(days=29))
    prune()
    assert chat.get(f"generations/{ended['generation']}").status_code == 200
    Generation.objects.filter(id=ended["generation"]).update(ended_at=now() - timedelta(days=31))
    prune()
    assert refusal(chat.get(f"generations/{ended['generation']}")) == (404, "not_found")
    assert [str(one.id) for one in Generation.objects.all()] == [active["generation"]]
    assert ended["message"] in [message["id"] for message in chat.read()["messages"]]
