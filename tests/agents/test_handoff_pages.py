"""The Handoff tab: what is live is edited in place, nobody overwrites another unseen, snapshots are compared and taken along."""

import itertools
import re
import time
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import example, given
from hypothesis import strategies as st

from sessions_app.agents.handoff.comparison import words_between
from sessions_app.models import HandoffSnapshot, Project


@pytest.fixture
def page(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


class Tab:
    """One project's Handoff tab, as alice's browser without scripts has it."""

    def __init__(self, page: Client, api: Any) -> None:
        self.page, self.api = page, api
        self.project = api.post("/projects", {"path": "/home/alice/shop"}).json()["id"]
        self.address = f"/projects/{self.project}/handoff/"

    def read(self, more: str = "") -> str:
        reply = self.page.get(self.address + more)
        assert reply.status_code == 200, reply.content
        return reply.content.decode()

    def send(self, act: str, **form: str) -> Any:
        return self.page.post(f"{self.address}{act}/", form)

    def send_by_script(self, act: str, **form: str) -> Any:
        return self.page.post(f"{self.address}{act}/", form, headers={"HX-Request": "true"})

    def live(self) -> Any:
        return self.api.get(f"/projects/{self.project}/handoff").json()

    def form_of(self, words: str) -> dict[str, str]:
        """The hidden fields of the form that edits the item that says this."""
        links = re.findall(r'<a[^>]*? href="([^"]+/item/[^"]+)"[^>]*>Edit<span[^>]*> ([^<]*)</span>', self.read())
        [address] = [unescape(address) for address, says in links if unescape(says) == words]
        return self.hidden(self.page.get(address).content.decode())

    def hidden(self, shown: str) -> dict[str, str]:
        [form] = re.findall(r'<form[^>]*handoff/edit/".*?</form>', shown, re.DOTALL)
        return dict(re.findall(r'name="(kind|item|mark)" value="([^"]*)"', form))

    def summary_mark(self) -> str:
        [form] = re.findall(r'<form[^>]*handoff/summary/".*?</form>', self.read(), re.DOTALL)
        [mark] = re.findall(r'name="mark" value="([^"]*)"', form)
        return str(mark)


@pytest.fixture
def tab(page: Client, api: Callable[..., Any], alice: User) -> Tab:
    return Tab(page, api(alice))


def test_items_are_added_edited_and_taken_out_by_plain_forms(tab: Tab) -> None:
    form = {"kind": "decisions", "text": "Use <PostgreSQL>", "rationale": "two writers", "rejected": "SQLite\r\n\r\na queue"}
    assert tab.send("add", **form).status_code == 302
    shown = tab.read()
    assert "Use &lt;PostgreSQL&gt;" in shown
    assert "Added the decision." in shown
    assert tab.live()["decisions"][0]["rejected"] == ["SQLite", "a queue"]
    hidden = tab.form_of("Use <PostgreSQL>")
    tab.send("edit", **hidden, text="Use PostgreSQL", rationale="", rejected="")
    item = tab.live()["decisions"][0]
    assert (item["id"], item["text"], set(item)) == (hidden["item"], "Use PostgreSQL", {"id", "text"})
    tab.send("delete", **tab.form_of("Use PostgreSQL"))
    assert tab.live()["decisions"] == []


def test_what_was_taken_out_comes_back_by_undo(tab: Tab) -> None:
    tab.send("add", kind="files", path="a/b & c.py", note="why")
    before = tab.live()["files"]
    tab.send("delete", **tab.form_of("a/b & c.py"))
    [undo] = re.findall(r'action="([^"]+/restore/[^"]+)"', tab.read())
    assert tab.page.post(unescape(undo)).status_code == 302
    assert tab.live()["files"] == before


@pytest.mark.parametrize("content", ["", "[]", "1", '{"id": "x"}', '{"id": "a/b", "text": "t"}', '{"text": ["t"]}'])
def test_an_undo_that_somebody_made_up_is_refused(tab: Tab, content: str) -> None:
    assert tab.send("restore", kind="risks", content=content).status_code == 422
    assert tab.live()["risks"] == []


def test_an_editor_who_saw_an_older_text_overwrites_nothing(tab: Tab) -> None:
    tab.send("add", kind="risks", text="old")
    seen = tab.form_of("old")
    tab.send("edit", **seen, text="hers")
    late = tab.send("edit", **seen, text="his <own>")
    assert late.status_code == 412
    shown = late.content.decode()
    assert "Somebody else changed this" in shown
    assert "<p>hers</p>" in shown
    assert ">his &lt;own&gt;</textarea>" in shown
    assert tab.live()["risks"][0]["text"] == "hers"
    [mark] = re.findall(
        rf'value="{seen["item"]}">\s*<input type="hidden" name="mark" value="(\w+)">\s*<div class="field">', shown
    )
    assert tab.send("edit", **{**seen, "mark": mark}, text="his <own>").status_code == 302
    assert tab.live()["risks"][0]["text"] == "his <own>"


def test_an_edit_of_one_item_does_not_meet_edits_of_others(tab: Tab) -> None:
    tab.send("add", kind="risks", text="one")
    seen, summary = tab.form_of("one"), tab.summary_mark()
    tab.send("add", kind="risks", text="two")
    assert tab.send("edit", **seen, text="ONE!").status_code == 302
    assert tab.send("summary", summary="where it stands", mark=summary).status_code == 302
    late = tab.send("summary", summary="another <one>", mark=summary)
    assert (late.status_code, ">another &lt;one&gt;</textarea>" in late.content.decode()) == (412, True)
    assert (tab.live()["summary"], [item["text"] for item in tab.live()["risks"]]) == ("where it stands", ["ONE!", "two"])


def test_what_somebody_took_out_is_not_edited_back(tab: Tab) -> None:
    tab.send("add", kind="risks", text="one")
    seen = tab.form_of("one")
    tab.send("delete", **seen)
    refused = tab.send_by_script("edit", **seen, text="ONE")
    assert (refused.status_code, "removed%20this" in refused["Stillhere-Message"]) == (409, True)
    assert tab.send("delete", **seen).status_code == 404
    assert tab.page.get(f"{tab.address}item/?kind=risks&item={seen['item']}").status_code == 404


def test_a_form_that_stays_on_the_page_gets_the_newer_text_and_its_toast(tab: Tab) -> None:
    tab.send("add", kind="risks", text="old")
    seen = tab.form_of("old")
    saved = tab.send_by_script("edit", **seen, text="hers")
    assert (saved.status_code, '"changed"' in saved["HX-Trigger"]) == (204, True)
    late = tab.send_by_script("edit", **seen, text="his")
    assert (late.status_code, "Somebody%20else%20changed" in late["Stillhere-Message"]) == (412, True)
    assert "<html" not in late.content.decode()
    assert "<p>hers</p>" in late.content.decode()


@pytest.mark.parametrize(
    ("act", "form", "status"),
    [
        ("add", {"kind": "risks", "text": "  "}, 422),
        ("add", {"kind": "risks", "text": "x" * 10_001}, 422),
        ("add", {"kind": "wishes", "text": "x"}, 404),
        ("summary", {"summary": "x" * 100_001}, 422),
        ("summary", {"summary": "without a mark"}, 412),
        ("burn", {}, 404),
    ],
)
def test_what_does_not_fit_is_refused_in_words(tab: Tab, act: str, form: dict[str, str], status: int) -> None:
    assert tab.send(act, **form).status_code == status
    assert tab.live()["rev"] == 0


def test_freeze_and_what_was_frozen(tab: Tab) -> None:
    tab.send("freeze")
    assert "The handoff is empty" in tab.read()
    tab.send("summary", summary="**Half** done", mark=tab.summary_mark())
    tab.send("add", kind="decisions", text="Ship <it>")
    tab.send("freeze")
    row = HandoffSnapshot.objects.get()
    assert "Frozen as snapshot 1" in tab.read()
    shown = tab.read("1/")
    assert row.sha256 in shown
    assert "<strong>Half</strong>" in shown
    assert "- Ship &lt;it&gt;" in shown
    assert "nothing changed" in shown
    tab.send("add", kind="decisions", text="Later")
    assert "1 added" in tab.read("1/")
    assert "1 added" in tab.read()
    assert "Later" not in re.sub(r"(?s)<nav.*?</nav>", "", tab.read("1/"))


def test_what_did_not_change_is_frozen_once(tab: Tab) -> None:
    tab.send("add", kind="decisions", text="Ship it")
    tab.send("freeze")
    tab.send("freeze")
    assert "The same as snapshot 1" in tab.read()
    assert HandoffSnapshot.objects.count() == 1
    assert tab.api.post(f"/projects/{tab.project}/handoff/freeze").status_code == 201
    assert HandoffSnapshot.objects.count() == 2


def test_any_two_are_compared_and_each_to_live(tab: Tab) -> None:
    tab.send("add", kind="decisions", text="Ship on Monday at noon")
    tab.send("add", kind="risks", text="Rain")
    tab.send("freeze")
    tab.send("edit", **tab.form_of("Ship on Monday at noon"), text="Ship on Friday at noon")
    tab.send("delete", **tab.form_of("Rain"))
    tab.send("freeze")
    tab.send("add", kind="files", path="a.py")
    shown = tab.read("compare/?from=1&to=2")
    assert "Ship on <del>Monday</del><ins>Friday</ins> at noon" in shown
    assert "<del>Rain</del>" in shown
    assert "<ins>a.py</ins>" not in shown
    assert "<ins>a.py</ins>" in tab.read("compare/?from=2&to=live")
    assert "<del>a.py</del>" in tab.read("compare/?from=live&to=2")
    assert "Both say the same" in tab.read("compare/?from=2&to=2")
    assert tab.page.get(f"{tab.address}compare/?from=9&to=live").status_code == 404
    assert tab.page.get(f"{tab.address}compare/?from=x&to=live").status_code == 422


def test_without_two_that_differ_there_is_nothing_to_compare(tab: Tab) -> None:
    assert "There is nothing to compare yet" in tab.read("compare/")
    tab.send("add", kind="risks", text="Rain")
    assert "There is nothing to compare yet" in tab.read("compare/")
    tab.send("freeze")
    assert "There is nothing to compare yet" in tab.read("compare/")
    assert tab.page.get(f"{tab.address}2/").status_code == 404


def test_right_after_a_freeze_it_is_compared_with_the_one_before(tab: Tab) -> None:
    for text in ("Rain", "Snow"):
        tab.send("add", kind="risks", text=text)
        tab.send("freeze")
    shown = tab.read("compare/")
    assert re.findall(r'<option value="(\w+)" selected>', shown) == ["1", "2"]
    assert ("<ins>Snow</ins>" in shown, "<ins>Rain</ins>" in shown) == (True, False)
    tab.send("add", kind="risks", text="Hail")
    assert re.findall(r'<option value="(\w+)" selected>', tab.read("compare/")) == ["2", "live"]


A_FEW_WORDS = st.lists(st.sampled_from(["a ", "b ", "c, ", "d", "\n"]), max_size=30).map("".join)


@given(old=A_FEW_WORDS, new=A_FEW_WORDS)
@example(old="x" * 20_000, new="y")
@example(old="a  b\n", new="a b")
def test_both_texts_can_be_read_out_of_their_difference(old: str, new: str) -> None:
    pieces = words_between(old, new)
    assert "".join(piece.words for piece in pieces if piece.kind != "new") == old
    assert "".join(piece.words for piece in pieces if piece.kind != "gone") == new
    assert all(one.kind != other.kind for one, other in itertools.pairwise(pieces))


def test_a_long_text_shows_the_word_that_changed() -> None:
    old = " ".join(f"word{number}" for number in range(12_000))
    pieces = words_between(old, old.replace("word7000 ", "another "))
    assert [piece.words for piece in pieces if piece.kind != "same"] == ["word7000", "another"]


@pytest.mark.parametrize("other", ["other", "word"])
def test_texts_that_have_little_in_common_are_shown_whole_and_at_once(other: str) -> None:
    """A rewritten summary is compared like any other change."""
    old, new = (
        " ".join(f"{name}{number % 900}" for number in order)
        for name, order in (("word", range(4_000)), (other, range(4_000, 0, -1)))
    )
    began = time.thread_time()
    assert [piece.kind for piece in words_between(old, new)] == ["gone", "new"]
    assert time.thread_time() - began < 2


def test_older_snapshots_are_reached_by_plain_links(tab: Tab) -> None:
    tab.send("add", kind="risks", text="x")
    for _ in range(25):
        tab.api.post(f"/projects/{tab.project}/handoff/freeze")
    [more] = set(re.findall(r'href="(\?before=\d+)"', tab.read()))
    numbers = [re.findall(r">Snapshot (\d+)<", tab.read(page)) for page in ("", more)]
    assert [int(number) for number in numbers[0] + numbers[1]] == list(range(25, 0, -1))
    assert tab.page.get(f"{tab.address}?before=x").status_code == 422


def test_the_tab_costs_the_same_however_much_is_in_it(tab: Tab) -> None:
    def statements() -> list[int]:
        counts = []
        for more in ("", "1/", "compare/?from=1&to=live"):
            with CaptureQueriesContext(connection) as seen:
                tab.read(more)
            counts.append(len(seen))
        return counts

    tab.send("add", kind="risks", text="x")
    tab.send("freeze")
    few = statements()
    for number in range(40):
        tab.api.post(f"/projects/{tab.project}/handoff/decisions", {"text": f"decision {number}"})
        tab.api.post(f"/projects/{tab.project}/handoff/freeze")
    assert statements() == few


def test_another_project_s_handoff_stays_as_it_is(tab: Tab) -> None:
    tab.send("add", kind="risks", text="mine alone")
    other = tab.api.post("/projects", {"path": "other"}).json()["id"]
    assert "mine alone" not in tab.page.get(f"/projects/{other}/handoff/").content.decode()
    tab.page.post(f"/projects/{other}/handoff/add/", {"kind": "risks", "text": "another"})
    assert [item["text"] for item in tab.live()["risks"]] == ["mine alone"]
    assert Project.objects.count() == 2
