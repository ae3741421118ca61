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


def test_a_project_that_is_erased_is_named_no_more(chat: Chat) -> None:
    other = Chat(chat.api, project="/b")
    for path in (chat.project, other.project, chat.project):
        put(chat, selected_project=path, active_phase="work")
    chat.api.put(f"{AT}?client=desk", {"selected_project": other.project})
    erased, kept = (each.read()["session"]["project_id"] for each in (chat, other))
    chat.api.delete(f"/projects/{erased}")
    assert chat.api.get(AT).json()["recent_projects"] == [chat.project, other.project]
    chat.api.delete(f"/projects/{erased}?purge=1")
    left = chat.api.get(AT).json()
    assert (left["selected_project"], left["recent_projects"], left["active_phase"]) == (None, [other.project], "work")
    assert chat.api.get(f"{AT}?client=desk").json()["selected_project"] == other.project
    assert chat.api.get(f"/projects/{kept}").status_code == 200


def test_a_path_that_another_project_has_by_now_stays(chat: Chat) -> None:
    put(chat, selected_project=chat.project)
    former = chat.read()["session"]["project_id"]
    chat.api.delete(f"/projects/{former}")
    Chat(chat.api, project=chat.project).say("m1", "in the new one")
    chat.api.delete(f"/projects/{former}?purge=1")
    assert chat.api.get(AT).json()["recent_projects"] == [chat.project]
