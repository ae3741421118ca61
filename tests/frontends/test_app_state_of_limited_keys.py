"""A key for one project neither sees nor changes its owner's UI state in other projects."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User

from tests.support.chat import Chat

SHOP, MAPS = "/home/alice/shop", "/home/alice/maps"


def test_a_limited_key_reads_its_own_project_alone(api: Callable[..., Any], alice: User) -> None:
    owner = api(alice)
    Chat(owner, project=SHOP)
    limited = api(alice, project_path=SHOP)
    for path in (SHOP, MAPS):
        owner.put("/app-state", {"selected_project": path})
    owner.put("/app-state", {"active_phase": "review"})
    expected = {"client": "default", "selected_project": None, "active_phase": "plan", "recent_projects": [SHOP]}
    assert limited.get("/app-state").json() == expected
    assert limited.get(f"/resume?project={SHOP}").json()["app_state"] == expected
    owner.put("/app-state", {"selected_project": SHOP})
    owner.put("/app-state", {"active_phase": "work"})
    seen = limited.get("/app-state").json()
    assert (seen["selected_project"], seen["active_phase"], seen["recent_projects"]) == (SHOP, "work", [SHOP])


def test_a_limited_key_moves_within_its_own_project_alone(api: Callable[..., Any], alice: User) -> None:
    owner, limited = api(alice), api(alice, project_path=SHOP)
    owner.put("/app-state", {"selected_project": MAPS})
    for refused in ({"selected_project": "/home/alice/other"}, {"active_phase": "work"}, {"selected_project": None}):
        answer = limited.put("/app-state", refused)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "other_project")
    assert owner.get("/app-state").json()["selected_project"] == MAPS
    saved = limited.put("/app-state", {"selected_project": SHOP}).json()
    assert (saved["selected_project"], saved["recent_projects"]) == (SHOP, [SHOP])
    assert limited.put("/app-state", {"active_phase": "work"}).json()["active_phase"] == "work"
    assert owner.get("/app-state").json()["recent_projects"] == [SHOP, MAPS]
