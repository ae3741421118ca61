"""A session without a title is called by its first question, on every page alike."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.html import escape

from sessions_app.models import ChatSession, Project
from sessions_app.models.session import FIRST_MESSAGES
from tests.support.chat import Chat

pytestmark = pytest.mark.django_db
# Longer than a name, so that no page says the name where it shows the question itself.
QUESTION = "Why does the <cart>\n  forget   its coupon as soon as somebody opens the page in another tab?"
NAME = "Why does the <cart> forget its coupon as soon as somebody opens the page in\u2026"


@pytest.fixture
def page(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def name_of(chat: Chat) -> str:
    return ChatSession.objects.name_of(ChatSession.objects.get(id=chat.id))


def message(number: int, role: str = "user", text: str = "", **more: Any) -> dict[str, Any]:
    return {"op": "upsert", "id": f"m{number}", "role": role, "text": text, **more}


def test_every_page_calls_a_session_by_its_question_until_it_has_a_title(page: Client, chat: Chat) -> None:
    chat.ops(message(1, text=QUESTION), message(2, "assistant", "It is cached."))
    project = Project.objects.get()
    own = [
        f"/sessions/{chat.id}/{part}"
        for part in ("", "trace/", "history/", "compare/", "contents/", "find/", "move/", "transfer/")
    ]
    lists = [
        "/",
        "/sessions/",
        "/overview/",
        f"/projects/{project.id}/",
        f"/projects/{project.id}/activity/",
        "/search/?q=cached",
    ]
    for address in (*own, *lists):
        assert escape(NAME) in page.get(address).content.decode(), address
    labels = [item["label"] for group in page.get("/palette/").json()["groups"] for item in group["items"]]
    assert labels[0] == NAME
    chat.api.patch(f"/sessions/{chat.id}", {"title": "Coupons"})
    for address in (*own, *lists):
        shown = page.get(address).content.decode()
        assert "Coupons" in shown, address
        assert escape(NAME) not in shown, address


@pytest.mark.parametrize("external_id", ["agents-rich", 'adk:["bridges", "ana", "adk-rich"]', "x"])
@pytest.mark.parametrize("others", [0, 300])
def test_a_session_is_found_by_its_external_id(
    page: Client, api: Callable[..., Any], alice: User, external_id: str, others: int
) -> None:
    fields = {"title": "Coupons", "external_id": external_id}
    made = api(alice).post("/projects/" + api(alice).post("/projects", {"path": "/a"}).json()["id"] + "/sessions", fields).json()
    project = Project.objects.get()
    ChatSession.objects.bulk_create(ChatSession(project=project, title=f"t{number}") for number in range(others))
    ChatSession.objects.filter(id=made["id"]).update(updated_at=project.created_at)
    query = urlencode({"q": external_id})
    for address in (f"/sessions/?{query}", f"/sessions/?{query}&project={project.id}", f"/projects/{project.id}/?{query}"):
        assert f"session-{made['id']}" in page.get(address).content.decode(), address
    [[found]] = [group["items"] for group in page.get(f"/palette/?{query}").json()["groups"] if group["items"]]
    # The palette itself leaves out what has other words than were typed.
    assert (found["label"], found["hint"]) == ("Coupons", f"{external_id} · /a")
    api(alice).delete(f"/sessions/{made['id']}")
    for address in (f"/sessions/?{query}", f"/projects/{project.id}/?{query}"):
        assert f"session-{made['id']}" not in page.get(address).content.decode(), address


def test_an_external_id_is_shown_and_names_a_session_in_which_nothing_is_asked(page: Client, chat: Chat) -> None:
    ChatSession.objects.update(external_id='adk:["a", "<b>"]')
    shown = escape('adk:["a", "<b>"]')
    project = Project.objects.get()
    for address in ("/", "/sessions/", f"/projects/{project.id}/"):
        assert shown in page.get(address).content.decode(), address
    chat.ops(message(1, text="Really?"))
    assert name_of(chat) == "Really?"
    assert f"<dd><code>{shown}</code></dd>" in page.get(f"/sessions/{chat.id}/").content.decode()


def test_a_transfer_offers_its_targets_by_their_questions(page: Client, chat: Chat, api: Callable[..., Any], alice: User) -> None:
    other = Chat(api(alice), project="/other")
    other.ops(message(1, text=QUESTION))
    assert escape(NAME) in page.get(f"/sessions/{chat.id}/transfer/").content.decode()


@pytest.mark.parametrize(
    ("messages", "name"),
    [
        ([], "Untitled session"),
        ([message(1, "assistant", "Hello!"), message(2, text="And now?")], "And now?"),
        ([message(1, text=""), message(2, text="Again")], "Again"),
        ([message(1, text=" \n ")], "Untitled session"),
        ([message(1, text=" \n\t"), message(2, text="Real")], "Real"),
        ([message(1, "assistant", "Hello!")], "Untitled session"),
        ([{"op": "upsert", "id": "m1", "format": "langchain", "raw": {"type": "human", "content": "Framework"}}], "Framework"),
        ([message(1, text="word " * 40)], "word " * 15 + "word\u2026"),
        ([message(1, text="語" * 300)], "語" * 80 + "\u2026"),
        ([message(1, text="<3 this shop, why is it slow?"), message(2, text="thanks")], "<3 this shop, why is it slow?"),
        ([message(1, text="<div> does not centre: why?"), message(2, text="do it")], "<div> does not centre: why?"),
        ([message(1, text="\n<local-command-stdout>ok"), message(2, text="Real")], "Real"),
        ([message(1, text="<environment_context>x"), message(2, text="</system-reminder>"), message(3, text="Real")], "Real"),
    ],
)
def test_the_first_question_is_the_name(chat: Chat, messages: list[dict[str, Any]], name: str) -> None:
    if messages:
        chat.ops(*messages)
    assert name_of(chat) == name


def test_a_removed_or_cleared_question_is_none(chat: Chat) -> None:
    chat.ops(message(1, text="First"), message(2, text="Second"))
    chat.ops({"op": "delete", "id": "m1"})
    assert name_of(chat) == "Second"
    chat.clear()
    assert name_of(chat) == "Untitled session"


def test_a_question_is_looked_for_among_the_first_messages(chat: Chat) -> None:
    chat.ops(*(message(number, "assistant", "x") for number in range(FIRST_MESSAGES)))
    chat.ops(message(FIRST_MESSAGES, text="Late"))
    assert name_of(chat) == "Untitled session"
    chat.ops({"op": "delete", "id": "m0"})
    assert name_of(chat) == "Late"


def test_a_list_costs_one_statement_more_and_none_if_all_have_titles(
    api: Callable[..., Any], alice: User, django_assert_num_queries: Any
) -> None:
    chats = [Chat(api(alice), project=f"/p{number}") for number in range(5)]
    for chat in chats:
        chat.ops(message(1, text=chat.id))
    rows = list(ChatSession.objects.all())
    with django_assert_num_queries(1):
        assert ChatSession.objects.names_of(rows) == {row.id: str(row.id) for row in rows}
    ChatSession.objects.update(title="Named")
    rows = list(ChatSession.objects.all())
    with django_assert_num_queries(0):
        assert set(ChatSession.objects.names_of(rows).values()) == {"Named"}


def test_the_chat_asks_for_names_and_gets_only_the_users(
    page: Client, chat: Chat, api: Callable[..., Any], bob: User, client: Client
) -> None:
    chat.ops(message(1, text=QUESTION))
    foreign = Chat(api(bob), project="/bob")
    foreign.ops(message(1, text="secret"))
    asked = f"/chat/names?of={chat.id},{foreign.id},none,"
    assert page.get(asked).json() == {"names": {chat.id: NAME}}
    assert page.get("/chat/names").json() == {"names": {}}
    client.logout()
    assert client.get(asked).status_code == 401


def test_what_a_program_put_before_the_question_counts_where_nothing_else_was_asked(chat: Chat) -> None:
    chat.ops(message(1, text="<command-name>/clear</command-name>"))
    assert name_of(chat) == "<command-name>/clear</command-name>"
    chat.ops(message(2, "assistant", "Cleared."), message(3, text="Mend the cart."), message(4, text="And the coupons."))
    assert name_of(chat) == "Mend the cart."


def test_the_trash_has_the_question_too_and_is_emptied_by_the_title(page: Client, chat: Chat) -> None:
    chat.ops(message(1, text="Why <b>?"))
    project = chat.read()["session"]["project_id"]
    assert chat.api.delete(f"/sessions/{chat.id}").status_code == 204
    trash = page.get(f"/projects/{project}/?state=deleted").content.decode()
    assert "Why &lt;b&gt;?</strong>" in trash
    assert "Type “<bdi>Untitled session</bdi>” to erase it" in trash
    page.post(f"/sessions/{chat.id}/purge/", {"typed": "Untitled session"})
    assert not ChatSession.objects.filter(pk=chat.id).exists()
