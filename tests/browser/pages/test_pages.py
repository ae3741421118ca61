"""The pages in a real browser, live: they follow what happens and keep what one reads in place."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from selenium.webdriver.common.by import By

from sessions_app.models import Project
from tests.browser.accessibility import LIVE
from tests.browser.chat.test_chat_elsewhere import sign_in, sign_out, with_password
from tests.browser.driving import Browser
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
SHOWN = "return [...document.querySelectorAll('[role=log] article')].map((article) => article.dataset.id);"

# Seven of the ten seconds that a page waits have passed; `read` counts the answers that say what changed.
BEING_LEFT = """
    dispatchEvent(new Event("beforeunload"));
    const [now, own] = [performance.now.bind(performance), window.fetch];
    performance.now = () => now() + 7000;
    window.read = 0;
    window.fetch = async (...asked) => {
      const reply = await own(...asked);
      if (String(asked[0]).includes("/changes/")) setTimeout(() => { window.read += 1; }, 200);
      return reply;
    };
"""


@pytest.fixture
def chat(server: LiveServer, api: Callable[..., Any], alice: User) -> Chat:
    chat = Chat(api(alice))
    answer = "## Why\n\n`Decimal`:\n\n```python\nprint(1)  # one\n```\n\n| a |\n|---|\n| 1 |"
    chat.say("m1", "Why?")
    chat.say("m2", answer, role="assistant")
    Chat(chat.api, session_id=chat.id).ops({"op": "upsert", "id": "m1", "role": "user", "text": "Another text"})
    return chat


def test_a_transcript_grows_by_itself_and_keeps_what_is_unfolded(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    chat.ops({"op": "upsert", "id": "m3", "role": "assistant", "parts": [{"type": "reasoning", "text": "One."}]})
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(LIVE)
    signed_in.driver.find_element(By.CSS_SELECTOR, "details.part summary").click()
    chat.ops({"op": "upsert", "id": "m3", "role": "assistant", "parts": [{"type": "reasoning", "text": "One. Two."}]})
    chat.say("m4", "New here")
    signed_in.until(f"{SHOWN[:-1]}.includes('m4');")
    signed_in.until("return document.querySelector('details.part')?.textContent.includes('Two.');")
    assert signed_in.run("return document.querySelector('details.part').open;")
    chat.clear()
    signed_in.until(f"{SHOWN[:-1]}.length === 0;")
    assert signed_in.complaints() == []


def test_all_sessions_become_those_of_a_project(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    """The address, the heading and the way to the page say so, and the search is for texts too."""
    other = Chat(chat.api, project="/home/ana/shop")
    signed_in.open(f"{server.url}/sessions/")
    choose = "const at = document.getElementById('sessions-project'); at.value = args[0]; "
    choose += "at.dispatchEvent(new Event('change', { bubbles: true }));"
    project = other.read()["session"]["project_id"]
    signed_in.run(choose, project)
    said = "return ['h1', '.crumbs', '[for=sessions-q]'].map((at) => document.querySelector(at).textContent.trim()).join(' | ');"
    signed_in.until(f"{said[:-1]}.includes('Sessions of shop | ');")
    _, crumbs, search = signed_in.run(said).split(" | ")
    assert ("shop" in crumbs, search) == (True, "Title, text or id")
    assert f"project={project}" in signed_in.run("return location.search;")
    assert signed_in.run("return document.querySelectorAll('#sessions > li').length;") == 1
    signed_in.run(choose, "")
    signed_in.until(f"{said[:-1]}.startsWith('All sessions | ');")
    assert signed_in.complaints() == []


STILL = [
    *(("/sessions/", 1280), ("/import/", 1280), ("/offline/", 360), ("/projects/{project}/errors/", 1280)),
    *(("/sessions/{session}/", 360), ("/projects/{project}/handoff/", 360), ("/projects/{project}/handoff/1/", 360)),
]
KEPT = "await (await caches.open('stillhere-pages-1')).put('/', new Response('<title>Projects</title>'));"


@pytest.mark.parametrize(("address", "width"), STILL)
def test_what_scripts_begin_moves_nothing(
    signed_in: Browser, server: LiveServer, chat: Chat, emulated: Callable[..., None], address: str, width: int
) -> None:
    """A page looks as it will while its modules are still loading; the small script in its head has run."""
    emulated("setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
    project = chat.read()["session"]["project_id"]
    chat.api.patch(f"/projects/{project}/handoff", {"summary": "Nearly done."})
    chat.api.post(f"/projects/{project}/handoff/freeze", {})
    error = {"message": "too deep", "kind": "RecursionError", "stack": "at total (cart.js:1)"}
    chat.api.post(f"/projects/{project}/errors", {"errors": [error]})
    # What appears later is below everything else: the rules for noise on wide screens, and which pages the browser has.
    shown = """const places = 'main :is(.list > li, .heading > *, .bulk-bar, section, form > *, h1, h2, p, article)';
        return [...document.querySelectorAll(`${places}:not(.noise *, #stored, #stored *, #live-state)`)]
            .filter((one) => one.checkVisibility())
            .map((one) => `${one.tagName}${one.id} ${one.getBoundingClientRect().top + scrollY}`);"""
    ready = "!document.querySelector('.bulk-bar:not(.ready)') && !document.querySelector('#try-again[href=\"\"]')"
    signed_in.open(f"{server.url}/login/")
    signed_in.run(KEPT)
    looks = []
    for blocked in (["*/js/*.js"], []):
        signed_in.block(*blocked)
        signed_in.open(f"{server.url}{address.format(project=project, session=chat.id)}")
        signed_in.until("return document.readyState === 'complete';")
        signed_in.run("document.documentElement.classList.add('js');")
        signed_in.until(f"return args[0] || {ready};", bool(blocked))
        looks.append(signed_in.run(shown))
    assert looks[0] == looks[1]


@pytest.mark.slow
def test_a_page_that_is_being_left_is_not_reloaded_in_place_of_where_one_goes(
    signed_in: Browser, server: LiveServer, chat: Chat
) -> None:
    """Clear session in a form: its answer carries the message with Undo. A reload by the page that is left would swallow it."""
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(LIVE)
    signed_in.run(BEING_LEFT)
    chat.clear()
    signed_in.until("return window.read > 0;")
    assert signed_in.run("return document.querySelectorAll('article').length;") == 2
    # What was asked for was a download: the page is still here, and follows.
    signed_in.until("return window.read === undefined && document.querySelectorAll('article').length === 0;")


def test_older_messages_load_upwards_and_what_is_read_stays_in_place(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    chat.ops(*({"op": "upsert", "id": f"n{number}", "role": "user", "text": f"line {number}"} for number in range(100)))
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(f"{SHOWN[:-1]}.length === 40;")
    signed_in.until("return scrollY > 0;")
    signed_in.run("scrollTo(0, 0);")
    signed_in.until(f"{SHOWN[:-1]}.length >= 80;")
    assert signed_in.run("return document.querySelector('[data-id=n60]').getBoundingClientRect().top > 0 || scrollY > 0;")


def test_lists_follow_what_happens_and_keep_the_focus(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    project = f"{server.url}/projects/{Project.objects.get().id}/"
    signed_in.open(project)
    signed_in.until(LIVE)
    signed_in.run("document.querySelector('.list .title').focus();")
    other = Chat(chat.api)
    other.ops({"op": "upsert", "id": "m1", "role": "assistant", "text": "elsewhere", "status": "streaming"})
    signed_in.until("return document.querySelectorAll('.list > li').length === 2;")
    signed_in.until("return document.querySelector('.list > li .live') !== null;")
    assert signed_in.run("return document.activeElement.closest('li').id;") == f"session-{chat.id}"
    other.api.delete(f"/sessions/{other.id}")
    signed_in.until("return document.querySelectorAll('.list > li').length === 1;")
    signed_in.open(f"{project}activity/")
    lines = signed_in.run("return document.querySelectorAll('#events > li').length;")
    chat.api.patch(f"/sessions/{chat.id}", {"title": "Renamed"})
    signed_in.until("return document.querySelectorAll('#events > li').length === args[0];", lines + 1)
    assert signed_in.complaints() == []


@pytest.mark.slow
def test_what_is_typed_is_looked_for_at_once(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    Chat(chat.api).say("m1", "hay")
    marks = "return [...document.querySelectorAll('mark')].map((mark) => mark.textContent);"
    sought = "new URLSearchParams(location.search).get('q')"
    for page, box in (("/search/", "Search"), (f"/projects/{Project.objects.get().id}/", "Filter sessions")):
        signed_in.open(server.url + page)
        signed_in.textbox(box).send_keys("decimal")
        signed_in.until(f"return {sought} === 'decimal' && (() => {{ {marks} }})().length === 1;")
        assert signed_in.run(marks) == ["Decimal"]
    signed_in.driver.find_element(By.CSS_SELECTOR, ".list .title").click()
    signed_in.until("return document.querySelector('article:target')?.dataset.id === 'm2';")
    signed_in.open(f"{server.url}/")
    signed_in.textbox("Filter projects").send_keys("nothing like it")
    signed_in.until("return document.querySelector('.empty h2')?.textContent.includes('nothing like it');")
    assert signed_in.complaints() == []


@pytest.mark.slow
def test_the_api_s_page_lets_who_is_signed_in_try_a_write(signed_in: Browser, server: LiveServer) -> None:
    signed_in.open(f"{server.url}/api/v1/docs")
    signed_in.until("return document.querySelectorAll('.opblock').length > 50;")
    signed_in.run("document.querySelector('#operations-Projects-create_project button').click();")
    signed_in.until("return document.querySelector('.try-out__btn');")
    signed_in.run("document.querySelector('.try-out__btn').click();")
    signed_in.until("return document.querySelector('button.execute');")
    signed_in.run("document.querySelector('button.execute').click();")
    told = "return document.querySelector('.live-responses-table tbody .response-col_status')?.innerText;"
    assert signed_in.until(told) == "201"
    signed_in.run("localStorage.setItem('stillhere.theme', 'dark');")
    signed_in.open(f"{server.url}/api/v1/docs")
    assert signed_in.run("return document.documentElement.className;") == "js dark-mode"
    signed_in.run("document.querySelector('nav a').click();")
    signed_in.until("return location.pathname === '/';")
    assert signed_in.complaints() == []


@pytest.mark.slow
def test_an_error_that_comes_with_the_page_can_be_closed(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    signed_in.open(f"{server.url}/sessions/{chat.id}/go/?to=soon")
    signed_in.click("Close")
    assert signed_in.run("return document.querySelectorAll('#toasts .toast').length;") == 0


def test_messages_do_not_pile_up(signed_in: Browser, server: LiveServer) -> None:
    signed_in.open(f"{server.url}/")
    signed_in.run("""
        const tell = (message, more) => document.body.dispatchEvent(new CustomEvent("toast", { detail: { message, ...more } }));
        tell("Deleted.", { undo: { action: "/" } });
        for (const words of ["a", "b", "c", "c", "d"]) tell(words);
        for (const words of ["no", "no", "nor", "never", "not"]) tell(words, { error: true });
        window.told = (id) => [...document.querySelectorAll(`#${id} .toast > span`)].map((said) => said.textContent);
    """)
    assert signed_in.run("return told('toasts-status');") == ["Deleted.", "b", "c", "d"]
    assert signed_in.run("return told('toasts-alert');") == ["no", "nor", "never", "not"]


def signed_in_again(browser: Browser, url: str, user: User) -> None:
    """Signed out and in, in another tab."""
    here = browser.driver.current_window_handle
    browser.new_tab(f"{url}/account/")
    sign_out(browser)
    sign_in(browser, user)
    browser.close_tab(then=here)


@pytest.mark.slow
def test_forms_are_sent_after_another_login(signed_in: Browser, server: LiveServer, chat: Chat, alice: User) -> None:
    signed_in.sign_in_as(with_password(alice), server.url)
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(LIVE)
    signed_in.run("document.getElementById('title').value = 'Written before';")
    signed_in_again(signed_in, server.url, alice)
    signed_in.run("document.querySelector('#rail-title button').click();")
    signed_in.until("return document.querySelector('h1').textContent === 'Written before';")
    # A form that loads another page, too.
    signed_in_again(signed_in, server.url, alice)
    signed_in.run("document.querySelector('#rail-acts [action$=\"/clear/\"] button').click();")
    signed_in.until("return document.getElementById('toasts-status').textContent.includes('Cleared');")


def test_a_form_waits_for_who_wrote_it(signed_in: Browser, server: LiveServer, alice: User, bob: User) -> None:
    signed_in.sign_in_as(with_password(alice), server.url)
    signed_in.open(f"{server.url}/")
    signed_in.run("""
        document.querySelector("details.menu").open = true;
        document.querySelector("[name=path]").value = "only for alice";
    """)
    told = "return document.getElementById('toasts-alert').textContent.includes(args[0]);"
    here = signed_in.driver.current_window_handle
    beside = signed_in.new_tab(f"{server.url}/account/")
    sign_out(signed_in)
    for words, user in (("You are signed out", bob), ("Somebody else is signed in now", None)):
        signed_in.go_to(here)
        signed_in.run("document.querySelector('details.menu [type=submit]').click();")
        signed_in.until(told, words)
        signed_in.go_to(beside)
        if user:
            sign_in(signed_in, with_password(user))
    assert not Project.objects.exists()


def test_a_page_from_a_former_login_sends_its_forms_with_the_present_token(
    signed_in: Browser, server: LiveServer, chat: Chat
) -> None:
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(LIVE)
    signed_in.until("return performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/rail/'));")
    signed_in.run("""
        for (const field of document.querySelectorAll("[name=csrfmiddlewaretoken]")) field.value = "x".repeat(64);
        document.getElementById("title").value = "Kept";
        document.querySelector("#rail-title button").click();
    """)
    signed_in.until("return document.querySelector('h1').textContent === 'Kept';")
    assert signed_in.run("return document.querySelectorAll('#toasts-alert .toast').length;") == 0


def test_a_double_click_sends_a_form_once(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    signed_in.open(f"{server.url}/projects/{Project.objects.get().id}/")
    signed_in.requests()
    # Not followed at once: the page is still here at the second click.
    signed_in.run("""
        const button = [...document.querySelectorAll("button")].find(({ textContent }) => textContent === "New session");
        button.click();
        button.click();
    """)
    signed_in.until("return location.pathname.startsWith('/sessions/');")
    assert [one["method"] for one in signed_in.requests() if one["url"].endswith("/")].count("POST") == 1
    # A form of htmx, too, which would queue the second one.
    signed_in.until(LIVE)
    signed_in.requests()
    signed_in.run("""
        document.getElementById("title").value = "One";
        for (const _ of [1, 2]) document.querySelector("#rail-title button").click();
    """)
    signed_in.until("return document.querySelector('h1').textContent === 'One';")
    assert len([one for one in signed_in.requests() if one["url"].endswith("/rename/")]) == 1
