"""A session's page shows what a message says as it was written: nothing is altered, left out or turned into a dead link."""

import base64
import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.core.rendering.mathematics import TAGS
from sessions_app.core.rendering.page_renderer import render
from tests.support.chat import Chat

CSV = "a,b\n1,<2>\n"
CSV_URL = "data:text/csv;base64," + base64.b64encode(CSV.encode()).decode()
PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
MATHEMATICS = [
    r"$x\,dx$",
    r"$$a_1 * b_1 * c\,d$$",
    r"\( a_1 * b_1 * c \)",
    r"\[ x\, y \]",
    "$$\na\\,b\n= c\n- e\n$$",
    "\\[\na_1 *b*\n\\]",
    "\\begin{align}\na &= b \\\\\n\\end{align}",
]


def text_of(html: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", html))


def hrefs(html: str) -> list[str]:
    return re.findall(r'<a [^>]*href="([^"]*)"', html)


@pytest.mark.parametrize("written", MATHEMATICS)
@pytest.mark.parametrize("around", ["{}", "Before\n{}\nafter **it**", "- {}"])
def test_mathematics_is_shown_and_keeps_what_was_written(written: str, around: str) -> None:
    shown = render("- " + written.replace("\n", "\n  ") if around == "- {}" else around.format(written))
    own = re.sub(r"^(\$\$|\$|\\\[|\\\()|(\$\$|\$|\\\]|\\\))$", "", written).strip()
    assert [unescape(told) for told in re.findall('alttext="([^"]*)"', shown)] == [own]
    assert "math" not in text_of(shown)


# The converter joins two rows to one, and leaves out what follows a `%`.
NOT_AS_READ = [r"$$a=b \\ c=d$$", r"$$\begin{aligned}a&=b\\c&=d\end{aligned}$$", "$50% of x$"]


@pytest.mark.parametrize(
    "written", [r"\( \unknown{x} \)", r"\[ x_a_b \]", r"$$\frac{1}$$", "$x_{$", "$$\n" + "{" * 300 + "\n$$", *NOT_AS_READ]
)
def test_mathematics_that_is_not_understood_stays_as_it_was_written(written: str) -> None:
    shown = render(written)
    assert written in text_of(shown)
    assert "<math" not in shown


@pytest.mark.parametrize(
    "latex",
    [
        r"\text{<script>alert(1)</script>}",
        r"\text{<img src=x onerror=alert(1)>}",
        r"\href{javascript:alert(1)}{x}",
        r"\style{background:url(//evil.example)}{x}",
        r"\class{button}{x}",
        r"\color{red}{x}",
        r"\hspace{9000em}x",
        r'\text{"></math><script>alert(1)</script>}',
    ],
)
def test_mathematics_brings_neither_markup_nor_style(latex: str) -> None:
    shown = render(f"${latex}$")
    tags = re.findall(r"</?([a-z]+)([^>]*)>", re.sub(r'alttext="[^"]*"', "", shown))
    assert {name for name, _ in tags} <= {"p", "span", *TAGS}
    assert {attribute for _, rest in tags for attribute in re.findall(r"[\w-]+=\S*", rest)} <= {
        'class="math"',
        'display="inline"',
    }


@pytest.mark.parametrize("written", [r"see \[x\]", r"Array\[0\] = b\[1\]", r"\[1\] Smith", r"a\[ i \]", r"- \[ \] open"])
def test_escaped_brackets_are_no_mathematics(written: str) -> None:
    shown = render(written)
    assert "math" not in shown
    assert written.removeprefix("- ").replace("\\", "") in text_of(shown)


@pytest.mark.parametrize(
    "written", [r"so \[ x \] is", r"so \[x^2\]", r"50\% \(50\%\)", r"$\text{50% of }x$", r"$\begin{matrix}a\\b\end{matrix}$"]
)
def test_formulas_within_a_line_stay_formulas(written: str) -> None:
    assert render(written).count("<math") == 1


def test_money_is_no_mathematics() -> None:
    html = render("It costs $5, **not** $10 and $ 3 $.")
    assert "<strong>not</strong>" in html
    assert "math" not in html
    assert "<li>" in render("$$\n\n- a\n\n$$")


def test_footnotes_are_shown_and_lead_nowhere() -> None:
    html = render("See[^1], and[^none].\n\n[^1]: The *note*.\n\n[^unused]: Another.")
    assert hrefs(html) == []
    assert text_of(html).split() == ["See[1],", "and[^none].", "[1]", "The", "note.", "[unused]", "Another."]


@pytest.mark.parametrize("address", ["docs/a.md", "/etc/passwd", "#part", "?q=1", "//example.org/x", "ftp://example.org/x"])
def test_an_address_that_means_nothing_here_is_text(address: str) -> None:
    for html in (render(f"[the words]({address})"), render(f"![the words]({address})")):
        assert hrefs(html) == []
        assert "<a" not in html
        assert {"the words", address} <= set(re.findall(r"the words|[^ ()]*" + re.escape(address), text_of(html)))


def test_bare_addresses_are_links() -> None:
    html = render(
        "See https://example.org/a_(b)?c=1&d=2, or (http://localhost:8000/x). Not `https://code.example`, file.py or a.b."
    )
    assert [unescape(href) for href in hrefs(html)] == ["https://example.org/a_(b)?c=1&d=2", "http://localhost:8000/x"]
    assert text_of(html).startswith("See https://example.org/a_(b)?c=1&d=2, or")


def test_a_task_list_has_boxes_that_nobody_can_tick() -> None:
    html = render("- [ ] open **b**\n- [x] done\n- [y] neither\n- [x](https://example.org) link")
    boxes = re.findall(r"<input ([^>]*)>", html)
    assert len(boxes) == 2
    assert all('type="checkbox"' in box and "disabled" in box for box in boxes)
    assert ["checked" in box for box in boxes] == [False, True]
    assert text_of(html).split() == ["open", "b", "done", "[y]", "neither", "x", "link"]


@pytest.fixture
def shown(client: Client, alice: User, api: Callable[..., Any]) -> Callable[..., str]:
    client.force_login(alice)
    chat = Chat(api(alice))

    def show(*parts: dict[str, Any]) -> str:
        chat.ops({"op": "upsert", "id": "m1", "role": "assistant", "parts": list(parts)})
        page = client.get(f"/sessions/{chat.id}/").content.decode()
        return page[page.index('<div class="words"') : page.index("</article>")]

    return show


@pytest.mark.django_db
def test_files_and_sources_have_their_name_and_type(shown: Callable[..., str]) -> None:
    html = shown(
        {"type": "file", "mediaType": "text/csv", "filename": "sales.csv", "url": CSV_URL},
        {"type": "file", "mediaType": "image/png", "filename": "dot.png", "url": PIXEL},
        {"type": "file", "mediaType": "image/jpeg", "url": "https://img.example/a/cat.jpg?w=1"},
        {"type": "file", "mediaType": "text/html", "filename": "x<y.html", "url": "javascript:alert(1)"},
        {"type": "source-url", "sourceId": "s", "url": "https://news.example/", "title": "The news"},
        {"type": "source-document", "sourceId": "d", "mediaType": "application/pdf", "title": "A paper"},
    )
    words = " ".join(text_of(html).split())
    for told in (
        "sales.csv text/csv 10 B",
        "dot.png image/png",
        "cat.jpg image/jpeg",
        "Source The news",
        "A paper application/pdf",
    ):
        assert told in words, told
    assert "1,<2>" in words
    assert "x<y.html" in words
    assert "sourceId" not in words
    assert re.findall(r'<img src="([^"]*)"', html) == [PIXEL]
    assert set(hrefs(html)) == {CSV_URL, PIXEL, "https://img.example/a/cat.jpg?w=1", "https://news.example/"}


@pytest.mark.django_db
def test_a_tool_that_failed_says_so(shown: Callable[..., str]) -> None:
    html = shown(
        {"type": "tool-good", "state": "output-available", "input": {}, "output": "fine"},
        {"type": "tool-bad", "state": "output-error", "input": {}, "errorText": "No route to <host>"},
        {"type": "dynamic-tool", "toolName": "mcp", "state": "output-available", "input": {}, "output": {"isError": True}},
        {"type": "tool-no", "state": "output-denied", "input": {}},
    )
    folds = re.findall(r'<details class="part tool (\w*)">\s*<summary>\s*<code>(\w+)</code>(.*?)</summary>', html, re.DOTALL)
    assert [(colour, name, " ".join(text_of(rest).split())) for colour, name, rest in folds] == [
        ("good", "good", ""),
        ("bad", "bad", "failed"),
        ("bad", "mcp", "failed"),
        ("bad", "no", "denied"),
    ]
    assert "No route to &lt;host&gt;" in html


@pytest.mark.django_db
def test_reasoning_is_folded_and_data_has_its_name(shown: Callable[..., str]) -> None:
    html = shown({"type": "reasoning", "text": "Hm, **so**."}, {"type": "data-weather", "data": {"sky": "blue"}}, {"type": "odd"})
    folds = re.findall(r"<details[^>]*>\s*<summary>(.*?)</summary>", html, re.DOTALL)
    assert [" ".join(text_of(fold).split()) for fold in folds] == ["Reasoning 11 characters", "weather data", "odd data"]
    assert "<strong>so</strong>" in html
