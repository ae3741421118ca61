"""What the chat page's scripts ask: messages as HTML, and who is signed in."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.models.message import TEXT_LENGTH
from tests.support.chat import Chat


@pytest.fixture
def alice_client(alice: User) -> Client:
    client = Client()
    client.force_login(alice)
    return client


def render(client: Client, *messages: Any) -> Any:
    return client.post("/chat/words", {"messages": list(messages)}, content_type="application/json")


def test_messages_come_back_as_the_session_s_page_shows_them(alice_client: Client) -> None:
    parts = [{"type": "text", "text": "Look:"}, {"type": "tool-read", "state": "output-available", "output": "<b>no markup</b>"}]
    hi = {"text": "**Hi**,\n  you"}
    looked = {"role": "assistant", "text": "Look:", "parts": parts}
    answer = render(alice_client, {"role": "user", **hi}, looked, {"role": "assistant", **hi})
    first, second, third = answer.json()["articles"]
    assert '<p class="plain">**Hi**,\n  you</p>' in first
    assert "<strong>Hi</strong>" in third
    assert "<code>read</code>" in second
    assert "&lt;b&gt;no markup" in second
    assert answer["Cache-Control"] == "no-store"


def test_markup_in_a_message_stays_text(alice_client: Client) -> None:
    hostile = "<img src=x onerror=alert(1)> [x](javascript:alert(1))"
    [article] = render(alice_client, {"role": "assistant", "text": hostile}).json()["articles"]
    assert "<img" not in article
    assert "javascript:" not in article.replace("[x](javascript:alert(1))", "")


@pytest.mark.parametrize(
    "messages",
    [
        None,
        {},
        [1],
        [{"role": "nobody", "text": "a"}],
        [{"role": "user"}],
        [{"role": "user", "text": "x" * (TEXT_LENGTH + 1)}],
        [{"role": "user", "text": "a", "parts": [1]}],
        [{"role": "user", "text": "a", "parts": {"type": "text"}}],
    ],
    ids=["none", "no list", "no message", "role", "no text", "long", "parts", "no parts"],
)
def test_what_is_no_list_of_messages_is_refused(alice_client: Client, messages: Any) -> None:
    answer = alice_client.post("/chat/words", {"messages": messages}, content_type="application/json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")


def test_a_request_has_a_bounded_number_of_messages(alice_client: Client) -> None:
    message = {"role": "user", "text": "a"}
    assert render(alice_client, *[message] * 20).status_code == 200
    assert render(alice_client, *[message] * 21).status_code == 413


def test_only_who_is_signed_in_is_answered(client: Client, alice_client: Client, alice: User) -> None:
    assert render(client, {"role": "user", "text": "a"}).status_code == 401
    assert client.get("/chat/sign-in-state").status_code == 401
    login = alice_client.get("/chat/sign-in-state").json()
    assert login["user"] == str(alice.pk)
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = alice_client.cookies
    assert render(strict).status_code == 403
    strict.defaults["HTTP_X_CSRFTOKEN"] = login["csrf"]
    assert render(strict).status_code == 200


def test_a_message_s_source_is_the_text_that_was_saved(api: Any, alice: User) -> None:
    client = Client()
    client.force_login(alice)
    chat = Chat(api(alice))
    chat.say("m1", "# Head\r\n\r\n*a* <b>")
    chat.say("m2", "gone")
    chat.ops({"op": "delete", "id": "m2", "if_ver": 1})
    answer = client.get(f"/sessions/{chat.id}/source/?id=m1")
    assert answer.content.decode() == chat.texts()[0]
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert [client.get(f"/sessions/{chat.id}/source/?id={name}").status_code for name in ("m2", "m3", "")] == [404] * 3
