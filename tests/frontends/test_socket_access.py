"""Who may open a socket of a real server, and for how long."""

import time
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from tests.support.sockets import House, Socket

CLOSED_WITHIN_SECONDS = 5
SIGN_IN = """
from django.contrib.auth import get_user_model, SESSION_KEY, BACKEND_SESSION_KEY, HASH_SESSION_KEY
from sessions_app.accounts.login_store import SessionStore
user = get_user_model().objects.get(username="ana")
for number in range(4):
    session = SessionStore()
    session[SESSION_KEY], session[BACKEND_SESSION_KEY] = str(user.pk), "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    print(session.session_key)
"""
# To start a process for each takes longer than what is tested.
KEYS = """
from django.core.management import call_command
call_command("create_key", user="ana", project="its-own")
call_command("create_key", user="ana", scopes="write")
call_command("create_key", user="ana", name="doomed")
"""
DORA = """
from sessions_app.core.callers import caller_of_user
from sessions_app.accounts.users import create_user; from sessions_app.accounts import api_keys
caller = caller_of_user(create_user(username="{name}"))
print(api_keys.create_key(caller=caller).secret, api_keys.create_socket_ticket(caller=caller)[0])
"""
NOW = "from django.utils.timezone import now; "


@pytest.fixture
def project(house: House, path: str) -> str:
    """The path of a project of ana's that exists."""
    house.api.call("POST", "/projects", {"path": path})
    return path


@pytest.fixture(scope="module")
def made(house: House) -> list[str]:
    return house.server.shell(SIGN_IN + KEYS).split()


@pytest.fixture(scope="module")
def cookies(made: list[str]) -> list[str]:
    """Of four logins of ana's."""
    return [f"sessionid={key}" for key in made[:4]]


@pytest.fixture(scope="module")
def keys(made: list[str]) -> dict[str, str]:
    """Ana's: for one project, for writing alone, and one that ends."""
    return dict(zip(("limited", "write_only", "doomed"), made[4:], strict=True))


def ends_in_time(socket: Socket) -> int:
    started = time.monotonic()
    code = socket.closed_with()
    assert time.monotonic() - started <= CLOSED_WITHIN_SECONDS
    return code


def test_unknown_and_foreign_projects_are_refused_alike(house: House, project: str) -> None:
    for asked, key in ((project, house.foreign_key), ("unknown", house.key), ("", house.key), ("nul\0", house.key)):
        with house.listen(asked, key=key) as socket:
            assert socket.closed_with() == 4404


def test_a_key_of_one_project_hears_no_other(house: House, project: str, keys: dict[str, str]) -> None:
    limited = keys["limited"]
    with house.listen(project, key=limited) as by_key, house.listen(project, ticket=house.ticket(limited)) as by_ticket:
        assert [socket.closed_with() for socket in (by_key, by_ticket)] == [4404, 4404]
    with house.listen("its-own", ticket=house.ticket(limited)) as socket:
        assert socket.silence(0.3) == []


def test_without_a_good_credential_nobody_listens(house: House, project: str, keys: dict[str, str]) -> None:
    with ExitStack() as stack:
        refused = [stack.enter_context(house.listen(project, key=key)) for key in ("", "sh_wrong", keys["write_only"])]
        refused.append(stack.enter_context(house.listen(project, ticket="wrong")))
        refused.append(stack.enter_context(house.listen(project, key="", Cookie="sessionid=wrong", Origin=house.server.url)))
        assert {socket.closed_with() for socket in refused} == {4401}


def test_a_ticket_opens_one_socket(house: House, path: str) -> None:
    _, session = house.api.session(path)
    ticket = house.ticket()
    with house.listen(path, ticket=ticket) as first, house.listen(path, ticket=ticket) as second:
        assert second.closed_with() == 4401
        house.api.save(session, "m1")
        first.until_number(2)


def test_a_ticket_stays_out_of_the_log(house: House, project: str) -> None:
    ticket = house.ticket()
    with house.listen(project, ticket=ticket) as socket:
        socket.silence(0.2)
    assert "/ws/events/" in house.server.whole_log()
    assert ticket not in house.server.whole_log()


def test_a_cookie_counts_only_from_our_own_origin(house: House, cookies: list[str], path: str) -> None:
    _, session = house.api.session(path)
    cookie = cookies[0]
    host, port = house.server.host, house.server.port
    foreign = ("null", "https://evil.example", f"http://127.0.0.1:{port + 1}", f"https://{host}", f"http://{host}.evil.example")
    for origin in foreign:
        with house.listen(path, key="", Cookie=cookie, Origin=origin) as socket:
            assert socket.closed_with() == 4401, origin
    with house.listen(path, key="", Cookie=cookie) as socket:
        assert socket.closed_with() == 4401
    with house.listen(path, key="", Cookie=cookie, Origin=house.server.url) as socket:
        house.api.save(session, "m1")
        socket.until_number(2)


def test_another_name_of_ours_is_our_origin_too_but_no_invented_one(house: House, cookies: list[str], project: str) -> None:
    """The page and the socket under the same name; an attacker's name that resolves to us is none of ours."""
    cookie = cookies[0]
    for name, ours in (("localhost", True), ("rebound.example", False)):
        page = f"{name}:{house.server.port}"
        with house.listen(project, key="", Cookie=cookie, Origin=f"http://{page}", Host=page) as socket:
            assert (socket.silence(0.3) == []) if ours else (socket.closed_with() == 4401)


def test_a_bad_ticket_or_key_is_refused_even_with_a_valid_cookie(house: House, cookies: list[str], project: str) -> None:
    cookie = cookies[0]
    signed_in: dict[str, Any] = {"Cookie": cookie, "Origin": house.server.url}
    with house.listen(project, ticket="wrong", **signed_in) as ticket, house.listen(project, key="wrong", **signed_in) as key:
        assert (ticket.closed_with(), key.closed_with()) == (4401, 4401)


def test_a_revoked_key_closes_its_sockets(house: House, project: str, keys: dict[str, str]) -> None:
    doomed = keys["doomed"]
    with house.listen(project, key=doomed) as by_key, house.listen(project, ticket=house.ticket(doomed)) as by_ticket:
        revoke = "from sessions_app.models import ApiKey; ApiKey.objects.filter(name='doomed').update(revoked_at=now())"
        house.server.shell(NOW + revoke)
        assert [ends_in_time(socket) for socket in (by_key, by_ticket)] == [4409, 4409]


def test_logging_out_closes_the_sockets_of_that_login(house: House, cookies: list[str], project: str) -> None:
    _, gone, stays, _ = cookies
    with (
        house.listen(project, key="", Cookie=gone, Origin=house.server.url) as ending,
        house.listen(project, key="", Cookie=stays, Origin=house.server.url) as lasting,
    ):
        log_out = f"SessionStore().delete('{gone.partition('=')[2]}')"
        house.server.shell(f"from sessions_app.accounts.login_store import SessionStore; {log_out}")
        assert ends_in_time(ending) == 4409
        assert lasting.silence(0.5) == []


@pytest.mark.slow
def test_logging_out_closes_the_sockets_that_this_login_asked_tickets_for(house: House, project: str, cookies: list[str]) -> None:
    mine = cookies[3]
    page = httpx.Client(base_url=house.server.url, headers={"Cookie": f"{mine}; csrftoken={'t' * 32}", "X-CSRFToken": "t" * 32})
    tickets = [page.post("/api/v1/ws-tickets").json()["ticket"] for _ in range(2)]
    with house.listen(project, key="", ticket=tickets[0]) as ending:
        assert ending.silence(0.3) == []
        log_out = f"SessionStore().delete('{mine.partition('=')[2]}')"
        house.server.shell(f"from sessions_app.accounts.login_store import SessionStore; {log_out}")
        assert ends_in_time(ending) == 4409
    with house.listen(project, key="", ticket=tickets[1]) as late:
        assert late.closed_with() == 4401
    page.close()


@pytest.mark.parametrize("change", ["is_active=False", pytest.param("password='another'", marks=pytest.mark.slow)])
def test_an_account_that_changed_is_asked_again(house: House, change: str) -> None:
    """A disabled user hears nothing more; a changed password ends what was opened by the old one, keys live on."""
    name = f"dora-{change.partition('=')[0]}"
    key, ticket = house.server.shell(DORA.format(name=name)).split()
    api = house.server.api(key)
    api.session("hers")
    api.close()
    with house.listen("hers", key=key) as by_key, house.listen("hers", ticket=ticket) as by_ticket:
        update = f"from django.contrib.auth.models import User; User.objects.filter(username='{name}').update({change})"
        house.server.shell(update)
        assert ends_in_time(by_ticket) == 4409
        if "is_active" in change:
            assert ends_in_time(by_key) == 4409
        else:
            assert by_key.silence(1) == []


def test_a_project_that_is_deleted_closes_its_sockets(house: House, path: str) -> None:
    project, _ = house.api.session(path)
    with house.listen(path) as socket:
        house.api.call("DELETE", f"/projects/{project}")
        assert ends_in_time(socket) == 4404


def test_no_other_address_is_a_socket(house: House) -> None:
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "a" * 22 + "==",
    }
    assert httpx.get(f"{house.server.url}/ws/other/", headers=upgrade).status_code == 403
