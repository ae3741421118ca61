"""The pages of what a project remembers: shown, edited, restored; past the lease, and never over somebody's newer value."""

import json
import re
from html import unescape
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from memory_app.key_value.entries import list_pages
from memory_app.models import MemoryEntry
from sessions_app.core.rendering.blocks.json_tree import MOST_CHILDREN, MOST_VALUES, render_json
from tests.memory.conftest import Memory


class Pages:
    """Alice's browser on her project's pages."""

    def __init__(self, client: Client, memory: Memory) -> None:
        self.client, self.base = client, f"/projects/{memory.project}/"

    def get(self, rest: str, status: int = 200) -> str:
        reply = self.client.get(self.base + rest)
        assert reply.status_code == status
        return reply.content.decode()

    def post(self, rest: str, **fields: str) -> Any:
        return self.client.post(self.base + rest, fields)

    def edit(self, entry: str, value: str, *, match: str = "") -> Any:
        """As somebody who opened the editor just now, or whose editor has the ETag `match`."""
        found = re.search(r'name="match" value="([^"]+)"', self.get(f"memory/{entry}/edit/"))
        assert found is not None
        return self.post(f"memory/{entry}/edit/", match=match or found[1].replace("&quot;", '"'), value=value)

    def follow(self, rest: str, **fields: str) -> str:
        reply = self.client.post(self.base + rest, fields, follow=True)
        assert reply.status_code == 200
        return reply.content.decode()


@pytest.fixture
def pages(client: Client, alice: User, memory: Memory) -> Pages:
    client.force_login(alice)
    return Pages(client, memory)


def test_namespaces_are_shown_with_what_they_hold(pages: Pages, memory: Memory) -> None:
    assert "Nothing is remembered yet" in pages.get("memory/")
    memory.put("baselines/login", {"p95": 120})
    memory.put("baselines/cart", {"p95": 80})
    memory.put("notes/a", "x" * 2_000)
    shown = pages.get("memory/")
    assert re.findall(r'class="title"[^>]*>(\w+)</a>\s*<div class="facts">\s*<span[^>]*>(\d keys?)<', shown) == [
        ("baselines", "2 keys"),
        ("notes", "1 key"),
    ]
    assert "2.0 KB of 10 MB" in shown


def test_keys_are_found_by_how_they_begin_and_all_of_them_by_plain_links(pages: Pages, memory: Memory) -> None:
    MemoryEntry.objects.bulk_create(
        MemoryEntry(project_id=memory.project, namespace="many", key=f"k{number:03}", value="1", rev=1, size_bytes=1)
        for number in range(230)
    )
    keys = re.compile(r'class="title"[^>]*>(k\d+)</a>')
    assert keys.findall(pages.get("memory/many/?prefix=k22")) == [f"k{number}" for number in range(220, 230)]
    assert "No key begins with" in pages.get("memory/many/?prefix=x")
    seen, address = [], "memory/many/"
    while address:
        shown = pages.get(address)
        seen += keys.findall(shown)
        more = re.search(r'href="(\?cursor=[^"]+)"', shown)
        address = f"memory/many/{more[1]}" if more else ""
    assert seen == [f"k{number:03}" for number in range(230)]
    assert len(keys.findall(pages.get("memory/many/?rows=220"))) == 220


def test_a_value_is_shown_folded_escaped_and_with_its_marks(pages: Pages, memory: Memory) -> None:
    memory.put("notes/a", {"html": "<script>", "password": "hunter2", "list": [1, None, True], "deep": {"er": {}}})
    shown = pages.get("memory/notes/a/")
    assert "&lt;script&gt;" in shown
    assert "<script>" not in re.sub(r"<script (type|src|defer)[^>]*>", "", shown)
    assert '<span class="chip warn">[REDACTED:password]</span>' in shown
    assert 'list</span><span class="hint">3 items</span></summary>' in shown
    assert '<li class="json-word"><span class="json-key">1</span>null</li>' in shown


def test_large_values_are_cut_and_say_what_is_left_out() -> None:
    shown = render_json(json.dumps({"a": list(range(1_000)), "b": "é" * 30_000}))
    assert shown.count("<li") < MOST_CHILDREN + 10
    assert "800 more" in shown
    assert "10\u202f000 more characters" in shown
    many = render_json(json.dumps([[0] * 100] * 150))
    assert many.count("<li") <= MOST_VALUES + 2
    assert "50 more: see the raw JSON" in render_json(json.dumps([0] * (MOST_CHILDREN + 50)))


def test_a_new_entry_and_an_edited_one_are_saved_past_the_lease_which_is_named(pages: Pages, memory: Memory) -> None:
    memory.start("claude")
    assert "What you change here overrides it" in pages.get("memory/")
    done = pages.follow("memory-new/", namespace="notes", key="a", value='{"x": 12345678901234567890123}')
    assert "Saved as rev 1. It overrides run 1 (claude), which holds the writer&#x27;s lease." in done
    assert "12345678901234567890123" in pages.get("memory/notes/a/edit/")
    assert pages.edit("notes/a", '{"x": 2, "token": "abc"}').status_code == 302
    assert memory.get("notes/a").json()["value"] == {"x": 2, "token": "[REDACTED:token]"}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('{"x": 1,}', "line 1, column"),
        ('{"x": 1, "x": 2}', "the same key twice"),
        ("NaN", "NaN is no JSON number"),
        ("", "line 1, column 1"),
        ("[" * 70 + "]" * 70, "nested deeper"),
    ],
)
def test_what_is_no_json_stays_in_the_editor(pages: Pages, memory: Memory, value: str, said: str) -> None:
    memory.put("notes/a", {"x": 0})
    refused = pages.edit("notes/a", value)
    assert refused.status_code == 422
    shown = refused.content.decode()
    assert said in shown
    assert f">{value.replace(chr(34), '&quot;')}</textarea>" in shown
    assert memory.get("notes/a").json()["value"] == {"x": 0}


def test_what_the_store_refuses_stays_in_the_editor_too(pages: Pages, memory: Memory, settings: Any) -> None:
    refusals = {
        ("noise", "config", '{"rules": [{"id": "r"}]}'): 422,
        ("errors", "history", "{}"): 409,
        ("notes", "k" * 513, "1"): 422,
        ("notes", "big", json.dumps("x" * 1_000_001)): 413,
    }
    for (namespace, key, value), status in refusals.items():
        refused = pages.post("memory-new/", namespace=namespace, key=key, value=value)
        assert (key, refused.status_code) == (key, status)
        assert value[-20:].replace('"', "&quot;") in refused.content.decode()
    settings.PROJECT_BYTES = 3
    assert pages.post("memory-new/", namespace="notes", key="a", value="12345").status_code == 507
    assert memory.api.get(memory.address("memory")).json()["items"] == []


def test_a_newer_value_is_overwritten_only_by_who_saves_once_more(pages: Pages, memory: Memory) -> None:
    old = memory.put("notes/a", 1)["ETag"]
    new = memory.put("notes/a", 2)["ETag"]
    refused = pages.edit("notes/a", "3", match=old)
    assert refused.status_code == 412
    assert "It has changed since you opened it" in refused.content.decode()
    assert f'name="match" value="{escape(new)}"' in refused.content.decode()
    assert memory.get("notes/a").json()["value"] == 2
    assert pages.edit("notes/a", "3", match=new).status_code == 302
    taken = pages.post("memory-new/", namespace="notes", key="a", value="4")
    assert (taken.status_code, memory.get("notes/a").json()["value"]) == (412, 3)


def test_versions_are_looked_at_and_restored(pages: Pages, memory: Memory) -> None:
    for value in ("one", "two"):
        memory.put("notes/a", value)
    shown = pages.get("memory/notes/a/?rev=1")
    assert "“one”" in shown
    assert "Restore this value" in shown
    done = pages.follow("memory/notes/a/versions/1/restore/")
    assert "The value of rev 1 is restored." in done
    assert memory.get("notes/a").json()["value"] == "one"
    pages.get("memory/notes/a/?rev=99", status=404)
    pages.get("memory/notes/a/?rev=x", status=422)


def test_deleting_offers_undo_and_undo_brings_it_back(pages: Pages, memory: Memory) -> None:
    memory.put("notes/a", "kept")
    done = pages.follow("memory/notes/a/delete/")
    assert memory.get("notes/a").status_code == 404
    [undo] = re.findall(r'action="([^"]+memory-deleted[^"]+)"', done)
    assert undo in pages.get("memory/")
    assert pages.client.post(undo).status_code == 302
    assert memory.get("notes/a").json()["value"] == "kept"
    assert undo not in pages.get("memory/")


def test_settings_show_runs_and_free_or_hand_on_the_lease_with_undo(pages: Pages, memory: Memory) -> None:
    assert "No agent has started a run yet" in pages.get("settings/")
    first, second = memory.start("claude"), memory.start("reviewer")
    shown = pages.get("settings/")
    assert re.findall(r"<strong>(Run \d)</strong>\s*<span>(\w+)", shown) == [("Run 2", "reviewer"), ("Run 1", "claude")]
    done = pages.follow("lease/free/")
    assert "Run 1 (claude) is read-only now." in done
    assert memory.run(second["run_id"], "heartbeat").json()["holder"] is None
    [undo] = re.findall(r'class="toast">.*?action="([^"]+)"', done)
    pages.client.post(undo)
    assert memory.run(first["run_id"], "heartbeat").json()["mode"] == "writer"
    done = pages.follow(f"runs/{second['run_id']}/takeover/")
    assert "Run 2 (reviewer) is the writer now. Run 1 (claude) only reads." in done
    assert memory.run(first["run_id"], "heartbeat").json()["mode"] == "reader"
    memory.run(second["run_id"], "end")
    assert "Nobody holds the writer" in pages.follow("lease/free/")
    assert "ended</span>" in pages.get("settings/")
    assert pages.post(f"runs/{second['run_id']}/takeover/").status_code == 410


def test_the_undo_of_a_lease_s_change_takes_it_from_no_run_that_got_it_since(pages: Pages, memory: Memory) -> None:
    first, second = memory.start("claude"), memory.start("reviewer")
    undos = []
    for rest in ("lease/free/", f"runs/{first['run_id']}/takeover/", f"runs/{second['run_id']}/takeover/"):
        undos += re.findall(r'class="toast">.*?action="([^"]+)"', pages.follow(rest))
    memory.run(second["run_id"], "end")
    third = memory.start("writer")
    assert (len(undos), third["mode"]) == (2, "writer")
    for undo in undos:
        assert "Not undone: another run is the writer by now." in pages.client.post(undo, follow=True).content.decode()
    assert memory.run(third["run_id"], "heartbeat").json()["mode"] == "writer"
    memory.run(third["run_id"], "end")
    pages.client.post(undos[-1])
    assert memory.run(first["run_id"], "heartbeat").json()["mode"] == "writer"


def test_pages_take_the_same_statements_however_much_there_is(pages: Pages, memory: Memory) -> None:
    memory.put("notes/a", {"x": 1})
    addresses = ("memory/", "memory/notes/", "memory/notes/a/", "memory/notes/a/edit/", "settings/")

    def statements() -> list[int]:
        counted = []
        for address in addresses:
            with CaptureQueriesContext(connection) as seen:
                pages.get(address)
            counted.append(len(seen))
        return counted

    few = statements()
    for number in range(9):
        memory.put("notes/a", [number] * 100)
        memory.put(f"more{number}/a", 1)
        memory.delete(f"more{number}/a")
        memory.put(f"kept{number}/a", 1)
    for _ in range(9):
        memory.start()
    assert statements() == few
    assert max(few) <= 16


def test_what_is_made_from_records_is_shown_and_not_edited(pages: Pages, memory: Memory) -> None:
    assert pages.get("memory/performance/endpoints/", status=404)
    memory.api.post(memory.address("performance"), {"samples": [{"endpoint": "GET /cart", "duration_ms": 12}]})
    assert "endpoints" in pages.get("memory/performance/")
    shown = pages.get("memory/performance/endpoints/")
    assert "“GET /cart”" in shown
    assert "Edit</a>" not in shown
    pages.get("memory/performance/endpoints/edit/", status=404)


def test_keys_that_begin_or_end_with_a_space_are_on_one_page_each(
    pages: Pages, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_pages, "A_PAGE", 1)
    keys = [" a", " b", "a ", "a  ", "a", "b"]
    for key in keys:
        assert memory.put(f"notes/{quote(key)}", 1).status_code == 201
    shown, address = list[str](), "memory/notes/"
    while address:
        page = pages.get(address)
        shown += re.findall(r'class="title"[^>]*>([^<]*)</a>', page)
        following = re.search(r'href="\?([^"]*cursor=[^"]*)"', page)
        address = "" if following is None else f"memory/notes/?{unescape(following[1])}"
    assert shown == sorted(keys)


def test_a_key_that_expires_says_when_in_the_lists(pages: Pages, memory: Memory) -> None:
    settings = {"ttl_minutes": 125}
    assert memory.api.put(memory.address("memory-settings/cache"), settings).status_code == 201
    expires_at = memory.put("cache/one", 1).json()["expires_at"]
    memory.put("kept/two", 2)
    assert [row.get("expires_at") for name in ("cache", "kept") for row in memory.get(name).json()["items"]] == [expires_at, None]
    assert re.search(r">expires <time [^>]*>in 2 hours</time>", pages.get("memory/cache/"))
    assert "expires" not in pages.get("memory/kept/")
