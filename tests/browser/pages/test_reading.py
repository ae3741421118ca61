"""Reading in a real browser: by keys, at any width, with what was searched for in sight, and nothing fetched from elsewhere."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from sessions_app.models import Message
from tests.browser.accessibility import LIVE, assert_accessible
from tests.browser.driving import Browser
from tests.browser.keyboard import Keyboard
from tests.support.chat import Chat
from tests.support.live_server import LiveServer
from tests.support.saves import upsert

pytestmark = [pytest.mark.browser, pytest.mark.once]
READ = "return document.activeElement.closest('article')?.dataset.id;"
MARKS = "return [...document.querySelectorAll('mark')].map((mark) => mark.textContent).join('');"
IN_SIGHT = "const box = document.querySelector('mark').getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight;"
LINES = (
    "const range = document.createRange(); range.selectNodeContents(document.querySelector(args[0]));"
    "return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size;"
)
GAP = (
    "const [above, below] = args.map((one) => document.querySelector(one).getBoundingClientRect());"
    "return below.top - above.bottom;"
)

BEYOND = """
    const ends = (element) => element.getBoundingClientRect().right;
    const beyond = [...document.querySelectorAll(args[0])].filter((element) => ends(element) > innerWidth);
    return beyond.map((element) => element.className);
"""


@pytest.fixture
def chat(server: LiveServer, api: Callable[..., Any], alice: User) -> Chat:
    return Chat(api(alice))


@pytest.mark.slow
def test_a_transcript_is_read_by_keys_and_its_buttons_are_near(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    for number in range(12):
        chat.api.post("/projects", {"path": f"project {number}"})
        chat.say(f"m{number}", f"[a link](https://example.org) and text {number}\n\n" * 8)
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(LIVE)
    keys = Keyboard(signed_in)
    signed_in.run("scrollTo(0, 0);")
    for key, id_ in (("j", "m0"), ("j", "m1"), ("j", "m2"), ("k", "m1")):
        keys.press(key)
        assert signed_in.run(READ) == id_
    assert signed_in.run("return document.activeElement.matches(':focus-visible');")
    signed_in.run("document.activeElement.blur(); scrollTo(0, 0);")
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    keys.press(Keys.TAB)
    keys.choose("Skip to the session's details")
    steps = 0
    while keys.name() != "Rename":
        keys.press(Keys.TAB)
        steps += 1
        assert steps <= 10
    assert_accessible(signed_in)


def test_what_was_searched_for_is_marked_where_it_was_said(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    chat.say("m1", "line\n\n" * 60 + "the <b>nee**dle** in\nthe hay\n\n" + "line\n\n" * 60)
    chat.say("m2", "after it")
    signed_in.open(f"{server.url}/search/?q=in%20the%20HAY")
    assert signed_in.run("return document.querySelector('mark') === null;")
    for words, marked in (("DLE in", ""), ("dle", "dle"), ("line", "line" * 120)):
        signed_in.open(f"{server.url}/sessions/{chat.id}/?at=m1&q={words}#message-1")
        signed_in.until(LIVE)
        if marked:
            signed_in.until(MARKS)
            assert signed_in.run(MARKS) == marked
            signed_in.until(IN_SIGHT)
    signed_in.open(f"{server.url}/search/?q=DLE")
    signed_in.run("document.querySelector('#hits .title').click();")
    signed_in.until(f"return location.pathname.startsWith('/sessions/') && (() => {{ {MARKS} }})() === 'dle';")
    signed_in.until(IN_SIGHT)
    assert signed_in.complaints() == []


def test_times_are_told_in_the_reader_s_own_zone(
    signed_in: Browser, server: LiveServer, chat: Chat, emulated: Callable[..., None]
) -> None:
    chat.say("m1", "hello")
    emulated("setTimezoneOverride", timezoneId="Asia/Kolkata")
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(LIVE)
    chat.say("m2", "later")
    signed_in.until("return document.querySelectorAll('article time').length === 2;")
    for time in signed_in.driver.find_elements(By.CSS_SELECTOR, "article time"):
        ActionChains(signed_in.driver).move_to_element(time).perform()
        title, said = time.get_attribute("title") or "", time.get_attribute("datetime")
        assert re.fullmatch(r"\d+ \w+ \d{4}(, | at )\d\d:\d\d:\d\d (GMT\+5:30|IST)", title)
        minutes = signed_in.run("const at = new Date(args[0]); return at.getMinutes();", said)
        assert f":{minutes:02}:" in title


def test_nothing_is_torn_apart_on_a_phone_or_far_away_on_a_desk(
    signed_in: Browser, server: LiveServer, chat: Chat, emulated: Callable[..., None], alice: User
) -> None:
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    assert signed_in.run(GAP, "h1", "#nothing") < 100
    table = "| what | " + " | ".join("abcdef") + " |\n|" + "---|" * 7 + "\n| total | " + " | ".join(["1,234,567.89"] * 6) + " |"
    chat.say("m1", f"{table}\n\n![a picture](https://img.example/a.png) and $x\\,dx$", role="assistant")
    parts = [{"type": "file", "mediaType": "image/png", "url": "https://img.example/b.png"}]
    chat.ops({"op": "upsert", "id": "m2", "role": "assistant", "parts": parts})
    emulated("setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=1, mobile=True)
    signed_in.requests()
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(LIVE)
    assert signed_in.run(LINES, "#text-1 tbody td:nth-child(3)") == 1
    assert signed_in.run("return document.documentElement.scrollWidth;") <= 360
    assert {request["url"].split("/")[2] for request in signed_in.requests() if request["url"].startswith("http")} == {
        server.url.split("/")[2]
    }
    emulated("setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
    chat.api.patch(f"/sessions/{chat.id}", {"title": "A long title " * 15})
    alice.is_staff = alice.is_superuser = True
    alice.save()
    signed_in.open(f"{server.url}/admin/sessions_app/chatsession/")
    assert signed_in.run(LINES, "#result_list tbody th a") <= 6
    assert signed_in.complaints() == []


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.slow
def test_the_admin_breaks_a_word_that_is_longer_than_its_page(
    signed_in: Browser, server: LiveServer, chat: Chat, emulated: Callable[..., None], alice: User, width: int
) -> None:
    chat.api.patch(f"/sessions/{chat.id}", {"title": "T" * 190})
    chat.say("m1", "W" * 3000)
    alice.is_staff = alice.is_superuser = True
    alice.save()
    emulated("setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
    for row in (f"chatsession/{chat.id}", f"message/{Message.objects.get().pk}"):
        signed_in.open(f"{server.url}/admin/sessions_app/{row}/change/")
        assert signed_in.run(BEYOND, "#content *") == [], row
        assert signed_in.run("return document.documentElement.scrollWidth;") <= width


@pytest.mark.slow
def test_a_hit_in_another_version_is_read_there_and_switched_to(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    chat.ops(upsert("q1", "question"), upsert("a1", "zebra answer", role="assistant"))
    chat.ops(upsert("q2", "edited", parent_id=None), upsert("a2", "other answer", role="assistant"))
    signed_in.open(f"{server.url}/sessions/{chat.id}/?at=a1&q=zebra#message-2")
    signed_in.until(f"const marks = () => {{ {MARKS} }}; return marks() === 'zebra';")
    assert_accessible(signed_in)
    # Find looks through the current version: it says nothing false of this one.
    assert signed_in.run("return !document.getElementById('find-steps').checkVisibility();")
    signed_in.open(f"{server.url}/sessions/{chat.id}/?at=a1&q=other#message-2")
    signed_in.until("return document.getElementById('find-count').textContent === '1 found in the current version';")
    signed_in.click("Switch to this version")
    signed_in.until("return !location.search.includes('q=') && !document.getElementById('version');")
    signed_in.until(LIVE)
    assert chat.read()["session"]["head"] == "a1"


def test_days_and_hours_of_the_overview_are_squares_for_fingers(
    signed_in: Browser, server: LiveServer, chat: Chat, emulated: Callable[..., None]
) -> None:
    """24 px with what belongs to it; the newest days are in view, and the oldest ones can be scrolled to."""
    chat.say("m1", "today")
    pressed = """
        const square = document.querySelector(args[0]);
        square.scrollIntoView({ block: "center", inline: "nearest" });
        const { x, y, width, height } = square.getBoundingClientRect();
        const at = ([right, down]) => document.elementFromPoint(x + width / 2 + right * 11.5, y + height / 2 + down * 11.5);
        return [[-1, 0], [1, 0], [0, -1], [0, 1]].every((side) => square.closest("a").contains(at(side)));
    """
    for width in (360, 1024):
        emulated("setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=True)
        emulated("setTouchEmulationEnabled", enabled=True)
        signed_in.open(f"{server.url}/overview/")
        signed_in.until("return document.querySelector('.heat a') !== null;")
        calendar = "const calendar = document.querySelector('.newest-first').getBoundingClientRect();"
        assert signed_in.run(
            f"{calendar} return document.querySelector('.heat a').getBoundingClientRect().right <= calendar.right;"
        )
        for square in (".heat a rect", ".hours td a"):
            assert signed_in.run(pressed, square), (width, square)
        signed_in.run("document.querySelector('.newest-first').scrollTo({ left: -9999, behavior: 'instant' });")
        first = "document.querySelector('.heat rect').getBoundingClientRect().left"
        assert signed_in.run(f"{calendar} return {first} >= calendar.left;")
        assert signed_in.run("return document.documentElement.scrollWidth;") <= width
    emulated("setTouchEmulationEnabled", enabled=False)
    assert signed_in.complaints() == []


@pytest.mark.parametrize("width", [360, 800, 1024, 1280])
def test_the_totals_of_the_overview_fill_their_rows(
    signed_in: Browser, server: LiveServer, chat: Chat, emulated: Callable[..., None], width: int
) -> None:
    emulated("setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500)
    signed_in.open(f"{server.url}/overview/")
    rows = signed_in.run("""
        const rows = new Map();
        for (const figure of document.querySelectorAll(".totals dd")) {
          const top = Math.round(figure.getBoundingClientRect().top);
          rows.set(top, (rows.get(top) ?? 0) + 1);
        }
        return [...rows.values()];
    """)
    assert rows == {360: [2, 2, 2], 800: [3, 3], 1024: [3, 3], 1280: [6]}[width]


def test_a_page_says_that_it_is_signed_out_where_it_finds_and_copies_nothing(
    signed_in: Browser, server: LiveServer, chat: Chat
) -> None:
    chat.say("m1", "a text")
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(LIVE)
    signed_in.driver.execute_cdp_cmd("Network.deleteCookies", {"name": "sessionid", "url": server.url})
    Keyboard(signed_in).write("Find in this session", "text")
    signed_in.until("return document.getElementById('find-count').textContent === 'Not searched: you are signed out.';")
    signed_in.run("document.querySelector('#transcript article header button').click();")
    signed_in.until("return document.body.innerText.includes('or you are signed out.');")


PRINTED = """
    const shown = (element) => element.checkVisibility() && element.getBoundingClientRect().height > 0;
    const ink = getComputedStyle(document.querySelector('article .words')).color;
    const left = [...document.querySelectorAll('button, input, nav, header.sidebar, .rail')].filter(shown);
    const words = [...document.querySelectorAll('h1, article .words')].filter(shown).map((element) => element.textContent.trim());
    return { left: left.map((element) => element.outerHTML), words, ink };
"""


def test_on_paper_a_session_is_its_words_dark_on_white(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    chat.say("m1", "a question")
    chat.say("m2", "an answer", role="assistant")
    chat.api.patch(f"/sessions/{chat.id}", {"title": "A trip"})
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.run("document.documentElement.dataset.theme = 'dark';")
    signed_in.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    printed = signed_in.run(PRINTED)
    signed_in.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert printed == {"left": [], "words": ["A trip", "a question", "an answer"], "ink": "rgb(29, 27, 24)"}
