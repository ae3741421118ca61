"""What the command palette finds on the server."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from tests.support.chat import Chat


def found(page: Client, text: str = "") -> dict[str, list[str]]:
    groups = page.get("/palette/", {"q": text}).json()["groups"]
    return {group["label"]: [item["label"] for item in group["items"]] for group in groups}


def test_projects_and_sessions_by_name_or_the_last_changed(page: Client, api: Callable[..., Any], alice: User, bob: User) -> None:
    for project, title in (("/home/alice/shop", "Cart race"), ("/home/alice/blog", "A <b>theme</b>")):
        chat = Chat(api(alice), project=project)
        chat.api.patch(f"/sessions/{chat.id}", {"title": title})
    Chat(api(bob), project="/home/bob/shop")
    assert found(page) == {"Sessions": ["A <b>theme</b>", "Cart race"], "Projects": ["blog", "shop"]}
    assert found(page, " RACE ") == {"Sessions": ["Cart race"], "Projects": []}
    assert found(page, "shop") == {"Sessions": [], "Projects": ["shop"]}


def test_what_is_offered_opens(page: Client, api: Callable[..., Any], alice: User) -> None:
    chat = Chat(api(alice))
    groups = page.get("/palette/").json()["groups"]
    addresses = [item["href"] for group in groups for item in group["items"]]
    assert addresses[0] == f"/sessions/{chat.id}/"
    assert [page.get(address).status_code for address in addresses] == [200, 200]
    chat.api.delete(f"/sessions/{chat.id}")
    assert found(page)["Sessions"] == []


def test_no_search_field_fills_the_history() -> None:
    templates = list((settings.BASE_DIR / "templates").rglob("*.html"))
    assert len(templates) > 50
    assert [path.name for path in templates if "hx-push-url" in path.read_text()] == []
