"""The pages of what went wrong: listed, filtered, resolved and reopened; and the noise rules beside them."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import unquote

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memory_app.models import ErrorReport, MemoryEntry
from sessions_app.core.public_names import now
from tests.memory.conftest import Memory

MESSAGES = re.compile(r'class="preview">([^<]+)<')
CHIPS = re.compile(r'class="chip[^"]*"[^>]*>([^<]+)<')


class ErrorPages:
    """Alice's browser on her project's errors."""

    def __init__(self, client: Client, memory: Memory) -> None:
        self.client, self.memory, self.base = client, memory, f"/projects/{memory.project}/"

    def happen(self, *messages: str, **more: Any) -> list[str]:
        errors = [{"message": message, "kind": "TypeError", **more} for message in messages]
        answer = self.memory.api.post(self.memory.address("errors"), {"errors": errors}).json()
        return list(answer["fingerprints"])

    def get(self, rest: str = "errors/", status: int = 200) -> str:
        reply = self.client.get(self.base + rest)
        assert reply.status_code == status
        return str(reply.content.decode())

    def messages(self, query: str = "") -> list[str]:
        return MESSAGES.findall(self.get(f"errors/{query}"))

    def post(self, rest: str, *, status: int = 200, **fields: str) -> str:
        reply = self.client.post(self.base + rest, fields, follow=True)
        assert reply.status_code == status
        return str(reply.content.decode())

    def undo(self, page: str) -> None:
        [action] = re.findall(r'class="toast">.*?action="([^"]+)"', page)
        assert self.client.post(action.replace("&amp;", "&")).status_code == 302


@pytest.fixture
def pages(client: Client, alice: User, memory: Memory) -> ErrorPages:
    client.force_login(alice)
    return ErrorPages(client, memory)


def test_only_an_error_with_a_stack_offers_it(pages: ErrorPages) -> None:
    frames: list[dict[str, Any]] = [{"file": "shop/cart.py", "function": "total", "line": 41}]
    for number, (stack, offered) in enumerate([(None, 0), ("", 0), ([], 0), (frames, 1), ("at total (cart.js:1)", 2)]):
        pages.happen(f"error {number}", stack=stack, file=f"{number}.py")
        assert pages.get().count("<summary>Stack</summary>") == offered


def test_errors_are_listed_the_newest_first_with_what_is_known_of_them(pages: ErrorPages) -> None:
    assert "Nothing went wrong yet" in pages.get()
    stack = [{"file": "shop/cart.py", "function": "total", "line": 41}]
    pages.happen("old <b>", at=(now() - timedelta(days=2)).isoformat())
    pages.happen("new", "new", "new", stack=stack)
    shown = pages.get()
    assert MESSAGES.findall(shown) == ["new", "old &lt;b&gt;"]
    assert "<strong>3</strong> times" in shown
    assert "total in shop/cart.py:41" in shown
    assert 'last 14 days: 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0"' in shown
    assert "Cannot" not in shown


def test_they_are_found_by_state_and_words_and_all_of_them_by_plain_links(pages: ErrorPages) -> None:
    first, *_ = pages.happen(*(f"kind {letter * times}" for times in (1, 2, 3, 4) for letter in "abcdefghijklmnopqrst"))
    pages.post(f"errors/{first}/resolve/")
    assert len(pages.messages("?rows=80")) == 80
    assert pages.messages("?state=resolved") == ["kind a"]
    assert len(pages.messages("?state=unresolved&rows=80")) == 79
    assert pages.messages("?q=KIND%20tttt") == ["kind tttt"]
    assert re.findall(r'href="(\?[^"]*)"', pages.get("errors/?q=%26%20tttt&state=muted"))[:4] == [
        "?q=%26%20tttt",
        *(f"?state={state}&amp;q=%26%20tttt" for state in ("unresolved", "resolved", "muted")),
    ]
    assert "No error matches" in pages.get("errors/?q=nothing")
    pages.get("errors/?state=odd", status=404)
    seen, query = [], ""
    while True:
        shown = pages.get(f"errors/{query}")
        seen += MESSAGES.findall(shown)
        more = re.search(r'href="(\?cursor=[^"]+)"', shown)
        if more is None:
            break
        query = more[1]
    assert (len(seen), len(set(seen))) == (80, 80)


def test_an_error_is_resolved_with_its_fix_comes_back_and_says_so(pages: ErrorPages) -> None:
    [fingerprint] = pages.happen("it broke")
    done = pages.post(f"errors/{fingerprint}/resolve/", known_fix=" Turn it off\0 and on. ")
    assert "Resolved. It is reopened when" in done
    shown = pages.get()
    assert "resolved" in CHIPS.findall(shown)
    assert "Turn it off\ufffd and on." in shown
    pages.undo(done)
    assert not {"resolved", "came back"} & set(CHIPS.findall(pages.get()))
    pages.post(f"errors/{fingerprint}/resolve/")
    assert pages.memory.api.post(pages.memory.address(f"errors/{fingerprint}/reopen")).json()["state"] == "unresolved"
    pages.post(f"errors/{fingerprint}/resolve/")
    assert ErrorReport.objects.get().known_fix == "Turn it off\ufffd and on."
    pages.happen("it broke")
    assert "came back" in CHIPS.findall(pages.get())
    answer = pages.memory.api.get(pages.memory.address(f"errors/{fingerprint}")).json()
    assert (answer["state"], answer["resolved_at"]) == ("unresolved", None)
    assert answer["reopened_at"] > answer["first_seen"]


def test_what_is_done_on_an_error_s_own_page_and_its_undo_stay_there(pages: ErrorPages) -> None:
    [fingerprint] = pages.happen("it broke")
    own = f"{pages.base}errors/{fingerprint}/"
    for came, then in ((own, own), (f"{own}resolve/", f"{pages.base}errors/"), ("http://[", f"{pages.base}errors/")):
        referer = came if ":" in came else f"http://testserver{came}"
        for name in ("resolve", "reopen", "mute", "unmute"):
            reply = pages.client.post(f"{own}{name}/", {"until": "", "times": "9"}, headers={"Referer": referer})
            assert (reply.status_code, reply.headers["Location"]) == (302, then)
    filtered = pages.client.post(f"{own}resolve/", headers={"Referer": f"http://testserver{pages.base}errors/?state=unresolved"})
    assert filtered.headers["Location"] == f"{pages.base}errors/?state=unresolved"


def test_a_fix_is_emptied_and_that_of_somebody_else_is_not_replaced_unseen(pages: ErrorPages) -> None:
    [fingerprint] = pages.happen("it broke")
    address = f"errors/{fingerprint}/resolve/"
    pages.post(address, known_fix="Turn it\r\noff.", seen="")
    assert '<input type="hidden" name="seen" value="Turn it\noff.">' in pages.get(f"errors/{fingerprint}/")
    refused = pages.post(address, known_fix="Wait.", seen="", status=412)
    assert "Somebody else wrote another fix" in refused
    assert ">Wait.</textarea>" in refused
    assert '<input type="hidden" name="seen" value="Turn it\noff.">' in refused
    # Who changes nothing replaces nothing.
    pages.post(address, known_fix="", seen="")
    assert ErrorReport.objects.get().known_fix == "Turn it\noff."
    pages.post(address, known_fix="Wait.", seen="Turn it\r\noff.")
    assert ErrorReport.objects.get().known_fix == "Wait."
    pages.post(address, known_fix="", seen="Wait.")
    assert ErrorReport.objects.get().known_fix == ""


def test_the_undo_of_a_fix_for_a_resolved_error_does_not_reopen_it(pages: ErrorPages) -> None:
    [fingerprint] = pages.happen("it broke")
    address = f"errors/{fingerprint}/resolve/"
    first = pages.post(address, known_fix="Wait.", seen="")
    later = pages.post(address, known_fix="Turn it off.", seen="Wait.")
    assert "Saved. It was resolved already." in later
    assert "Undo" not in later.partition('class="toast"')[2].partition("</form>")[0]
    assert ErrorReport.objects.get().resolved_at is not None
    # It came back and was resolved again: what the first click did is past.
    pages.happen("it broke")
    pages.post(address, known_fix="Turn it off.", seen="Turn it off.")
    pages.undo(first)
    assert ErrorReport.objects.get().resolved_at is not None


def test_the_undo_of_a_second_mute_brings_the_first_one_back(pages: ErrorPages) -> None:
    [fingerprint] = pages.happen("it broke")
    later, sooner = ((now() + timedelta(days=days)).date().isoformat() for days in (9, 3))
    pages.post(f"errors/{fingerprint}/mute/", until=later)
    # From a page that was loaded before it was muted.
    pages.undo(pages.post(f"errors/{fingerprint}/mute/", until=sooner))
    until = ErrorReport.objects.get().muted_until
    assert until is not None
    assert until.date().isoformat() == later


def test_resolving_in_the_list_asks_for_the_fix(pages: ErrorPages) -> None:
    [fingerprint] = pages.happen("it broke")
    row = pages.get().partition(f'id="error-{fingerprint}"')[2].partition("</li>")[0]
    assert re.search(r"<form [^>]*/resolve/.*<textarea [^>]*name=\"known_fix\".*type=\"submit\">Resolve<", row, re.DOTALL)


def test_an_error_without_a_kind_is_called_by_its_message(pages: ErrorPages) -> None:
    [short, long, none] = pages.happen("it broke", "a" * 300 + "\nand more", "", kind="")
    shown = pages.get()
    titles = re.findall(r'<a class="title"[^>]*>([^<]*)</a>', shown)
    assert set(titles) == {"it broke", "a" * 120, "Error without a message"}
    assert [preview[:3] for preview in MESSAGES.findall(shown)] == ["aaa"]
    for fingerprint, title in ((short, "it broke"), (long, "a" * 120), (none, "Error without a message")):
        assert f"<h2>{title}</h2>" in pages.get(f"errors/{fingerprint}/")


def test_an_error_s_own_page_shows_its_stack_as_it_came(pages: ErrorPages) -> None:
    [fingerprint] = pages.happen("m", stack="Error: m\n    at <anonymous> (a.js:1:2)")
    shown = pages.get(f"errors/{fingerprint}/")
    assert "at &lt;anonymous&gt; (a.js:1:2)</pre>" in shown
    pages.get("errors/none/", status=404)


@pytest.mark.django_db(transaction=True)  # What is filtered is counted once it is committed.
def test_noise_rules_are_added_switched_deleted_and_brought_back(pages: ErrorPages) -> None:
    pages.memory.start("claude")
    done = pages.post("noise/", pattern="ResizeObserver", kind="substring")
    assert "The rule is active" in done
    assert "It overrides run 1 (claude)" in done
    rule = pages.memory.get("noise/config").json()["value"]["rules"][0]
    assert (rule["pattern"], rule["kind"], rule["source"], rule["enabled"]) == ("ResizeObserver", "substring", "manual", True)
    pages.client.post(f"{pages.base}lease/free/")
    assert pages.happen("ResizeObserver loop", "ResizeObserver loop") == [None, None]
    assert "2 kept out" in pages.get()
    pages.post("noise/switch/", id=rule["id"], enabled="")
    assert pages.happen("ResizeObserver loop") != [None]
    pages.post("noise/switch/", id=rule["id"], enabled="1")
    assert pages.happen("ResizeObserver loop") == [None]
    done = pages.post("noise/delete/", id=rule["id"])
    assert pages.memory.get("noise/config").json()["value"]["rules"] == []
    pages.undo(done)
    assert pages.memory.get("noise/config").json()["value"]["rules"] == [rule]
    assert "3 kept out" in pages.get()


@pytest.mark.parametrize(
    ("pattern", "kind"), [("", "substring"), ("(", "regex"), ("(?=x)", "regex"), ("x", "glob"), ("x" * 1_001, "regex")]
)
def test_a_pattern_that_cannot_be_one_is_refused_in_words(pages: ErrorPages, pattern: str, kind: str) -> None:
    refused = pages.client.post(f"{pages.base}noise/", {"pattern": pattern, "kind": kind}, headers={"HX-Request": "true"})
    assert refused.status_code == 422
    assert unquote(refused["Stillhere-Message"]).startswith("This cannot be a rule: ")
    assert pages.memory.get("noise/config").status_code == 404


def test_a_second_rule_of_the_same_pattern_is_refused(pages: ErrorPages) -> None:
    def add(kind: str) -> Any:
        form = {"pattern": "loop", "kind": kind}
        return pages.client.post(f"{pages.base}noise/", form, headers={"HX-Request": "true"})

    for kind in ("substring", "regex"):
        assert add(kind).status_code == 204
    again = add("regex")
    assert again.status_code == 409
    assert unquote(again["Stillhere-Message"]) == "There is a rule with this pattern already."
    first = pages.memory.get("noise/config").json()["value"]["rules"][0]
    pages.post("noise/switch/", id=first["id"], enabled="")
    assert unquote(add("substring")["Stillhere-Message"]).endswith("It is disabled: enable it.")
    assert len(pages.memory.get("noise/config").json()["value"]["rules"]) == 2


def test_projects_show_how_many_errors_are_open(pages: ErrorPages) -> None:
    assert "open error" not in pages.client.get("/").content.decode()
    first, _ = pages.happen("one thing", "another thing")
    assert ">2 open errors</a>" in pages.client.get("/").content.decode()
    pages.post(f"errors/{first}/resolve/")
    assert ">1 open error</a>" in pages.client.get("/").content.decode()


def test_a_rule_that_is_gone_is_not_found(pages: ErrorPages) -> None:
    for act in ("switch", "delete"):
        assert pages.client.post(f"{pages.base}noise/{act}/", {"id": "gone"}).status_code == 404


def test_damaged_rows_take_no_page_down_and_can_be_mended(pages: ErrorPages) -> None:
    [fingerprint] = pages.happen("it broke")
    ErrorReport.objects.update(days="{", stack="[1")
    assert pages.messages() == ["it broke"]
    assert "[1</pre>" in pages.get(f"errors/{fingerprint}/")
    pages.happen("it broke")
    assert ErrorReport.objects.get().count == 2
    pages.post("noise/", pattern="x", kind="substring")
    MemoryEntry.objects.update(value='{"rules": [{"id"')
    assert "kept out by" not in pages.get()
    refused = pages.client.post(f"{pages.base}noise/", {"pattern": "y", "kind": "substring"})
    assert (refused.status_code, "cannot be read" in refused.content.decode()) == (409, True)
    assert "is damaged: it is not JSON" in pages.get("memory/noise/config/")
    editor = pages.get("memory/noise/config/edit/")
    assert "{&quot;rules&quot;: [{&quot;id&quot;</textarea>" in editor
    [match] = re.findall(r'name="match" value="([^"]+)"', editor)
    pages.post("memory/noise/config/edit/", match=match.replace("&quot;", '"'), value='{"rules": []}')
    pages.post("noise/", pattern="y", kind="substring")
    assert pages.memory.get("noise/config").json()["value"]["rules"][0]["pattern"] == "y"


def test_the_pages_take_the_same_statements_however_much_there_is(pages: ErrorPages) -> None:
    def statements() -> list[int]:
        counted = []
        for address in ("errors/", f"errors/{first}/"):
            with CaptureQueriesContext(connection) as seen:
                pages.get(address)
            counted.append(len(seen))
        return counted

    [first] = pages.happen("first")
    few = statements()
    pages.happen(*(f"more {letter * 3}" for letter in "abcdefghijklmnopqrst"))
    for number in range(5):
        pages.post("noise/", pattern=f"pattern {number}", kind="regex")
    assert statements() == few
