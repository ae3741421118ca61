"""Per-client UI state: a project and a phase, selected together or one by one."""

from typing import Any

import pytest

from tests.support.chat import Chat

pytestmark = pytest.mark.django_db
AT = "/app-state"


def put(chat: Chat, **fields: Any) -> tuple[str, str]:
    state = chat.api.put(AT, fields).json()
    assert chat.api.get(AT).json() == state
    return state["selected_project"], state["active_phase"]


def test_a_phase_that_is_sent_with_a_new_project_counts(chat: Chat) -> None:
    assert put(chat, selected_project="/a", active_phase="work") == ("/a", "work")
    assert put(chat, selected_project="/b", active_phase="review") == ("/b", "review")


@pytest.mark.parametrize("unsaid", [{}, {"active_phase": None}])
def test_a_new_project_without_a_phase_starts_with_the_plan(chat: Chat, unsaid: dict[str, None]) -> None:
    put(chat, selected_project="/a", active_phase="work")
    assert put(chat, selected_project="/b", **unsaid) == ("/b", "plan")


def test_the_same_project_keeps_its_phase_until_another_one_is_sent(chat: Chat) -> None:
    put(chat, selected_project="/a", active_phase="work")
    assert put(chat, selected_project="/a") == ("/a", "work")
    assert put(chat, selected_project="/a", active_phase="compound") == ("/a", "compound")
    assert put(chat, active_phase="review") == ("/a", "review")
