"""A session as Markdown: readable, and no text spoils what follows it."""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from markdown_it import MarkdownIt

from sessions_app.portability.exports.contained_markdown import MOST_LINES, contained
from tests.support.chat import Chat

pytestmark = pytest.mark.django_db


def read(chat: Chat) -> str:
    answer = chat.get("export.md")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/markdown; charset=utf-8")
    return str(answer.getvalue().decode())


def headings(markdown: str) -> list[str]:
    tokens = MarkdownIt().parse(markdown)
    return [tokens[index + 1].content for index, token in enumerate(tokens) if token.type == "heading_open"]


def test_title_roles_and_texts_in_their_order(api: Callable[..., Any], alice: User, chat: Chat) -> None:
    chat.api.patch(f"/sessions/{chat.id}", {"title": "Why [the] *cart*\n# is empty"})
    for number in range(120):
        chat.say(f"m{number}", f"text {number}.", role=("user", "assistant")[number % 2])
    chat.ops({"op": "delete", "id": "m7"})
    markdown = read(chat)
    assert markdown.startswith("# Why \\[the\\] \\*cart\\* \\# is empty\n")
    assert "- 119 messages\n" in markdown
    shown = [line for line in markdown.splitlines() if line.startswith("text ")]
    assert shown == [f"text {number}." for number in range(120) if number != 7]
    assert [title.split(" ")[0] for title in headings(markdown)[1:3]] == ["User", "Assistant"]
    assert len(headings(markdown)) == 120


@pytest.mark.parametrize(
    "text",
    [
        "```py\nnever closed",
        "~~~\n```\nopen",
        "````\n```\n",
        "```js\nx\n```\nfine",
        "a ``` b",
        "``` not ` a fence",
        "> ```\nquoted",
    ],
)
def test_code_that_is_left_open_does_not_swallow_the_next_message(chat: Chat, text: str) -> None:
    chat.say("m1", text)
    chat.say("m2", "after it", role="assistant")
    markdown = read(chat)
    assert [title.split(" ")[0] for title in headings(markdown)[1:]] == ["User", "Assistant"]
    assert text.rstrip() in markdown


HIDING = [
    "<!-- open",
    "words\n<!-- open",
    "> <?open",
    "- a\n  <script>",
    "<div hidden>",
    "[a]:\n<script>",
    "- " * 30 + "x <",
    "<\n" * MOST_LINES,
]


@pytest.mark.parametrize("text", HIDING)
def test_html_that_is_left_open_does_not_hide_the_next_message(chat: Chat, text: str) -> None:
    chat.say("m1", text)
    chat.say("m2", "after it", role="assistant")
    markdown = read(chat)
    assert [title.split(" ")[0] for title in headings(markdown)[1:]] == ["User", "Assistant"]
    assert "html_block" not in [token.type for token in MarkdownIt("commonmark").parse(markdown)]


def test_each_part_is_a_block_in_its_place(chat: Chat) -> None:
    before, tool, after = "Run this:\n```py\nx=1\n```", {"type": "tool-run", "output": "it ran"}, "## Done"
    parts = [{"type": "text", "text": before}, tool, {"type": "text", "text": after}]
    chat.ops({"op": "upsert", "id": "m1", "role": "assistant", "parts": parts})
    markdown = read(chat)
    assert f"\n{before}\n\n**Call of run**" in markdown
    assert headings(markdown)[2:] == ["Done"]
    assert markdown.index("it ran") < markdown.index(after)


def test_no_words_of_a_message_are_left_out(chat: Chat) -> None:
    long = "a" * 105_000
    raw = {"role": "user", "content": [{"type": "text", "text": long}]}
    chat.ops({"op": "upsert", "id": "m1", "format": "openai.chat", "raw": raw})
    for number, part in enumerate([{"type": "input_text", "text": "hello"}, {"text": "hello"}, {"text": {"value": "hello"}}]):
        chat.ops({"op": "upsert", "id": f"p{number}", "role": "user", "parts": [part]})
    chat.ops({"op": "upsert", "id": "m2", "role": "user", "text": "short", "parts": [{"type": "text", "text": "other words"}]})
    markdown = read(chat)
    assert markdown.count(long) == 1
    assert markdown.count("hello") == 3
    assert markdown.endswith("short\n\nother words\n")
    assert chat.texts()[1:4] == ["hello"] * 3


def test_what_needs_no_closing_stays_as_it_is() -> None:
    nested = "1. foo\n   ```bash\n   cmd\n    ```\n\nend"
    inside = (
        "- foo\n  ```bash\n  cmd",
        "a\x0c```\u2028```",
        "`<b>` and <i>x</i>",
        "<https://example.com> 1 < 2",
        "```\n<!-- x\n```",
    )
    for text in ("", "plain", "```\nx\n```", "~~~ a\n~~~~", "    ```\nindented", nested, *inside):
        assert contained(text) == text


def test_tool_calls_and_what_is_no_text_are_shown_as_code(chat: Chat) -> None:
    part = {"type": "tool-run", "output": "```\n````\n# no heading"}
    chat.ops({"op": "upsert", "id": "m1", "role": "assistant", "parts": [{"type": "text", "text": "Look:"}, part]})
    chat.ops({"op": "upsert", "id": "m2", "role": "assistant", "text": "", "raw": {"k": [10**30]}, "status": "interrupted"})
    markdown = read(chat)
    fences = [token for token in MarkdownIt().parse(markdown) if token.type == "fence"]
    assert [fence.info for fence in fences] == ["json", "json"]
    assert "**Call of run**" in markdown
    assert "# no heading" in fences[0].content
    assert str(10**30) in fences[1].content
    assert ", interrupted\n" in markdown
    assert len(headings(markdown)) == 3


def test_the_command_writes_it_too(chat: Chat, tmp_path: Path) -> None:
    chat.say("m1", "hello")
    file = tmp_path / "chat.md"
    call_command("export", "--user", "alice", "--session", chat.id, "--markdown", "--to", str(file))
    assert file.read_text() == read(chat)
    with pytest.raises(CommandError, match="--session"):
        call_command("export", "--user", "alice", "--markdown")
    with pytest.raises(CommandError, match="no session with this id"):
        call_command("export", "--user", "alice", "--session", str(uuid.uuid4()))
