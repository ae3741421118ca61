"""Errors are resolved, reopened and muted, one or many at a time; similar errors offer their known fix."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import unquote

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memory_app.errors.state_changes import MOST_AT_ONCE
from memory_app.models import ErrorReport
from sessions_app.core.public_names import now, rfc3339
from tests.memory.conftest import Memory
from tests.memory.errors.test_errors import BOOM, errors_of, record, resolve


def change(memory: Memory, act: str, fingerprints: list[Any], **more: Any) -> Any:
    return memory.api.post(memory.address("errors-bulk"), {"act": act, "fingerprints": fingerprints, **more})


def states(memory: Memory, query: str = "") -> dict[str, str]:
    return {error["message"]: error["state"] for error in errors_of(memory, query)}


def mute(memory: Memory, fingerprint: str, **body: Any) -> Any:
    return memory.api.post(memory.address(f"errors/{fingerprint}/mute"), body)


def ahead(**time: float) -> str:
    return rfc3339(now() + timedelta(**time))


def three(memory: Memory) -> list[Any]:
    return list(record(memory, *({"message": word} for word in ("one", "two", "three")))["fingerprints"])


def test_many_are_resolved_and_reopened_at_once(memory: Memory) -> None:
    one, two, _ = three(memory)
    done = change(memory, "resolve", [one, two, "unknown", one], known_fix="Set PASSWORD=hunter2hunter2.")
    assert done.status_code == 200, done.content
    assert done.json() == {"fingerprints": [one, two], "unknown": ["unknown"], "redacted": {"password": 1}}
    assert states(memory) == {"one": "resolved", "two": "resolved", "three": "unresolved"}
    before = ErrorReport.objects.get(fingerprint=one).resolved_at
    assert change(memory, "resolve", [one, two]).json()["fingerprints"] == [one, two]
    assert ErrorReport.objects.get(fingerprint=one).resolved_at == before
    assert "REDACTED" in ErrorReport.objects.get(fingerprint=one).known_fix
    change(memory, "reopen", [one])
    assert states(memory)["one"] == "unresolved"


def test_a_change_of_many_costs_as_much_as_one_of_one(memory: Memory) -> None:
    fingerprints = three(memory)

    def statements(some: list[Any]) -> int:
        with CaptureQueriesContext(connection) as made:
            assert change(memory, "mute", some, times=5).status_code == 200
        return len(made)

    assert statements(fingerprints[:1]) == statements(fingerprints)
    assert change(memory, "resolve", [f"{number:032x}" for number in range(MOST_AT_ONCE + 1)]).status_code == 422
    assert change(memory, "resolve", []).status_code == 422
    assert change(memory, "forget", fingerprints).status_code == 422


def test_a_muted_error_is_in_its_own_list_and_not_open(memory: Memory) -> None:
    one, *_ = three(memory)
    until = ahead(days=3)
    answer = mute(memory, one, until=until).json()
    assert (answer["state"], answer["muted_until"]) == ("muted", until)
    assert set(states(memory)) == {"two", "three"} == set(states(memory, "?state=unresolved"))
    assert states(memory, "?state=muted") == {"one": "muted"}
    record(memory, {"message": "one"})
    assert states(memory, "?state=muted") == {"one": "muted"}
    context = memory.api.get(memory.address("context")).json()
    assert {error["message"] for error in context["errors"]["unresolved"]} == {"two", "three"}
    ErrorReport.objects.filter(fingerprint=one).update(muted_until=now() - timedelta(seconds=1))
    assert len(states(memory, "?state=unresolved")) == 3
    assert memory.api.get(memory.address(f"errors/{one}")).json()["muted_until"] is None


def test_a_mute_ends_by_unmuting_by_resolving_or_after_so_many_times(memory: Memory) -> None:
    one, two, three_ = three(memory)
    for fingerprint in (one, two, three_):
        mute(memory, fingerprint, times=2)
    assert memory.api.post(memory.address(f"errors/{one}/unmute")).json()["state"] == "unresolved"
    assert resolve(memory, two).json()["state"] == "resolved"
    record(memory, {"message": "three"}, {"message": "two"})
    assert states(memory, "?state=muted") == {"three": "muted"}
    record(memory, {"message": "three"})
    assert states(memory) == dict.fromkeys(("one", "two", "three"), "unresolved")


def test_undoing_a_resolve_brings_the_mute_back_and_an_occurrence_does_not(memory: Memory) -> None:
    one, two, _ = three(memory)
    for fingerprint in (one, two):
        mute(memory, fingerprint, times=5)
    before = {row.pk: (row.muted_until, row.muted_count) for row in ErrorReport.objects.all()}
    change(memory, "resolve", [one, two])
    change(memory, "reopen", [one, two])
    assert {row.pk: (row.muted_until, row.muted_count) for row in ErrorReport.objects.all()} == before
    assert states(memory, "?state=muted") == {"one": "muted", "two": "muted"}
    change(memory, "resolve", [one, two])
    assert states(memory, "?state=resolved") == {"one": "resolved", "two": "resolved"}
    record(memory, {"message": "one"})
    change(memory, "reopen", [two])
    assert states(memory, "?state=muted") == {"two": "muted"}


@pytest.mark.parametrize("body", [{}, {"until": ahead(days=-1)}, {"until": ahead(days=400)}, {"times": 0}, {"until": "soon"}])
def test_a_mute_needs_an_end_that_is_not_far_away(memory: Memory, body: dict[str, Any]) -> None:
    [fingerprint] = record(memory, BOOM)["fingerprints"]
    assert mute(memory, fingerprint, **body).status_code == 422
    assert states(memory) == {BOOM["message"]: "unresolved"}


CALLS = [
    {"file": "/home/ana/shop/.venv/lib/python3.12/site-packages/db.py", "function": "query", "line": 7},
    {"file": "/home/ana/shop/cart.py", "function": "total", "line": 3},
]


def test_the_known_fix_of_a_similar_error_is_offered(memory: Memory) -> None:
    [fixed] = record(memory, {"message": "no cart 7", "kind": "ValueError", "stack": CALLS})["fingerprints"]
    resolve(memory, fixed, known_fix="Create the cart first.")
    there = [{**CALLS[0], "function": "fetch"}, CALLS[1]]
    [place, message, other] = record(
        memory,
        {"message": "quite different", "kind": "ValueError", "stack": there},
        {"message": "no cart 8", "kind": "ValueError", "stack": [{"file": "shop/order.py", "function": "send", "line": 1}]},
        {"message": "no cart 8", "kind": "TypeError", "stack": [{"file": "shop/order.py", "function": "send", "line": 1}]},
    )["fingerprints"]
    found = {error["fingerprint"]: error["similar_fix"] for error in errors_of(memory)}
    assert (found[fixed], found[other]) == (None, None)
    for fingerprint, by in ((place, "place"), (message, "message")):
        assert found[fingerprint] == {
            "fingerprint": fixed,
            "message": "no cart 7",
            "known_fix": "Create the cart first.",
            "by": by,
        }
    assert memory.api.get(memory.address(f"errors/{place}")).json()["similar_fix"]["by"] == "place"
    resolve(memory, place, known_fix="Its own.")
    assert memory.api.get(memory.address(f"errors/{place}")).json()["similar_fix"] is None


def test_messages_without_a_word_of_their_own_are_not_similar(memory: Memory) -> None:
    [fixed] = record(memory, {"message": "'first'", "kind": "ValueError"})["fingerprints"]
    resolve(memory, fixed, known_fix="Nothing.")
    record(memory, {"message": "42", "kind": "ValueError"})
    assert [error["similar_fix"] for error in errors_of(memory)] == [None, None]


def test_ticked_errors_are_changed_by_one_form_with_one_undo(client: Client, alice: User, memory: Memory) -> None:
    client.force_login(alice)
    one, two, _ = three(memory)
    base = f"/projects/{memory.project}/errors"
    page = client.get(f"{base}/?state=unresolved").content.decode()
    assert re.findall(r'form="bulk" name="fingerprint" value="(\w+)"', page) != []

    def post(**fields: Any) -> str:
        reply = client.post(f"{base}-bulk/", {"back": f"{base}/?state=unresolved", **fields})
        assert reply["Location"] == f"{base}/?state=unresolved"
        return str(client.get(reply["Location"]).content.decode())

    done = post(act="resolve", fingerprint=[one, two], known_fix="Restart.")
    assert "2 errors resolved." in done
    assert states(memory) == {"one": "resolved", "two": "resolved", "three": "unresolved"}
    [undo] = re.findall(r'class="toast">.*?action="([^"]+)"', done)
    for _ in range(2):
        assert client.post(undo.replace("&amp;", "&")).status_code == 302
        assert states(memory) == dict.fromkeys(("one", "two", "three"), "unresolved")
    assert "No error is ticked" in post(act="resolve")
    assert "1 error muted" in post(act="mute", fingerprint=[one], until=(now() + timedelta(days=2)).date().isoformat())
    assert "muted until" in client.get(f"{base}/?state=muted").content.decode()
    assert "1 error no longer muted" in post(act="unmute", fingerprint=[one])
    assert client.post(f"{base}-bulk/", {"act": "odd", "fingerprint": [one]}).status_code == 404
    refused = client.post(f"{base}-bulk/", {"act": "mute", "fingerprint": [one], "until": "soon"})
    assert (refused.status_code, "`" in unquote(refused["Stillhere-Message"])) == (422, False)
    assert client.post(f"{base}-bulk/?act=undo&at=soon").status_code == 422
    assert (
        client.post(f"{base}-bulk/", {"act": "resolve", "fingerprint": [one], "back": "//evil.example"})["Location"] == f"{base}/"
    )


def test_one_undo_takes_back_a_mute_of_several_errors_and_its_end(client: Client, alice: User, memory: Memory) -> None:
    """As they were: an error that was muted otherwise before is muted so again, and one that was changed since stays."""
    client.force_login(alice)
    one, two, three_ = three(memory)
    base = f"/projects/{memory.project}/errors"

    def post(**fields: Any) -> str:
        reply = client.post(f"{base}-bulk/", {"back": f"{base}/", **fields})
        html = str(client.get(reply["Location"]).content.decode())
        [undo] = re.findall(r'class="toast">.*?action="([^"]+)"', html)
        return str(undo).replace("&amp;", "&")

    def press(undo: str) -> str:
        return str(client.post(undo, follow=True).content.decode())

    day = (now() + timedelta(days=2)).date().isoformat()
    assert mute(memory, two, times=5).status_code == 200
    before = {error["fingerprint"]: error["muted_until"] for query in ("", "?state=muted") for error in errors_of(memory, query)}
    undo = post(act="mute", fingerprint=[one, two, three_], until=day)
    resolve(memory, three_)
    assert "Undone for 2 errors." in press(undo)
    assert (states(memory), states(memory, "?state=muted")) == ({"one": "unresolved", "three": "resolved"}, {"two": "muted"})
    after = {error["fingerprint"]: error["muted_until"] for query in ("", "?state=muted") for error in errors_of(memory, query)}
    assert after[two] == before[two]
    assert "This was undone already" in press(undo)
    undo = post(act="unmute", fingerprint=[one, two])
    assert states(memory)["two"] == "unresolved"
    assert "This was undone already" in press(f"{base}-bulk/?act=undo&mutes=ü")
    assert "Undone for 2 errors." in press(undo)
    assert states(memory, "?state=muted") == {"two": "muted"}
    record(memory, *({"message": "two"} for _ in range(6)))
    assert states(memory)["two"] == "unresolved"  # The count that ends it is back, too.


def test_a_page_offers_the_fix_of_a_similar_error(client: Client, alice: User, memory: Memory) -> None:
    client.force_login(alice)
    [fixed] = record(memory, {"message": "no cart 7", "kind": "ValueError", "stack": CALLS})["fingerprints"]
    resolve(memory, fixed, known_fix="Create <it> first.")
    [new] = record(memory, {"message": "other", "kind": "ValueError", "stack": CALLS})["fingerprints"]
    base = f"/projects/{memory.project}/errors/"
    page = client.get(f"{base}{new}/").content.decode()
    assert 'name="known_fix" value="Create &lt;it&gt; first."' in page
    assert "Fix of a <a" in client.get(base).content.decode()
    assert "1 frame of libraries" in page
    assert f'<pre class="snippet" tabindex="0" aria-label="Stack">total  {CALLS[1]["file"]}:3</pre>' in page


def test_nobody_changes_errors_of_others(memory: Memory, bob: User, api: Callable[..., Any]) -> None:
    [fingerprint] = record(memory, BOOM)["fingerprints"]
    theirs = Memory(api(bob), "/bob")
    assert change(theirs, "resolve", [fingerprint]).json() == {"fingerprints": [], "unknown": [fingerprint], "redacted": {}}
    body = json.dumps({"act": "resolve", "fingerprints": [fingerprint]})
    assert theirs.api.post(memory.address("errors-bulk"), json.loads(body)).status_code == 404
    assert states(memory) == {BOOM["message"]: "unresolved"}
