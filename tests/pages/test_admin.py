"""The admin shows every table to operators, reads no message bodies in lists, and writes nothing past the services."""

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from sessions_app.models import ApiKey, Message, Purge
from sessions_app.portability.content_kinds import USER, Kind, export_kinds, kind_named
from tests.conftest import Alone
from tests.support.chat import Chat
from tests.support.example_objects import SECRET_TEXT, world_of

OURS = ("sessions_app.", "memory_app.", "generation_app.", "mcp_app.", "nouns.")
MODELS = [model for model in apps.get_models() if model.__module__.startswith(OURS)]


@pytest.fixture
def operator(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("operator"))
    return client


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    chat = Chat(api(alice))
    for number in range(5):
        chat.say(f"m{number}", "words of alice " * 500)
    return chat


def address(model: type[Model], page: str, *arguments: object) -> str:
    return reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_{page}", args=arguments)


def test_every_model_has_a_list_and_a_page_that_cannot_be_written(operator: Client, chat: Chat, alone: Alone) -> None:
    for model in MODELS:
        with alone(model.__name__):
            has_a_list_and_a_page(operator, model)


def has_a_list_and_a_page(operator: Client, model: type[Model]) -> None:
    assert model in admin.site._registry
    assert operator.get(address(model, "changelist"), {"q": "shop"}).status_code == 200
    assert operator.get(address(model, "add")).status_code == 403
    row = model._default_manager.first()
    if row is not None:
        assert operator.get(address(model, "change", row.pk)).status_code == 200
        assert operator.post(address(model, "change", row.pk), {"title": "x"}).status_code == 403
        assert operator.post(address(model, "delete", row.pk), {"post": "yes"}).status_code == 403


def test_a_list_of_messages_reads_no_bodies_and_costs_the_same_however_long(operator: Client, chat: Chat) -> None:
    def look() -> list[str]:
        with CaptureQueriesContext(
            connection,
        ) as seen:
            assert b"words of alice" not in operator.get(address(Message, "changelist")).content
        return [query["sql"] for query in seen]

    first = look()
    assert not any('"sessions_app_message"."text"' in sql for sql in first)
    for number in range(5, 30):
        chat.say(f"m{number}", "more")
    assert len(look()) == len(first)


def test_no_list_reads_large_columns_of_its_rows_or_of_those_beside_them(operator: Client, subtests: pytest.Subtests) -> None:
    large = [
        (shown._meta.db_table, column) for shown in MODELS for column in getattr(admin.site._registry[shown], "deferred", ())
    ]
    assert ("sessions_app_message", "text") in large
    for model in MODELS:
        with subtests.test(model.__name__):
            with CaptureQueriesContext(connection) as seen:
                operator.get(address(model, "changelist"))
            read = " ".join(query["sql"] for query in seen)
            assert [column for column in large if '"{}"."{}"'.format(*column) in read] == []


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_no_list_reads_all_values_of_a_column_or_all_users_for_its_filters(operator: Client, model: type[Model]) -> None:
    with CaptureQueriesContext(connection) as seen:
        operator.get(address(model, "changelist"))
    assert [query["sql"] for query in seen if query["sql"].startswith('SELECT DISTINCT "')] == []
    relations = {field.name for field in model._meta.get_fields() if field.is_relation}
    assert relations.isdisjoint(one for one in admin.site._registry[model].list_filter if isinstance(one, str))


def test_messages_are_filtered_by_role(operator: Client, chat: Chat) -> None:
    def shown(role: str) -> int:
        return int(operator.get(address(Message, "changelist"), {"role": role}).context["cl"].result_count)

    assert (shown("user"), shown("assistant")) == (5, 0)


def test_a_message_s_own_page_shows_its_text(operator: Client, chat: Chat) -> None:
    page = operator.get(address(Message, "change", Message.objects.order_by("pk")[0].pk))
    assert b"words of alice" in page.content


def test_who_may_only_look_at_keys_revokes_none(chat: Chat, client: Client) -> None:
    key = ApiKey.objects.get()
    viewer = User.objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.set(Permission.objects.filter(codename="view_apikey"))
    client.force_login(viewer)
    assert b"Revoke the chosen" not in client.get(address(ApiKey, "changelist")).content
    client.post(address(ApiKey, "changelist"), {"action": "revoke", "_selected_action": [str(key.pk)]})
    assert ApiKey.objects.usable().filter(pk=key.pk).exists()
    viewer.user_permissions.add(Permission.objects.get(codename="change_apikey"))
    client.post(address(ApiKey, "changelist"), {"action": "revoke", "_selected_action": [str(key.pk)]})
    assert not ApiKey.objects.usable().filter(pk=key.pk).exists()


def test_keys_are_revoked_here_and_their_hashes_are_shown_nowhere(operator: Client, chat: Chat) -> None:
    key = ApiKey.objects.get()
    for page in (operator.get(address(ApiKey, "changelist")), operator.get(address(ApiKey, "change", key.pk))):
        assert key.key_sha256.encode() not in page.content
    operator.post(address(ApiKey, "changelist"), {"action": "revoke", "_selected_action": [str(key.pk)]})
    assert chat.api.get("/projects").status_code == 401


def test_other_users_are_sent_to_the_login(alice: User) -> None:
    client = Client()
    client.force_login(alice)
    assert client.get(address(Message, "changelist")).status_code == 302


def rows_of(user: User) -> dict[str, int]:
    """How many rows of each kind the account has; where a table does not say whose, all of its rows."""
    return {kind.name: owned_by(kind, user).count() for kind in export_kinds()}


def owned_by(kind: Kind, user: User) -> Any:
    path, above = kind.link, kind
    while above.under != USER:
        above = kind_named(above.under)
        path = f"{path}__{above.link}"
    return kind.model._default_manager.filter(**{path: user.pk})


DELETE_USER = {"by its page": "auth_user_delete", "by the list": "auth_user_changelist"}


def delete_user(operator: Client, user: User, way: str) -> Any:
    page = reverse(f"admin:{DELETE_USER[way]}", args=[user.pk] if way == "by its page" else [])
    chosen = {"post": "yes", "action": "delete_selected", "_selected_action": [str(user.pk)]}
    return operator.post(page, chosen)


@pytest.mark.parametrize("way", DELETE_USER)
def test_an_account_with_frozen_handoffs_is_erased_with_all_that_is_its(
    operator: Client, api: Callable[..., Any], alice: User, bob: User, way: str
) -> None:
    world_of(api, alice)
    world_of(api, bob)
    kept = rows_of(bob)
    assert kept["handoff_snapshot"] == rows_of(alice)["handoff_snapshot"] == 1
    assert delete_user(operator, alice, way).status_code == 302
    assert not User.objects.filter(username="alice").exists()
    assert rows_of(bob) == kept
    assert {name: count for name, count in rows_of(alice).items() if count} == {}
    assert Message.objects.count() == kept["message"]
    assert not Purge.objects.exists()


def test_before_an_account_is_erased_the_operator_reads_what_goes_with_it(
    operator: Client, api: Callable[..., Any], alice: User
) -> None:
    world_of(api, alice)
    page = operator.get(reverse("admin:auth_user_delete", args=[alice.pk])).content.decode()
    for part in ("Projects: 1", "Sessions: 2", "Frozen handoffs: 1"):
        assert part in page
    assert SECRET_TEXT not in page
    assert "permission" not in page


def test_who_may_not_delete_users_erases_no_account(api: Callable[..., Any], alice: User, bob: User) -> None:
    world_of(api, alice)
    bob.is_staff = True
    bob.save()
    client = Client()
    client.force_login(bob)
    assert delete_user(client, alice, "by its page").status_code == 403
    assert User.objects.filter(username="alice").exists()


def test_the_admin_takes_no_passwords_itself(client: Client, alice: User) -> None:
    operator = User.objects.create_superuser("operator", password="a long and quiet river")
    guess = {"username": operator.username, "password": "a long and quiet river"}
    assert client.post("/admin/login/", guess)["Location"] == "/login/?next=/admin/"
    assert client.get("/admin/")["Location"] == "/admin/login/?next=/admin/"
    assert client.get("/admin/login/?next=/admin/auth/user/")["Location"] == "/login/?next=/admin/auth/user/"
    assert "_auth_user_id" not in client.session


def test_the_admin_is_forbidden_to_users_and_open_to_operators(operator: Client, client: Client, alice: User) -> None:
    client.force_login(alice)
    assert client.get("/admin/login/").status_code == 403
    assert client.get("/admin/", follow=True).status_code == 403
    assert operator.get("/admin/login/")["Location"] == "/admin/"
    assert operator.post("/admin/password_change/", {"old_password": "guess"})["Location"] == "/account/"
