"""Sign-in by password with limited attempts and by one-time link, sign-out, setting a password."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.accounts import login_throttle
from sessions_app.accounts.users import create_sign_in_link
from sessions_app.models import ApiKey, Project
from tests.support.chat import Chat
from tests.support.example_objects import world_of

PASSWORD = "a long and quiet river"


@pytest.fixture
def alice_with_password(alice: User) -> User:
    alice.set_password(PASSWORD)
    alice.save()
    return alice


def sign_in(client: Client, *, username: str = "alice", password: str = PASSWORD, **more: Any) -> Any:
    return client.post("/login/", {"username": username, "password": password, **more})


def test_pages_send_who_is_not_signed_in_to_the_login_and_back(client: Client, alice_with_password: User) -> None:
    for page in ("/", "/keys/", "/account/"):
        assert client.get(page)["Location"] == f"/login/?next={page}"
    assert b"Sign in" in client.get("/login/?next=/keys/").content
    assert sign_in(client, next="/keys/")["Location"] == "/keys/"
    assert client.get("/keys/").status_code == 200


def test_who_asks_only_for_the_head_of_a_page_uses_nothing_up(client: Client, alice: User) -> None:
    """As programs do that watch a server."""
    address = f"/welcome/{create_sign_in_link(user_id=alice.pk)}/"
    assert [client.head(page).status_code for page in ("/login/", address, address)] == [200] * 3
    assert "sessionid" not in client.cookies
    client.force_login(alice)
    assert client.head("/account/").status_code == 200


ELSEWHERE = ("https://evil.example/", "//evil.example", "javascript:alert(1)", "0", "keys", "/\\evil.example", "/" + "é" * 2_000)


@pytest.mark.parametrize("elsewhere", ELSEWHERE)
def test_a_login_leads_nowhere_else(client: Client, alice_with_password: User, elsewhere: str) -> None:
    assert sign_in(client, next=elsewhere)["Location"] == "/"


def test_a_wrong_password_and_an_unknown_name_look_the_same(client: Client, alice_with_password: User) -> None:
    wrong, unknown = sign_in(client, password="wrong"), sign_in(client, username="nobody")
    assert (wrong.status_code, unknown.status_code) == (422, 422)
    told = [re.findall(rb"errorlist.*?</ul>", answer.content, re.DOTALL) for answer in (wrong, unknown)]
    assert told[0]
    assert told[0] == told[1]


@pytest.fixture
def without_redis(settings: Any) -> None:
    """It is configured, and nobody is there."""
    gone = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://127.0.0.1:1/0"}
    settings.CACHES = {**settings.CACHES, "default": gone}


def test_without_redis_one_signs_in_and_guesses_are_still_few(
    client: Client, alice_with_password: User, settings: Any, without_redis: None
) -> None:
    settings.LOGIN_ATTEMPTS = 3
    assert sign_in(client).status_code == 302
    client.post("/logout/")
    assert [sign_in(client, password="x").status_code for _ in range(4)] == [422, 422, 422, 429]


def test_guesses_are_few_for_an_account_from_anywhere(client: Client, alice_with_password: User, settings: Any) -> None:
    settings.LOGIN_ATTEMPTS = 3
    for number in range(3):
        assert client.post("/login/", {"username": "Alice", "password": "x"}, REMOTE_ADDR=f"10.0.0.{number}").status_code == 422
    refused = client.post("/login/", {"username": "alice", "password": PASSWORD}, REMOTE_ADDR="10.0.0.9")
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) > 0


@pytest.mark.parametrize("spelling", [" alice", "alice\u3000", "\uff41lice", "ALICE"])
def test_no_other_spelling_of_a_name_has_guesses_of_its_own(
    client: Client, alice_with_password: User, settings: Any, spelling: str
) -> None:
    settings.LOGIN_ATTEMPTS = 1
    client.post("/login/", {"username": "alice", "password": "x"}, REMOTE_ADDR="10.0.0.1")
    again = client.post("/login/", {"username": spelling, "password": PASSWORD}, REMOTE_ADDR="10.0.0.2")
    assert again.status_code == 429


def test_an_ipv6_client_is_its_network(client: Client, alice_with_password: User, settings: Any) -> None:
    settings.LOGIN_ATTEMPTS = 1
    for host, status in (("2001:db8::1", 422), ("2001:db8::2", 429), ("2001:db8:0:1::1", 422)):
        guess = {"username": f"name {host}", "password": "x"}
        assert client.post("/login/", guess, REMOTE_ADDR=host).status_code == status


def test_other_names_push_no_count_out(settings: Any) -> None:
    settings.LOGIN_ATTEMPTS = 1
    login_throttle.count_failed_login(username="alice", address="10.0.0.1")
    for number in range(1_000):
        login_throttle.count_failed_login(username=f"junk{number}", address=f"10.{number}.0.1")
    with pytest.raises(login_throttle.TooManyAttempts):
        login_throttle.check_login_allowed(username="alice", address="10.9.9.9")


def test_guesses_are_few_from_an_address_whatever_it_claims_to_be(
    client: Client, alice_with_password: User, settings: Any
) -> None:
    settings.LOGIN_ATTEMPTS = 3
    for number in range(3):
        sign = {"username": f"name{number}", "password": "x"}
        assert client.post("/login/", sign, headers={"X-Forwarded-For": f"10.1.1.{number}"}).status_code == 422
    assert sign_in(client).status_code == 429


def test_behind_a_trusted_proxy_the_address_is_the_one_that_the_proxy_saw(
    client: Client, alice_with_password: User, settings: Any
) -> None:
    settings.LOGIN_ATTEMPTS, settings.TRUSTED_PROXIES = 1, 1
    client.post("/login/", {"username": "x", "password": "x"}, headers={"X-Forwarded-For": "1.1.1.1, 2.2.2.2"})
    again = client.post("/login/", {"username": "y", "password": "x"}, headers={"X-Forwarded-For": "3.3.3.3, 2.2.2.2"})
    other = client.post("/login/", {"username": "z", "password": "x"}, headers={"X-Forwarded-For": "1.1.1.1, 4.4.4.4"})
    assert (again.status_code, other.status_code) == (429, 422)


def test_a_sign_in_resets_the_count_of_failures(client: Client, alice_with_password: User, settings: Any) -> None:
    settings.LOGIN_ATTEMPTS = 2
    for _ in range(2):
        client.post("/login/", {"username": "alice", "password": "x"}, REMOTE_ADDR="10.0.0.1")
        assert sign_in(client).status_code == 302
        client.logout()


def test_a_link_signs_in_once_and_asks_for_a_password(client: Client, alice: User) -> None:
    address = f"/welcome/{create_sign_in_link(user_id=alice.pk)}/"
    for _ in range(2):  # A preview that opens it uses nothing up.
        assert client.get(address).status_code == 200
    assert client.post(address)["Location"] == "/account/"
    assert client.get("/keys/").status_code == 200
    assert [Client().get(address).status_code, Client().post(address).status_code] == [410, 410]


def test_a_link_of_a_disabled_user_or_an_invented_one_signs_nobody_in(client: Client, carol: User) -> None:
    for token in (create_sign_in_link(user_id=carol.pk), "invented"):
        assert [client.get(f"/welcome/{token}/").status_code, client.post(f"/welcome/{token}/").status_code] == [410, 410]
    assert client.get("/keys/").status_code == 302


def test_a_password_manager_is_told_whose_password_it_is(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert '<input name="username" value="alice" autocomplete="username"' in client.get("/account/").content.decode()


def test_the_first_password_needs_no_old_one_and_the_next_one_does(client: Client, alice: User) -> None:
    client.force_login(alice)
    elsewhere = Client()
    elsewhere.force_login(alice)
    assert client.post("/account/", {"new_password1": PASSWORD, "new_password2": PASSWORD}).status_code == 302
    assert client.get("/account/").status_code == 200
    assert elsewhere.get("/account/").status_code == 302
    other = {"new_password1": "another river", "new_password2": "another river"}
    assert client.post("/account/", other).status_code == 422
    assert client.post("/account/", {**other, "old_password": PASSWORD}).status_code == 302


def test_log_out_takes_a_post_and_ends_the_session(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert client.get("/logout/").status_code == 405
    assert "Sign out" in client.get("/").content.decode()
    assert client.post("/logout/")["Location"] == "/login/"
    assert "You are signed out. Everything saved is kept." in client.get("/login/").content.decode()
    assert client.get("/").status_code == 302


def test_an_account_is_deleted_with_all_that_is_in_it(client: Client, api: Callable[..., Any], alice: User, bob: User) -> None:
    world_of(api, alice)
    kept = Chat(api(bob), project="/home/bob/shop")
    client.force_login(alice)
    for wrong in ({"typed": "bob"}, {}):
        client.post("/account/delete/", wrong)
        assert User.objects.filter(username="alice").exists()
    assert client.post("/account/delete/", {"typed": "alice"})["Location"] == "/login/"
    assert not User.objects.filter(username="alice").exists()
    assert not ApiKey.objects.filter(user__username="alice").exists()
    assert [project.path for project in Project.objects.all()] == ["/home/bob/shop"]
    assert kept.get("messages").status_code == 200
    assert client.get("/").status_code == 302


def test_an_account_with_a_password_is_deleted_only_with_it(client: Client, alice_with_password: User) -> None:
    client.force_login(alice_with_password)
    client.post("/account/delete/", {"typed": "alice", "password": "another one"})
    assert User.objects.filter(username="alice").exists()
    client.post("/account/delete/", {"typed": "alice", "password": PASSWORD})
    assert not User.objects.filter(username="alice").exists()
