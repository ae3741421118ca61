"""The pages around the store: keys, the list of projects, errors."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from sessions_app.models import ApiKey, ChatSession, Project
from sessions_app.models.times import now
from tests.support.chat import Chat


def test_a_key_is_shown_once_and_works(page: Client, alice: User) -> None:
    sent = page.post("/keys/", {"name": "laptop", "scopes": ["read"], "days": "7"})
    # A reload of what follows sends no form again.
    assert (sent.status_code, sent["Location"]) == (302, "/keys/")
    half, pad = bytes.fromhex(page.cookies["newkey"].value), page.session["new_key"]
    made = page.get("/keys/")
    [secret] = set(re.findall(r"sh_\w{49}", made.content.decode()))
    assert "no-store" in made["Cache-Control"]
    assert bytes(a ^ b for a, b in zip(half, bytes.fromhex(pad), strict=True)) == secret.encode()
    assert ("new_key" in page.session, page.cookies["newkey"].value) == (False, "")
    page.cookies["newkey"] = half.hex()  # What a browser kept is of no use any more.
    assert secret not in page.get("/keys/").content.decode()
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    assert client.get("/api/v1/projects").status_code == 200
    assert client.post("/api/v1/projects", {"path": "x"}, content_type="application/json").status_code == 403
    assert ApiKey.objects.get().expires_at is not None


def test_a_double_click_makes_one_key_whose_secret_is_shown(page: Client) -> None:
    token = re.findall(r'name="token" value="([^"]+)"', page.get("/keys/").content.decode())[0]
    form = {"name": "laptop", "scopes": ["read"], "token": token}
    page.post("/keys/", form)
    page.post("/keys/", form)
    [secret] = set(re.findall(r"sh_\w{49}", page.get("/keys/").content.decode()))
    assert Client(headers={"Authorization": f"Bearer {secret}"}).get("/api/v1/projects").status_code == 200
    assert ApiKey.objects.count() == 1
    # From a page that was kept, later: a second key, and the first one works on.
    ApiKey.objects.update(created_at=now() - timedelta(minutes=1))
    page.post("/keys/", form)
    assert ApiKey.objects.count() == 2


def test_a_double_click_makes_one_session(page: Client, chat: Chat) -> None:
    address = f"/projects/{Project.objects.get().id}/"
    token = re.findall(r'name="token" value="([^"]+)"', page.get(address).content.decode())[0]
    made = [page.post(address, {"token": token})["Location"] for _ in range(2)]
    assert (made[0] == made[1], ChatSession.objects.count()) == (True, 2)
    Chat(chat.api, session_id=made[0].split("/")[2]).say("m1", "Written in it")
    assert page.post(address, {"token": token})["Location"] != made[0]


@pytest.mark.parametrize(("scheme", "status"), [("Bearer", 200), ("bearer", 200), ("BEARER", 200), ("Basic", 401), ("", 401)])
def test_a_key_comes_with_the_scheme_in_any_case(api: Callable[..., Any], alice: User, scheme: str, status: int) -> None:
    client = Client(headers={"Authorization": f"{scheme} {api(alice).secret}".strip()})
    assert client.get("/api/v1/projects").status_code == status


def test_a_key_can_be_limited_to_an_own_project_only(page: Client, api: Callable[..., Any], alice: User, bob: User) -> None:
    Chat(api(alice), project="mine")
    Chat(api(bob), project="his")
    assert page.post("/keys/", {"scopes": ["read"], "project": "his"}).status_code == 422
    assert page.post("/keys/", {"scopes": ["read"], "project": "mine"}).status_code == 302
    assert ApiKey.objects.exclude(project=None).get().project_id is not None


def test_a_key_without_a_name_says_so(page: Client) -> None:
    assert "Optional: what it is for" in page.get("/keys/").content.decode()
    assert "Key without a name" in page.post("/keys/", {"scopes": ["read"]}, follow=True).content.decode()


def test_the_page_of_keys_says_which_scopes_a_program_needs(page: Client) -> None:
    assert "Programs that save need both" in page.get("/keys/").content.decode()


def test_a_key_needs_a_scope(page: Client) -> None:
    assert page.post("/keys/", {"name": "x"}).status_code == 422
    refused = page.post("/keys/", {"scopes": ["read"], "days": "0"}).content.decode()
    assert "A key expires after 1 to 3,650 days." in refused
    assert not ApiKey.objects.exists()


def test_a_key_is_revoked_by_its_owner_alone(page: Client, api: Callable[..., Any], alice: User, bob: User) -> None:
    alice_api, bob_api = api(alice), api(bob)
    own, foreign = ApiKey.objects.get(user=alice), ApiKey.objects.get(user=bob)
    assert page.post(f"/keys/{foreign.pk}/revoke/").status_code == 404
    revoked = page.post(f"/keys/{own.pk}/revoke/", follow=True).content.decode()
    assert f'action="/keys/{own.pk}/restore/"' in revoked
    assert (alice_api.get("/projects").status_code, bob_api.get("/projects").status_code) == (401, 200)


def test_a_key_revoked_by_mistake_is_brought_back_at_once_or_never(page: Client, api: Callable[..., Any], alice: User) -> None:
    alice_api = api(alice)
    key = ApiKey.objects.get(user=alice)
    page.post(f"/keys/{key.pk}/revoke/")
    page.post(f"/keys/{key.pk}/restore/")
    assert alice_api.get("/projects").status_code == 200
    ApiKey.objects.update(revoked_at=now() - timedelta(minutes=11))
    late = page.post(f"/keys/{key.pk}/restore/")
    assert (late.status_code, "more than ten minutes ago" in late.content.decode()) == (404, True)
    assert alice_api.get("/projects").status_code == 401


def test_an_undo_says_that_the_key_has_expired_meanwhile(page: Client, api: Callable[..., Any], alice: User) -> None:
    alice_api = api(alice)
    key = ApiKey.objects.get(user=alice)
    page.post(f"/keys/{key.pk}/revoke/")
    ApiKey.objects.update(expires_at=now() - timedelta(seconds=1))
    said = page.post(f"/keys/{key.pk}/restore/", follow=True).content.decode()
    assert "has expired. Create another." in said
    assert "works again" not in said
    assert alice_api.get("/projects").status_code == 401


def test_home_shortens_a_long_path_in_the_middle(page: Client, api: Callable[..., Any], alice: User) -> None:
    path = "/home/alice/" + "deep/" * 95 + "shop"
    Chat(api(alice), project=path)
    shown = page.get("/").content.decode()
    [row] = re.findall(r'<a class="title" [^>]*title="([^"]+)">shop <code dir="ltr">([^<]+)</code></a>', shown)
    assert row[0] == path
    assert (len(row[1]), row[1].startswith("/home/alice/deep/"), row[1].endswith("/deep/shop")) == (80, True, True)
    Project.objects.update(deleted_at=now())
    trash = page.get("/?state=deleted").content.decode()
    assert f'<code dir="ltr" title="{path}">{row[1]}</code>' in trash


def test_home_lists_own_projects_with_what_goes_on_in_them(page: Client, api: Callable[..., Any], alice: User, bob: User) -> None:
    chat = Chat(api(alice), project="/home/alice/shop")
    chat.say("m1", "hello")
    chat.api.patch(f"/sessions/{chat.id}", {"title": "The checkout bug"})
    Chat(api(bob), project="/home/bob/secret")
    shown = page.get("/").content.decode()
    assert "/home/alice/shop" in shown
    assert "The checkout bug" in shown
    assert "1 message<" in shown
    # The figures are those of the project.
    other = chat.api.post(f"/projects/{Project.objects.get(path='/home/alice/shop').id}/sessions", {"title": "Newer"}).json()[
        "id"
    ]
    Chat(chat.api, session_id=other).say("m1", "hello again")
    shown = page.get("/").content.decode()
    assert ("Newer" in shown, "2 messages" in shown, "2 sessions" in shown) == (True, True, True)
    assert "secret" not in shown


def test_home_costs_the_same_however_many_projects(page: Client, api: Callable[..., Any], alice: User) -> None:
    client = api(alice)

    def statements() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert page.get("/").status_code == 200
        return len(seen)

    Chat(client, project="first")
    few = statements()
    for number in range(20):
        Chat(client, project=f"project {number}")
    assert statements() == few


def test_home_goes_on_where_a_page_ends(page: Client, api: Callable[..., Any], alice: User) -> None:
    client = api(alice)
    for number in range(55):
        client.post("/projects", {"path": f"project-{number:02}"})
    first = page.get("/").content.decode()
    [more] = re.findall(r'href="(\?cursor=[^"]+)"', first)
    second = page.get(f"/{more}").content.decode()
    found = [set(re.findall(r'<a class="title" href="[^"]+">(project-\d\d)', shown)) for shown in (first, second)]
    assert (len(found[0]), len(found[1]), found[0] & found[1]) == (30, 25, set())


def all_pages(page: Client, address: str, pattern: str) -> list[str]:
    """What the pattern finds on a list's page and on all that follow it, each once."""
    found, path = [], address.partition("?")[0]
    while address:
        shown = page.get(address).content.decode()
        found += re.findall(pattern, shown)
        [*more] = set(re.findall(r'hx-get="(\?[^"]*cursor=[^"]+)"', shown))
        address = f"{path}{more[0].replace('&amp;', '&')}" if more else ""
    return found


def test_all_that_is_in_the_trash_can_be_reached(page: Client, api: Callable[..., Any], alice: User) -> None:
    project = Project.objects.create(owner=alice, path="shop")
    gone = now()
    Project.objects.bulk_create(Project(owner=alice, path=f"old-{number:02}", deleted_at=gone) for number in range(65))
    ChatSession.objects.bulk_create(
        ChatSession(project=project, title=f"talk {number:03}", deleted_at=gone - timedelta(minutes=number // 10))
        for number in range(125)
    )
    assert sorted(all_pages(page, "/?state=deleted", r"<strong [^>]*>(old-\d\d)")) == [f"old-{number:02}" for number in range(65)]
    assert "65 projects" in page.get("/?state=deleted").content.decode()
    trash = f"/projects/{project.id}/?state=deleted"
    assert sorted(all_pages(page, trash, r"<strong [^>]*>(talk \d+)")) == [f"talk {number:03}" for number in range(125)]
    assert "125 sessions in the trash. Each is erased 30 days after it was deleted." in page.get(trash).content.decode()
    one = page.get(f"{trash}&q=talk+007").content.decode()
    assert "1 session in the trash with “<bdi>talk 007</bdi>” in the title. It is erased 30 days after it was deleted." in one
    found = all_pages(page, f"{trash}&q=TALK+11", r"<strong [^>]*>(talk \d+)")
    assert sorted(found) == [f"talk {number}" for number in range(110, 120)]
    assert "No title in the trash has “<bdi>nowhere</bdi>”" in page.get(f"{trash}&q=nowhere").content.decode()


def test_a_search_stays_in_its_tab_and_a_tab_in_its_search(page: Client, api: Callable[..., Any], alice: User) -> None:
    project = Project.objects.create(owner=alice, path="shop")
    for state in ("", "earlier", "archived", "deleted"):
        shown = page.get(f"/projects/{project.id}/?state={state}&q=a%26b").content.decode()
        assert (f'<input type="hidden" name="state" value="{state}">' in shown) == bool(state)
        assert 'hx-include="closest form"' in shown
        assert f'href="/sessions/?project={project.id}&amp;q=a%26b"' in shown
        for other in ("earlier", "archived", "deleted"):
            assert f'href="?state={other}&amp;q=a%26b"' in shown


def test_an_act_on_a_row_comes_back_to_the_beginning_of_the_list(page: Client, api: Callable[..., Any], alice: User) -> None:
    project = Project.objects.create(owner=alice, path="shop")
    ChatSession.objects.bulk_create(ChatSession(project=project, title=f"talk {number}") for number in range(40))
    for address in (f"/projects/{project.id}/?state=earlier", "/sessions/?q=talk"):
        shown = page.get(address).content.decode()
        [more] = set(re.findall(r'hx-get="(\?[^"]*cursor=[^"]+)"', shown))
        later = page.get(f"{address.partition('?')[0]}{more.replace('&amp;', '&')}").content.decode()
        for html in (shown, later):
            assert set(re.findall(r'name="back" value="([^"]+)"', html)) == {address}
            rows = html.count('<li id="session-')
            assert html.count('name="back"') >= 5 * rows > 0
        assert f'<a href="{address}">From the newest</a>' in later
        assert "From the newest" not in shown


def test_a_list_is_there_again_after_delete_and_undo(page: Client, api: Callable[..., Any], alice: User) -> None:
    chat, back = Chat(api(alice)), "/sessions/?q=a%26b&state=earlier"
    deleted = page.post(f"/sessions/{chat.id}/delete/", {"back": back})
    assert deleted["Location"] == back
    [undo] = re.findall(r'action="([^"]+/undelete/[^"]*)"', page.get(back).content.decode())
    assert page.post(undo.replace("&amp;", "&"))["Location"] == back
    # From the session's own page.
    project = Project.objects.get()
    assert page.post(f"/sessions/{chat.id}/delete/")["Location"] == f"/projects/{project.id}/"
    assert page.post(f"/sessions/{chat.id}/undelete/")["Location"] == f"/sessions/{chat.id}/"


def test_lists_show_as_many_rows_as_a_live_page_has(page: Client, alice: User) -> None:
    project = Project.objects.create(owner=alice, path="shop")
    rows = [ChatSession(project=project, title=f"talk {number}", pinned=number < 5 or None) for number in range(70)]
    ChatSession.objects.bulk_create(rows)
    Project.objects.bulk_create(Project(owner=alice, path=f"project-{number:02}") for number in range(50))
    for address, row, least in (
        (f"/projects/{project.id}/", "session-", 35),
        ("/sessions/", "session-", 30),
        ("/", "project-", 30),
    ):
        for asked, given in (("", least), ("40", 40), ("1", least), ("x", least)):
            shown = page.get(address, {"rows": asked}).content.decode()
            assert shown.count(f'<li id="{row}') == given, (address, asked)
            assert "rows=4" not in shown


def test_a_project_is_made_by_hand(page: Client) -> None:
    made = page.post("/", {"path": "by hand", "name": "By <b>hand</b>"})
    [address] = re.findall(r'href="(/projects/[^"]+)" title="by hand"', page.get("/").content.decode())
    assert (made.status_code, made["Location"]) == (302, address)
    assert "By &lt;b&gt;hand&lt;/b&gt;" in page.get(address).content.decode()
    assert page.post("/", {"path": ""}).status_code == 422


def test_what_is_not_there_is_said_in_the_page_s_own_words(page: Client) -> None:
    missing = page.get("/nowhere/")
    assert missing.status_code == 404
    assert b"Nothing was found" in missing.content
    assert page.get("/?cursor=nonsense").status_code == 422


def test_a_form_without_its_token_is_refused(alice: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    for address in ("/", "/keys/", "/account/", "/logout/", "/login/"):
        assert strict.post(address, {"path": "x"}).status_code == 403


def test_the_sidebar_tells_projects_of_one_name_apart(page: Client, alice: User) -> None:
    paths = ["/home/ana/shop", "/home/bob/shop", "/srv/ana/shop", "shop", "/srv/one", "/p/named", "/q/named"]
    for path in paths:
        Project.objects.create(owner=alice, path=path, name="Named" if "named" in path else "")
    listed = page.get("/keys/").content.decode().partition("<h2>Projects</h2>")[2].partition("</ul>")[0]
    shown = re.findall(r'title="([^"]+)"[^>]*>.*?<span dir="auto">([^<]+)</span>', listed, re.DOTALL)
    assert dict(shown) == {
        "/home/ana/shop": "/home/ana/shop",
        "/home/bob/shop": "bob/shop",
        "/srv/ana/shop": "/srv/ana/shop",
        "shop": "shop",
        "/srv/one": "one",
        "/p/named": "Named (/p/named)",
        "/q/named": "Named (/q/named)",
    }
