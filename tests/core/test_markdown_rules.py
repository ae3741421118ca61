"""What Markdown becomes, by the rules themselves: in this process, and the same in the one that pages ask."""

import gc
import time
from collections.abc import Iterator
from html import escape

import pytest

from sessions_app.core.rendering.cpu_limits import OutOfTime, cpu_limit
from sessions_app.core.rendering.highlighting import LONGEST_CODE, highlighted
from sessions_app.core.rendering.markdown import to_html
from sessions_app.core.rendering.markdown_client import MarkdownProcess, UserText

pytestmark = pytest.mark.once
# Its first use loads a language, for which it has more time than a text.
CODE = "```python\nimport os\n```"
TEXTS = {
    "*so*": "<em>so</em>",
    "# One\n\n### Two\n\n## Three": "<h3>One</h3>\n<h4>Two</h4>\n<h4>Three</h4>",
    "| a |\n|---|\n| 1 |": "<td>1</td>",
    "~~no~~": "<s>no</s>",
    "<script>x</script>": "&lt;script&gt;",
    CODE: '<span class="kn">import</span>',
    "```nothing-known\nx\n```": "<code",
    "    indented": "indented\n",
    "![a cat](https://example.org/cat.png)": "Image: a cat</a>",
    "![a cat](cat.png)": "Image: a cat (<code>cat.png</code>)",
    "![](data:image/png;base64,AAAA)": "Image: image",
    "[here](https://example.org)": 'href="https://example.org"',
    "[here](docs/a.md)": "here (<code>docs/a.md</code>)",
    "[docs/a.md](docs/a.md)": "<p>docs/a.md</p>",
    "[x](javascript:alert(1))": "javascript",
    "see https://example.org/a, or mailto:ana@example.org": 'href="https://example.org/a"',
    f"https://example.org/{'a' * 3_000}": "<p>https://example.org/aaa",
    "- [x] done\n- [ ] not\n- other": 'checked=""',
    "- [y] no box": "[y] no box",
    "$x_1$ and $$y$$": '<span class="math"><math display="inline" alttext="x_1"><mrow><msub><mi>x</mi>',
    r"\(a\) and \[b_1\]": '<math display="block" alttext="b_1"',
    r"$\nothing$ and \(\frac\)": r'<span class="math">$\nothing$</span> and <span class="math">\(\frac\)</span>',
    r"$$x < \text{<b>}$$": "<mtext>&lt;b&gt;</mtext>",
    r"\(open": "(open",
    "$$\nx\n$$": '<div class="math" tabindex="0"><math display="block" alttext="x">',
    "\\[\n\\nothing\n\\]": '<pre class="math" tabindex="0">\\[\n\\nothing\n\\]</pre>',
    "\\begin{align}\nx &= 1\n\\end{align}": '<mtd class="right"><mi>x</mi></mtd>',
    "$$\nx\n\ny\n$$": "<p>",
    "$$ open": "<p>$$ open</p>",
    "$$x$$ behind": "behind",
    "Add $HOME/bin:$PATH, or ${A}/${B}": "<p>Add $HOME/bin:$PATH, or ${A}/${B}</p>",
    "$x$ and 5$ or $ 6$": "</span> and 5$ or $ 6$</p>",
    "($x$), $y$是": "</span>), <span",
    r"\[\lim_{n\to\infty} a\]": '<munder><mo movablelimits="true">lim</mo><mrow><mi>n</mi>',
    r"$\limsup_n a$": '<munder><mo movablelimits="true">lim\u2006sup</mo><mi>n</mi></munder>',
    r"$$\max_a^b x^2$$": '<munderover><mo movablelimits="true">max</mo><mi>a</mi><mi>b</mi></munderover><msup><mi>x</mi>',
    "> $$\n> x\n> $$": '<blockquote dir="auto">\n<div class="math"',
    "- a\n  1. b": '<ul dir="auto">\n<li>a\n<ol dir="auto">',
    f"| a |\n|--:|\n| {'x' * 33} |": f'<td class="right long">{"x" * 33}</td>',
    "| a |\n|---|": '<table tabindex="0" dir="auto">',
    "| a | b |\n|:-:|--:|\n| 1 | 2 |": '<td class="center">1</td>\n<td class="right">2</td>',
    "```c++ title\nint a;\n```": '<pre data-language="c++" tabindex="0"><code><span class="kt">int</span>',
    '```"onclick="x\na\n```': "<pre tabindex=",
    "~~~\n" + "a\n" * 25 + "~~~": '<pre data-lines="25" tabindex="0">',
    "~~~\n" + "a\n" * 24 + "~~~": '<pre tabindex="0">',
    "words[^1]\n\n[^1]: A note": '<section class="footnote">',
    "words[^none]": "words[^none]",
    f"[^{'a' * 200}]": "<p>[^aaa",
}
# As a user wrote it: nothing but fenced code, code in backticks and full addresses is more than text.
OF_USERS = {
    "one\n  two\n\n\n\tthree": '<p class="plain">one\n  two\n\n\n\tthree</p>',
    "\n\n  x\n\n": '<p class="plain">  x</p>',
    "--- a\n+++ b\n-  __old__\n+  **new**\n ```\n# 1": '<p class="plain">--- a\n+++ b\n-  __old__\n+  **new**\n ```\n# 1</p>',
    "a:\n```\nx\n```\n  b": 'a:</p>\n<pre tabindex="0"><code>x\n</code></pre>\n<p class="plain">  b</p>',
    "```\nopen\n\nx": "<code>open\n\nx</code>",
    "run `a  b` or `c\nd`": "run <code>a  b</code> or `c\nd`",
    "see https://example.org/__a__.": '<a href="https://example.org/__a__"',
    "<b>$x$</b>": "&lt;b&gt;$x$&lt;/b&gt;",
}


@pytest.mark.parametrize("text", OF_USERS)
def test_what_a_user_wrote_keeps_its_lines_and_blanks(text: str) -> None:
    assert OF_USERS[text] in to_html(text, of_user=True)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_becomes_what_the_rules_say(text: str) -> None:
    if text == CODE:
        highlighted([("", "python")])
    assert TEXTS[text] in to_html(text)


@pytest.fixture(autouse=True)
def _without_looking_for_garbage() -> Iterator[None]:
    """The renderer's own process has next to none. A look through all that the tests have made takes longer than a text may."""
    gc.disable()
    yield
    gc.enable()


def test_the_process_that_pages_ask_says_the_same() -> None:
    child = MarkdownProcess()
    child.render(CODE)
    try:
        assert {text: child.render(text).html for text in TEXTS} == {text: to_html(text) for text in TEXTS}
        written = {text: child.render(UserText(text)).html for text in OF_USERS}
        assert written == {text: to_html(text, of_user=True) for text in OF_USERS}
    finally:
        child.stop()


def spin(seconds: float) -> None:
    with cpu_limit(seconds):
        while True:
            pass


def test_what_is_over_its_cpu_time_is_interrupted() -> None:
    began = time.process_time()
    with pytest.raises(OutOfTime):
        spin(0.05)
    assert time.process_time() - began < 2
    with pytest.raises(OutOfTime):
        to_html("[" * 40_000)


@pytest.mark.parametrize("sign", ["[", "*", "\\", ">"])
def test_signs_mean_nothing_in_the_text_of_a_user_and_cost_nothing(sign: str) -> None:
    assert f'<p class="plain">{escape(sign * 5_000)}x</p>\n' == to_html(f"{sign * 5_000}x", of_user=True)


def test_a_long_block_and_one_that_takes_too_long_have_no_colours() -> None:
    highlighted([("", "python")])
    slow = ("\n" + " \n" * ((LONGEST_CODE - 2) // 2), "python")
    blocks = [("x" * (LONGEST_CODE + 1), "python"), ("import os", "python"), slow, ("x", "")]
    found = highlighted(blocks)
    assert ("import os", "python") in found
    assert not {blocks[0], slow, blocks[3]} & found.keys()
