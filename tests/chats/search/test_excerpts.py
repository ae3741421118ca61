"""What pages show around a match says where the text goes on."""

import re
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.support.chat import Chat

LONG = "lead " * 20
MARKED = re.compile(r"(…?)[^<>…]*<mark>needle</mark>[^<>…]*(…?)<")


def marks(client: Client, page: str) -> tuple[str, ...]:
    """Before and after the words that a page shows around the match."""
    answer = client.get(page, {"q": "needle"})
    shown = MARKED.search(unescape(answer.text))
    assert shown is not None, answer.text
    return shown.groups()


@pytest.mark.parametrize("page", ["/search/", "/sessions/{}/find/", "/projects/{}/"])
@pytest.mark.parametrize(
    ("text", "around"),
    [
        ("a needle here", ("", "")),
        (f"{LONG}needle here", ("…", "")),
        (f"a needle {LONG * 2}", ("", "…")),
        (f"{LONG}needle {LONG * 2}", ("…", "…")),
        # As long as an excerpt is, to the letter.
        (f"{'x' * 60}needle{'y' * 120}", ("", "")),
    ],
)
def test_an_excerpt_says_on_which_sides_the_text_goes_on(
    client: Client, alice: User, chat: Chat, page: str, text: str, around: tuple[str, str]
) -> None:
    chat.say("m1", text)
    client.force_login(alice)
    assert marks(client, page.format(chat.id if "sessions" in page else chat.read()["session"]["project_id"])) == around


def test_a_long_title_is_cut_on_both_sides(client: Client, alice: User, chat: Chat) -> None:
    title = f"{'lead ' * 13}needle {'lead ' * 25}"
    assert chat.api.patch(f"/sessions/{chat.id}", {"title": title}).status_code == 200
    client.force_login(alice)
    assert marks(client, "/search/") == ("…", "…")
