"""A session as Markdown: readable, and no text spoils what follows it."""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from markdown_it import MarkdownIt

from sessions_app.portability.exports.session_markdown import closed
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


def test_what_needs_no_closing_stays_as_it_is() -> None:
    for text in ("", "plain", "```\nx\n```", "~~~ a\n~~~~", "    ```\nindented"):
        assert closed(text) == text


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
