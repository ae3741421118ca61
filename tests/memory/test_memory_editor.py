"""The editor of a project's memory: where it saves, whatever the names are, and that it loses no text."""

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from memory_app.models import MemoryEntry
from tests.memory.batches.conftest import done
from tests.memory.batches.test_batches import put
from tests.memory.conftest import Memory
from tests.memory.test_memory_pages import Pages

DELETED = "This entry was deleted while you were writing. Save to create it again."


@pytest.fixture
def pages(client: Client, alice: User, memory: Memory) -> Pages:
    client.force_login(alice)
    return Pages(client, memory)


def link(shown: str, words: str) -> str:
    """Where a link leads."""
    [address] = re.findall(rf'href="([^"]+)"[^>]*>{words}</a>', shown)
    return unescape(address)


@pytest.mark.parametrize(
    "labels",
    [["a/b"], ["a", "b"], ["a / b"], [" a"], ["a~1b"], ["~"], ["."], ["..", "x/"], ["50%", "#1?", "é &"], ["a%2Fb"], ["a~~b"]],
)
def test_a_new_entry_goes_where_the_page_is(pages: Pages, memory: Memory, labels: list[str]) -> None:
    done(memory, put("first#?%", 1, labels))
    [entry] = MemoryEntry.objects.all()
    [row] = re.findall(r'class="title" id="open-[^"]*" href="([^"]+)"', pages.get("memory/"))
    shown = pages.client.get(unescape(row)).content.decode()
    assert re.findall(r'hx-get="([^"]+)"', shown)[0] == row
    new = link(shown, "New entry")
    assert pages.client.get(new).status_code == 200
    refused = pages.client.post(new, {"key": "second", "value": "{"})
    assert (refused.status_code, ">{</textarea>" in refused.content.decode()) == (422, True)
    assert pages.client.post(new, {"key": "second", "value": "2"}).status_code == 302
    assert set(MemoryEntry.objects.values_list("namespace", "key")) == {
        (entry.namespace, "first#?%"),
        (entry.namespace, "second"),
    }


def test_links_of_an_entry_lead_to_it_whatever_its_name_is(pages: Pages, memory: Memory) -> None:
    for value in (1, 2):
        done(memory, put("a#b?c%d", value, ["50%", "#?"]))
    [namespace] = re.findall(r'class="title" id="open-[^"]*" href="([^"]+)"', pages.get("memory/"))
    [address] = re.findall(r'class="title" id="open-[^"]*" href="([^"]+)"', pages.client.get(namespace).content.decode())
    former = pages.client.get(f"{address}?rev=1").content.decode()
    assert link(former, "Show the present one") == address
    assert f'href="{address}"\n' in former
    assert link(pages.client.get(f"{namespace}?prefix=x").content.decode(), "Show all") == namespace


def test_what_was_typed_survives_that_its_entry_is_deleted(pages: Pages, memory: Memory) -> None:
    memory.put("notes/a", 1)
    [match] = re.findall(r'name="match" value="([^"]+)"', pages.get("memory/notes/a/edit/"))
    memory.delete("notes/a")
    told = pages.post("memory/notes/a/edit/", match=unescape(match), value='{"typed": 2}')
    shown = told.content.decode()
    assert (told.status_code, DELETED in shown, "{&quot;typed&quot;: 2}</textarea>" in shown) == (412, True, True)
    assert 'name="match" value=""' in shown
    assert memory.get("notes/a").status_code == 404
    refused = pages.post("memory/notes/a/edit/", match="", value="{")
    assert (refused.status_code, ">{</textarea>" in refused.content.decode()) == (422, True)
    assert pages.post("memory/notes/a/edit/", match="", value='{"typed": 2}').status_code == 302
    assert memory.get("notes/a").json()["value"] == {"typed": 2}


def test_who_creates_it_again_overwrites_nobody(pages: Pages, memory: Memory) -> None:
    memory.put("notes/a", 1)
    newer: Any = pages.post("memory/notes/a/edit/", match="", value="2")
    assert (newer.status_code, "It has changed since you opened it" in newer.content.decode()) == (412, True)
    assert memory.get("notes/a").json()["value"] == 1
    pages.get("memory/notes/none/edit/", status=404)
    other = pages.client.post(f"/projects/{'0' * 8}-0000-4000-8000-{'0' * 12}/memory/notes/a/edit/", {"value": "2"})
    assert other.status_code == 404
