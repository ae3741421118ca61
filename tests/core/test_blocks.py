"""Terminals, diffs and trees of messages: what they show, and that no text takes long or brings markup."""

import json
import re
import time
from collections.abc import Callable
from html import unescape
from itertools import islice

import pytest

from sessions_app.core.rendering.blocks.diffs import is_diff, render_diff, render_edit
from sessions_app.core.rendering.blocks.json_tree import DEEPEST, render_value
from sessions_app.core.rendering.blocks.terminal import has_colours, render_terminal
from tests.support.hostile.markup import CORPUS
from tests.support.hostile.texts import hostile
from tests.support.machine_speed import allowed

pytestmark = pytest.mark.once
CPU_SECONDS = 0.1


def words(html: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", html))


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m not", '<span class="t-red">red</span> not'),
        ("\x1b[1;92mboth\x1b[22m green\x1b[39m", '<span class="t-green t-bold">both</span><span class="t-green"> green</span>'),
        ("\x1b[38;5;4mblue\x1b[38;5;200mother", '<span class="t-blue">blue</span>other'),
        ("\x1b[48;2;1;2;3mbehind", "behind"),
        ("\x1b[2J\x1b[1;1Hcleared\x1b[?25l", "cleared"),
        ("\x1b]0;title\x07named", "named"),
        ("10 %\r57 %\r100 %\r\ndone", "100 %\ndone"),
        ("a\x08b\x00c", "abc"),
        ("\x1b[31", "[31"),
        ("<b>\x1b[31m<i>", '&lt;b&gt;<span class="t-red">&lt;i&gt;</span>'),
    ],
)
def test_a_terminal_shows_colours_and_the_last_state_of_a_line(text: str, html: str) -> None:
    assert render_terminal(text) == html


def test_colours_are_recognised() -> None:
    assert has_colours("\x1b[31mred")
    assert not has_colours("red [31m")


def test_a_diff_has_its_lines_by_kind() -> None:
    diff = render_diff("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ def f():\n same\n-old <\n+new >\n")
    assert re.findall(r'class="([^"]*)">([^<]*)\n</span>', diff.html) == [
        ("d-head", "--- a/x"),
        ("d-head", "+++ b/x"),
        ("d-hunk", "@@ -1,2 +1,2 @@ def f():"),
        ("", " same"),
        ("d-del", "-old &lt;"),
        ("d-add", "+new &gt;"),
    ]
    assert (diff.added, diff.removed) == (1, 1)


@pytest.mark.parametrize("text", ["- a list\n- of things", "a\n+ b", "@@ not a hunk", "--- \n+++ \n"])
def test_what_is_no_diff_is_not_taken_for_one(text: str) -> None:
    assert not is_diff(text)
    assert is_diff(f"{text}\n@@ -1 +1,9 @@\n+x")


def test_an_edit_shows_what_differs_with_the_lines_around_it() -> None:
    old = "\n".join(f"line {number}" for number in range(20))
    edit = render_edit(old, old.replace("line 10", "other\nand more"))
    kept = [f" line {number}" for number in (7, 8, 9)], [f" line {number}" for number in (11, 12, 13)]
    assert words(edit.html).splitlines() == [*kept[0], "-line 10", "+other", "+and more", *kept[1]]
    assert (edit.added, edit.removed) == (2, 1)
    assert words(render_edit("", "new").html) == "+new\n"
    assert words(render_edit("a\nb\n", "a\nc\n").html) == " a\n-b\n+c\n"
    assert words(render_edit("old", "").html) == "-old\n"
    assert words(render_edit("a\na", "a\na\na").html) == " a\n a\n+a\n"


def test_a_tree_counts_what_it_shows_and_ends_in_the_depth() -> None:
    html, shown = render_value({"a": [1, 2], "b": "<i>"}, most=100)
    assert (shown, words(html)) == (4, "a2 items0112b“<i>”")
    assert '<li class="json-text"><span class="json-key">b</span>“&lt;i&gt;”</li>' in html
    deep: object = "end"
    for _ in range(64):
        deep = [deep]
    html, _ = render_value(deep, most=100)
    assert html.count("<details") == DEEPEST - 1
    assert "nested too deeply" in html
    html, shown = render_value(list(range(1_000)), most=50)
    assert shown <= 50
    assert "more: the API" in html


def test_what_is_folded_and_long_is_one_text_in_a_tree() -> None:
    rows = [{"id": number, "kind": "<row>"} for number in range(40)]
    html, shown = render_value({"found": {"rows": rows}}, most=500)
    assert (html.count("<li>"), html.count("<pre>")) == (2, 1)
    assert json.loads(words(html).split("40 items", 1)[1]) == rows
    assert 2 < shown < 120
    few, _ = render_value({"found": {"rows": rows}}, most=20)
    assert "<pre>" not in few
    assert "more: the API" in few
    lines, _ = render_value({"found": {"rows": [*rows, "one\nline each\n" * 30]}}, most=500)
    assert "<pre>[" not in lines


@pytest.mark.parametrize("text", CORPUS)
def test_no_text_brings_markup(text: str) -> None:
    trees = [render_value(value, most=50)[0] for value in ({text: text}, [text], {"a": {text: [text * 20]}})]
    for html in (render_terminal(text), render_diff(text).html, render_edit(text, f"x{text}").html, *trees):
        tags = re.findall(r"<(/?\w+)([^>]*)>", html)
        assert {name.removeprefix("/") for name, _ in tags} <= {"span", "ul", "li", "details", "summary", "pre", "p"}
        assert all(re.fullmatch(r'( class="[\w -]*"| open)*', rest) for _, rest in tags), html


def slow(render: Callable[[str], object], texts: list[str]) -> dict[str, float]:
    found = {}
    for text in texts:
        began = time.process_time()
        render(text)
        if (took := time.process_time() - began) > CPU_SECONDS and took > allowed(CPU_SECONDS):
            found[repr(text[:40])] = took
    return found


@pytest.mark.timed
def test_no_text_takes_long() -> None:
    """Of the length that a page shows at most."""
    escapes = [
        "\x1b[31m",
        "\x1b[",
        "\x1b]",
        "\x1b",
        "\r",
        "\r\n",
        "\x1b[38;5;1m",
        "\x1b[;;;",
        "a\n",
        "+\n",
        "@@ -1 +1 @@\n",
        "@@ -",
    ]
    texts = [atom * (20_000 // len(atom)) for atom in escapes] + list(islice(hostile("blocks"), 200))
    for render in (render_terminal, has_colours, is_diff, render_diff):
        assert slow(render, texts) == {}, render
    assert slow(lambda text: render_edit(text, text[1:]), texts) == {}
    assert slow(lambda text: render_edit(text, f"x\n{text}"), texts) == {}
    values = ["[" * 30 + "1," * 900 + "1" + "]" * 30, json.dumps({str(number): {"a": "x" * 15} for number in range(700)})]
    assert slow(lambda text: render_value(json.loads(text), most=500), values) == {}
