"""A message's parts on the session's page: each as what it is, from whichever format, and within the page's room."""

import base64
import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.models import Message
from sessions_app.pages.session.parts import contents, room
from sessions_app.pages.session.parts.room import Room
from sessions_app.pages.session.parts.tools import tool_of
from stillhere.claude_agent.entries import as_message
from tests.support.chat import Chat
from tests.support.files import PNG
from tests.support.hostile.markup import CORPUS, parts

pytestmark = pytest.mark.django_db
ELEMENTS = {
    *(
        "article",
        "header",
        "h2",
        "h3",
        "time",
        "a",
        "span",
        "button",
        "div",
        "p",
        "details",
        "summary",
        "code",
        "pre",
        "ul",
        "li",
    ),
    *("figure", "figcaption", "strong", "img", "table", "thead", "tbody", "tr", "th", "td", "math", "mrow", "mtext", "mi"),
}


@pytest.fixture
def shown(client: Client, alice: User, chat: Chat) -> Callable[..., str]:
    client.force_login(alice)

    def show(*given: dict[str, Any]) -> str:
        chat.ops({"op": "upsert", "id": "m1", "role": "assistant", "parts": list(given)})
        page = client.get(f"/sessions/{chat.id}/").content.decode()
        return page[page.index("<article") : page.rindex("</article>")]

    return show


def words(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def tool(given: Any, output: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "tool-run", "toolCallId": "t", "state": "output-available", "input": given, "output": output, **more}


def summary(html: str) -> str:
    return words(re.findall(r"<summary>(.*?)</summary>", html, re.DOTALL)[0])


def sections(html: str) -> list[tuple[str, str]]:
    """Class and text of each block."""
    found = re.findall(r'<pre class="([^"]*)"[^>]*>(.*?)</pre>', html, re.DOTALL)
    return [(kind, unescape(re.sub(r"<[^>]*>", "", text))) for kind, text in found]


PATCH = "*** Begin Patch\n*** Update File: shop/rates.py\n@@\n-a\n+b\n*** Add File: shop/new.py\n+c\n*** End Patch"
OPENCODE = {"status": "error", "input": {"command": "ls"}, "error": "no", "time": {"start": 1, "end": 9}}


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (tool({"timeout": 5, "command": "make check"}, durationMs=1234), "run make check 1.2 s"),
        (tool({"week": 47}, {"duration_ms": 8}), "run week: 47 8.0 ms"),
        (tool({"a": "b"}, '{"x": 1}'), "run b"),
        (tool({"command": "# all\n  rm *.py > `x`"}), "run # all rm *.py > `x`"),
        (tool({"input": PATCH}), "run shop/rates.py, shop/new.py"),
        (tool({"todos": [{"content": "a", "status": "completed"}, {"content": "b"}]}), "run 1 of 2 done"),
        (tool({"path": "x"}, {"isError": True}), "run x failed"),
        ({"type": "tool-run", "state": "input-streaming", "input": {}}, "run being called"),
        ({"type": "tool_call", "id": "1", "name": "find", "input": {"query": "y" * 300}}, f"find {'y' * 160}… no result yet"),
        ({"type": "tool_result", "id": "1", "name": "find", "output": "z"}, "find result"),
        ({"type": "toolCall", "id": "1", "name": "read", "arguments": {"path": "a.md"}}, "read a.md no result yet"),
        ({"type": "tool", "tool": "bash", "state": OPENCODE}, "bash ls failed 8.0 ms"),
    ],
)
def test_a_tool_s_line_says_what_it_did(shown: Callable[..., str], part: dict[str, Any], told: str) -> None:
    assert summary(shown(part)) == told


def test_a_result_in_a_later_message_gives_the_duration(client: Client, alice: User, chat: Chat) -> None:
    client.force_login(alice)
    call, result = (
        {"type": "tool_call", "id": "c", "name": "go", "input": {}},
        {"type": "tool_result", "id": "c", "output": "done"},
    )
    for number, part in enumerate((call, result)):
        chat.ops({"op": "upsert", "id": f"m{number}", "role": "assistant", "parts": [part]})
    later = Message.objects.get(message_id="m0").created_at + timedelta(seconds=2.5)
    Message.objects.filter(message_id="m1").update(created_at=later)
    page = client.get(f"/sessions/{chat.id}/").content.decode()
    assert summary(page[page.index("<article") :]) == "go 2.5 s"
    assert page.count("<article") == 1


def test_a_command_and_what_it_wrote_are_a_terminal(shown: Callable[..., str]) -> None:
    html = shown(tool({"command": "ls\nwho"}, "\x1b[31mred\x1b[0m\n"))
    assert sections(html) == [("terminal command", "ls\nwho"), ("terminal", "red")]
    assert '<span class="t-red">red</span>' in html
    html = shown(tool({"cmd": ["bash", "-lc", "ls"]}, {"stdout": "a\n", "stderr": "b\n", "code": 3}))
    assert sections(html) == [("terminal command", "ls"), ("terminal", "a\nb")]
    assert "code 3" in words(html)
    assert sections(shown(tool({"cmd": "ls"}, '{"output": "a", "metadata": {"exit_code": 0}}')))[1] == ("terminal", "a")


def test_edits_and_patches_are_diffs(shown: Callable[..., str]) -> None:
    one = {"old_string": "a\nb", "new_string": "a\nc"}
    html = shown(tool({"file_path": "x.py", **one}))
    assert sections(html)[0] == ("diff", " a\n-b\n+c\n")
    assert "+1 −1" in words(html)
    assert [kind for kind, _ in sections(shown(tool({"path": "x.py", "edits": [one, one]})))][:2] == ["diff", "diff"]
    patch = "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch"
    for given in (patch, {"input": patch}):
        assert sections(shown(tool(given)))[0] == ("diff", patch + "\n")
    assert ("diff", "@@ -1 +1 @@\n-a\n+b\n") in sections(shown(tool({}, "@@ -1 +1 @@\n-a\n+b\n")))


def test_json_is_a_tree_and_other_text_as_it_is(shown: Callable[..., str]) -> None:
    html = shown(tool({"shops": ["Oslo"], "by": {"day": True}}, '{"total": 7}'))
    assert html.count('<ul class="json">') == 2
    assert "“Oslo”" in html
    assert sections(shown(tool({}, "{not json"))) == [("text", "{not json")]
    html = shown(tool({"content": "a\nb"}, [{"type": "text", "text": "written"}]))
    assert sections(html) == [("text", "a\nb"), ("text", "written")]


def test_what_a_tool_pictures_is_shown_and_what_is_elsewhere_is_not(shown: Callable[..., str]) -> None:
    data = base64.b64encode(PNG).decode()
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": "the page"},
        {"type": "image", "data": data, "mimeType": "image/png"},
    ]
    blocks += [{"type": "image", "source": {"type": "url", "url": "https://img.example/x.png"}}]
    source = {"type": "base64", "media_type": "image/png", "data": data}
    html = shown(tool({}, {"content": blocks}), {"type": "image", "source": source})
    assert re.findall(r'<img src="([^"]*)"', html) == [f"data:image/png;base64,{data}"] * 2


def test_long_blocks_are_folded(shown: Callable[..., str]) -> None:
    long = {"type": "text", "text": "```\n" + "x\n" * 30 + "```"}
    html = shown(tool({"command": "seq 99"}, "\n".join(map(str, range(99)))), long)
    assert re.findall('data-lines="([0-9]+)"', html) == ["99", "30"]


def test_one_page_has_room_for_so_much(shown: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert "1,000 more characters" in shown(tool({}, "x" * 21_000))
    monkeypatch.setattr(room, "MOST_CHARACTERS", 3_000)
    monkeypatch.setattr(room, "MOST_VALUES", 3)
    html = shown(tool({}, "x" * 2_500), tool({}, "y" * 2_500), tool({"a": 1, "b": 2}, {"c": [1, 2]}), tool({"d": 4}))
    assert "1,500 more characters" in html
    assert html.count('<ul class="json">') < 3
    assert re.search(r'"d": 4', unescape(html))


def test_without_room_a_tool_is_only_its_line() -> None:
    assert tool_of({"type": "text", "text": "x"}) is None
    found = tool_of(tool({"path": "x"}))
    assert found is not None
    assert (found.name, found.argument, found.sections) == ("run", "x", [])
    full = tool_of(tool({"path": "x"}), Room())
    assert full is not None
    assert full.sections


@pytest.mark.parametrize("text", CORPUS)
def test_hostile_text_stays_text_in_every_part(shown: Callable[..., str], text: str) -> None:
    html = shown(*parts(text))
    outside = re.sub(r'"[^"]*"', '""', html)
    found = re.findall(r"<([a-zA-Z][a-zA-Z0-9-]*)([^>]*)>", outside)
    assert {name for name, _ in found} <= ELEMENTS
    attributes = {name for _, rest in found for name in re.findall(r"([\w-]+)\s*=", rest)}
    assert not {name for name in attributes if name.startswith("on") or name in {"style", "srcdoc", "formaction"}}
    addresses = re.findall(r'(?:href|src)="([^"]*)"', html)
    assert all(re.match(r"(https://|/|\?|data:image/png;|data:text/html,|data:image/svg|#)", unescape(one)) for one in addresses)
    shown_as_image = re.findall(r'<img src="([^"]*)"', html)
    assert all(one.startswith("data:image/png;base64,") for one in shown_as_image)


def test_an_image_that_only_the_framework_s_message_has_is_shown(
    client: Client, alice: User, chat: Chat, monkeypatch: Any
) -> None:
    client.force_login(alice)
    content = base64.b64encode(PNG).decode()
    source = {"type": "base64", "media_type": "image/png", "data": content}
    raw = {"role": "user", "content": [{"type": "text", "text": "See:"}, {"type": "image", "source": source}]}
    chat.ops(*({"op": "upsert", "id": f"m{n}", "role": "user", "format": "anthropic", "raw": raw} for n in range(2)))
    page = client.get(f"/sessions/{chat.id}/").content.decode()
    assert page.count(f'src="data:image/png;base64,{content}"') == 2
    monkeypatch.setattr(contents, "MOST_CHARACTERS", len(content) + 1)
    page = client.get(f"/sessions/{chat.id}/").content.decode()
    first, second = page.split("<article")[1:]
    assert (content in first, content in second) == (False, True), "the newest ones first"
    assert "Image" in first


def test_only_very_long_texts_are_folded_and_code_in_them_does_not_count(shown: Callable[..., str]) -> None:
    paragraph = "What was done, and why. " * 20 + "\n\n"
    texts = {"short": paragraph * 5, "long": paragraph * 40, "code": "```\n" + "print(1)\n" * 900 + "```", "lines": "a\n\n" * 90}
    found = {name: "data-long" in shown({"type": "text", "text": text}) for name, text in texts.items()}
    assert found == {"short": False, "long": True, "code": False, "lines": True}
    html = shown({"type": "text", "text": texts["long"]})
    assert f'data-long="{len(texts["long"]):,}"'.replace(",", "\u202f") in html
    assert words(html).count("What was done") == 800


def test_long_instructions_are_folded_to_their_beginning(client: Client, alice: User, chat: Chat) -> None:
    client.force_login(alice)
    texts = ("Be brief.", "You <b>help</b>\n\n- with **carts**\n" + "- and more\n" * 20)
    for number, (role, text) in enumerate((role, text) for role in ("system", "developer") for text in texts):
        raw = {"role": role, "content": text}
        chat.ops({"op": "upsert", "id": f"m{number}", "format": "openai.chat", "raw": raw})
    articles = client.get(f"/sessions/{chat.id}/").content.decode().split("<article")[1:]
    assert ["<details" in article for article in articles] == [False, True, False, True]
    for article in articles[1::2]:
        line = re.findall(r'<summary><span dir="auto">(.*?)</span></summary>', article, re.DOTALL)
        assert [each.startswith("You &lt;b&gt;help&lt;/b&gt; - with carts") for each in line] == [True]
        assert "<strong>carts</strong>" in article
        assert article.count("<li>and more") == 20


def test_what_a_program_notes_in_its_transcript_is_called_a_note(client: Client, alice: User, chat: Chat) -> None:
    client.force_login(alice)
    entries: list[dict[str, Any]] = [
        {"type": "queue-operation", "content": "look at the shop"},
        {"type": "user", "message": {"content": "Look at the shop"}},
        {"type": "summary", "summary": "looking at the shop"},
    ]
    chat.ops(*({"op": "upsert", **as_message(f"m{number}", entry)} for number, entry in enumerate(entries)))
    chat.ops(
        {"op": "upsert", "id": "m3", "role": "system", "format": "openai-chat", "raw": {"role": "system", "content": "Shop"}}
    )
    page = client.get(f"/sessions/{chat.id}/").content.decode()
    assert re.findall(r"<h2>(\w+)</h2>", page[page.index("<article") :]) == ["Note", "You", "Note", "Instructions"]
    found = client.get(f"/sessions/{chat.id}/find/?q=shop").content.decode()
    assert re.findall(r"#message-\d\">(\w+)", found) == ["Note", "You", "Note"]
    searched = client.get("/search/?q=looking+at").content.decode()
    assert re.findall(r"<span>(\w+)</span><time", searched) == ["note"]
    trace = client.get(f"/sessions/{chat.id}/trace/").content.decode()
    assert re.findall(r'<a class="step"[^>]*>(\w+)</a>', trace) == ["Note", "Note"]
