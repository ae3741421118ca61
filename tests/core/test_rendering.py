"""Rendering Markdown has an end, whatever the text: CPU time is limited a text and a page, and every account has its share."""

import os
import re
import threading
import time
from collections.abc import Iterator

import pytest
from django.conf import settings

from sessions_app.core.rendering import page_renderer
from sessions_app.core.rendering.highlighting import COLOURED, LANGUAGES, known_names
from sessions_app.core.rendering.markdown_client import MarkdownProcess
from sessions_app.core.rendering.page_renderer import PageRenderer, plain, render
from sessions_app.core.rendering.render_queue import Budget, RenderQueue
from tests.support.hostile.texts import blocks, formulas, prose
from tests.support.suite import is_patient, some_of

pytestmark = pytest.mark.once
TEXT_CPU_SECONDS = 0.15
GENEROUS = 1_000.0
MANY = 40 if is_patient() else 20


@pytest.fixture
def child() -> Iterator[MarkdownProcess]:
    process = MarkdownProcess()
    yield process
    process.stop()


def too_long(child: MarkdownProcess, texts: list[str]) -> dict[str, float]:
    """By its beginning, each text that took more than a text may."""
    return {text[:40]: cpu for text in texts if (cpu := child.render(text).cpu) > TEXT_CPU_SECONDS}


def costs(child: MarkdownProcess, count: int) -> dict[str, float]:
    child.render("$x$")  # Its first use loads the converter.
    found = too_long(child, prose(count))
    for language in some_of(sorted(LANGUAGES), 3):
        child.render(f"```{language}\nx\n```")  # Its first use loads it.
        found |= too_long(child, blocks(language, count))
    return found


@pytest.mark.timed
def test_no_text_takes_long(child: MarkdownProcess) -> None:
    assert costs(child, 3) == {}
    assert too_long(child, prose(MANY)) == {}
    assert too_long(child, formulas(MANY)) == {}


@pytest.mark.prove
def test_the_worst_of_200_texts_takes_not_long_in_any_language(child: MarkdownProcess) -> None:
    assert costs(child, 200) == {}


def test_a_text_that_takes_too_long_is_shown_as_it_is() -> None:
    assert render("[" * 40_000) == plain("[" * 40_000)


def test_a_block_that_takes_too_long_only_loses_its_colours() -> None:
    shown = render("**before**\n\n```python\nimport os\n```\n\n```python\n" + " \n" * 9_000 + "```\n\n*after*")
    assert "<strong>before</strong>" in shown
    assert "<em>after</em>" in shown
    assert '<span class="kn">import</span>' in shown
    assert shown.count("<pre") == 2


def test_languages_go_by_their_usual_names_and_others_have_no_colours() -> None:
    assert {"py", "js", "ts", "sh", "yml", "c++", "c#", "golang", "rs", "dockerfile", "md"} <= known_names()
    assert "<span" in render("```Python title=x\nimport os\n```")
    for name in ("scala", "http", "no-such-language", ""):
        assert "<span" not in render(f"```{name}\nimport os\n```")


def test_only_what_has_a_colour_is_an_element() -> None:
    """Punctuation and plain names would be half of all elements of a transcript's code."""
    shown = render("```python\ntotal = sum(row.price for row in rows)  # of all\n```")
    assert set(re.findall(r'<span class="(\w+)">', shown)) == {"nb", "k", "ow", "c1"}
    assert re.sub(r"<[^>]+>", "", shown).strip() == "total = sum(row.price for row in rows)  # of all"


def test_the_style_sheet_has_a_colour_for_each_of_these_classes() -> None:
    sheet = (settings.BASE_DIR / "static" / "css" / "parts.css").read_text(encoding="utf-8")
    _, highlighter = sheet.split("/* The highlighter's short names. */")
    named = [
        name for rule in re.findall(r"^ *\.words pre span(\S[^{]*)\{", highlighter, re.M) for name in re.findall(r"\.(\w+)", rule)
    ]
    assert sorted(named) == sorted(COLOURED)


def test_a_page_stops_rendering_when_its_time_is_used_up() -> None:
    texts = [f"{'[' * 30_000}{number}" for number in range(40)]
    page = PageRenderer(account=1)
    page.prepare(["**first**", *texts, "**last**"])
    assert page.render("**last**") == "<p><strong>last</strong></p>\n"
    assert page.render("**first**") == plain("**first**")
    assert all(page.render(text) == plain(text) for text in texts)
    assert PageRenderer(account=1).render("**first**") == "<p><strong>first</strong></p>\n"


def test_a_child_that_is_killed_is_replaced(child: MarkdownProcess) -> None:
    assert child.render("*a*").html == "<p><em>a</em></p>\n"
    assert child._child is not None
    child._child.kill()
    child._child.wait()
    answer = child.render("*b*")
    assert (answer.html, answer.final) == (None, False)
    assert child.render("*b*").html == "<p><em>b</em></p>\n"


def test_a_child_knows_nothing_of_the_server(child: MarkdownProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STILLHERE_SECRET_KEY", "not for a child")
    child.render("x")
    assert child._child is not None
    with open(f"/proc/{child._child.pid}/environ", "rb") as file:
        assert b"STILLHERE" not in file.read()
    with open(f"/proc/{child._child.pid}/status") as file:
        [resident] = [int(line.split()[1]) for line in file if line.startswith("VmRSS")]
    assert resident < 60_000
    assert os.getpriority(os.PRIO_PROCESS, child._child.pid) > os.getpriority(os.PRIO_PROCESS, 0)


def test_odd_texts_are_rendered_or_shown_as_they_are() -> None:
    assert render("") == ""
    for text in ("\ud800 *x*", "\x00", ">" * 40_000, "- " * 20_000, "x" * 60_000):
        assert render(text)
    assert render("<b>x</b>" + "y" * 50_000) == f'<div class="plain">&lt;b&gt;x&lt;/b&gt;{"y" * 50_000}</div>'


def test_an_account_that_used_much_comes_after_one_that_used_little() -> None:
    order: list[str] = []

    def done(text: str, html: str | None) -> object:
        order.append(text)
        return plain(text)

    queue = RenderQueue(pages=8, done=done)  # type: ignore[arg-type]
    many = [f"{'[' * 30_000}{number}" for number in range(8)]
    queue.render(many[:2], Budget(1, GENEROUS, time.monotonic() + GENEROUS))
    first = threading.Thread(target=queue.render, args=(many[2:], Budget(1, GENEROUS, time.monotonic() + GENEROUS)))
    first.start()
    while len(order) < 3:  # One of them is under way.
        time.sleep(0.001)
    queue.render(["mine", "mine too"], Budget(2, GENEROUS, time.monotonic() + GENEROUS))
    first.join()
    assert order.index("mine too") <= order.index(many[5])
    queue._process.stop()


def test_too_many_pages_at_once_are_shown_without_waiting() -> None:
    queue = RenderQueue(pages=4, done=lambda text, _: plain(text))
    begun = threading.Barrier(5)
    found: list[int] = []

    def page(number: int) -> None:
        begun.wait()
        texts = [f"{'[' * 30_000}{number}.{part}" for part in range(3)]
        found.append(len(queue.render(texts, Budget(1, GENEROUS, time.monotonic() + GENEROUS))))

    threads = [threading.Thread(target=page, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Three quarters of the places are one account's.
    assert sorted(found) == [0, 0, 3, 3, 3]
    assert len(queue.render(["x"], Budget(2, GENEROUS, time.monotonic() + GENEROUS))) == 1
    queue._process.stop()


def test_a_page_waits_no_longer_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_renderer, "PAGE_WAIT_SECONDS", 0.0)
    slow = f"**never seen before** {'[' * 30_000}"  # A short text may be there before anybody looks.
    assert PageRenderer(account=3).render(slow) == plain(slow)
