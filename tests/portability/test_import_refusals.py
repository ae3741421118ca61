"""A damaged or inconsistent file changes nothing."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from sessions_app.models import Clearing, Handoff, HandoffSnapshot, Message, Project
from sessions_app.portability.imports.file_reader import BadFile
from tests.support.account_contents import fill, projects
from tests.support.chat import Chat
from tests.support.export_files import call_import, download, purge, resealed, upload

pytestmark = pytest.mark.django_db
# Kind, field and value.
UNSTORABLE: list[tuple[str, str, Any]] = [
    ("message", "text", 5),
    ("message", "text", "\x00"),
    ("message", "message_id", "x" * 65),
    ("message", "position", -1),
    ("message", "rev", 2**63),
    ("message", "position", 2**63 - 1),
    ("message", "epoch", 2**63 - 1),
    ("session", "rev", 2**63 - 1),
    ("session", "last_position", 2**63 - 1),
    ("session", "message_count", 2**31 - 1),
    ("project", "event_seq", 2**63 - 1),
    ("message", "epoch", True),
    ("message", "created_at", "yesterday"),
    ("message", "created_at", "2026-01-01T00:00:00"),
    ("message", "owner_id", 1),
    ("message", "raw", "NaN"),
    ("message", "metadata", '{"a": [Infinity]}'),
    ("message", "parts", '[{"type": "tool-run", "input": "\\ud800"}]'),
    ("message", "parts", f"[{'[' * 900}{']' * 900}]"),
    ("message", "parts", "nonsense"),
    ("message", "parts", "[1]"),
    ("message", "parts", "null"),
    ("session", "id", "no uuid"),
    ("session", "project_id", "00000000-0000-4000-8000-000000000000"),
    ("project", "owner_id", 1),
    ("project", "settings", json.loads("[" * 70 + "]" * 70)),
    ("project", "path", None),
]


def test_a_damaged_file_changes_nothing_and_its_line_is_named(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    fill(mine, 2)
    content = download(mine)
    purge(mine)
    lines = content.splitlines(keepends=True)
    middle = len(lines) // 2
    damages = {
        "changed": (content.replace(b"text 1 of 0", b"text 1 of 7"), len(lines)),
        "cut between lines": (b"".join(lines[:middle]), middle + 1),
        "cut in a line": (b"".join(lines[:middle]) + lines[middle][:-5], middle + 1),
        "without its end": (b"".join(lines[:-1]), len(lines)),
        "a line lost": (b"".join(lines[:middle] + lines[middle + 1 :]), len(lines) - 1),
        "more after it": (content + b"{}\n", len(lines) + 1),
        "no JSON": (b"".join([*lines[:middle], b"nonsense\n", *lines[middle:]]), middle + 1),
        "nothing": (b"", 1),
        "something else": (b'{"hello": 1}\n', 1),
        "newer": (content.replace(b'"version":1', b'"version":2'), 1),
    }
    for name, (damaged, line) in damages.items():
        answer = upload(mine, damaged)
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["details"]) == (422, "bad_export", {"line": line}), name
        assert projects(mine) == []


def test_a_value_that_cannot_be_stored_is_refused(api: Callable[..., Any], alice: User, subtests: pytest.Subtests) -> None:
    mine = api(alice)
    Chat(mine).say("a", "text")
    content = download(mine).splitlines()[:-1]
    purge(mine)
    for kind, field, value in UNSTORABLE:
        lines = list(content)
        number = next(index for index, line in enumerate(lines) if kind in json.loads(line))
        row = json.loads(lines[number])
        row[kind][field] = value
        lines[number] = json.dumps(row).encode()
        with subtests.test(kind=kind, field=field, value=str(value)[:50]):
            answer = upload(mine, resealed(lines))
            assert (answer.status_code, answer.json()["error"]["details"]) == (422, {"line": number + 1})
            assert projects(mine) == []


def test_a_long_line_is_read_unless_its_values_would_fill_the_memory(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    project = Project.objects.get(path=Chat(mine).project)
    mine.post(f"/projects/{project.id}/handoff/decisions", {"text": "ship it"})
    texts = [{"id": str(number), "text": f"{number} {'x ' * 4_900}"} for number in range(2_000)]
    Handoff.objects.update(content=json.dumps({"decisions": texts}))
    lines = download(mine).splitlines()[:-1]
    purge(mine)
    (number,) = [number for number, line in enumerate(lines) if line.startswith(b'{"handoff"')]
    assert len(lines[number]) > 19_000_000
    assert call_import(alice, resealed(lines))["handoff"] == 1
    assert json.loads(Handoff.objects.get().content)["decisions"] == texts
    purge(mine)
    for damaged in (b'{"handoff":' + b"[[]," * 5_000_000 + b"0]}", b'{"handoff":{"content":"' + b"[]," * 7_000_000 + b'"}}'):
        with pytest.raises(BadFile, match="too many values"):
            call_import(alice, b"\n".join([*lines[:number], damaged, b""]))


def test_rows_that_contradict_each_other_are_refused_whole(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    Chat(mine).say("a", "text")
    lines = download(mine).splitlines()[:-1]
    purge(mine)
    lines.append(next(line for line in lines if b'{"message"' in line))
    answer = upload(mine, resealed(lines))
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "import_conflict")
    assert projects(mine) == []


def test_sizes_and_numbers_are_those_of_what_came_in(api: Callable[..., Any], alice: User) -> None:
    """Not those of the file: quotas go by them."""
    mine = api(alice)
    chat = Chat(mine)
    chat.say("a", "x" * 700)
    chat.clear()
    chat.ops(*({"op": "upsert", "id": key, "role": "user", "text": key * 500} for key in ("b", "c")), epoch=2)
    chat.ops({"op": "delete", "id": "c"}, epoch=2)
    shown = chat.read()["session"]
    lines = [json.loads(line) for line in download(mine).splitlines()[:-1]]
    purge(mine)
    for line in lines:
        for kind in {"session", "message", "clearing"} & line.keys():
            line[kind]["size_bytes"] = 0
        line.get("session", {})["message_count"] = 9
    assert upload(mine, resealed([json.dumps(line).encode() for line in lines])).status_code == 200
    assert [row.size_bytes for row in Message.objects.order_by("message_id")] == [700, 500, 500]
    assert chat.read()["session"] == shown
    assert (shown["message_count"], shown["size_bytes"], Clearing.objects.get().size_bytes) == (1, 500, 700)


def test_nobody_signs_a_snapshot_for_somebody_else(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    project = Project.objects.get(path=Chat(mine).project)
    mine.post(f"/projects/{project.id}/handoff/decisions", {"text": "ship it"})
    for _ in range(2):
        mine.post(f"/projects/{project.id}/handoff/freeze")
    lines = download(mine).splitlines()[:-1]
    purge(mine)
    [first, _] = [index for index, line in enumerate(lines) if line.startswith(b'{"handoff_snapshot"')]
    row = json.loads(lines[first])
    row["handoff_snapshot"]["author"] = "root"
    lines[first] = json.dumps(row).encode()
    content = resealed(lines)
    for _ in range(2):
        assert upload(mine, content).status_code == 200
        assert list(HandoffSnapshot.objects.order_by("number").values_list("author", flat=True)) == ["root (imported)", "alice"]
        content = download(mine)
        purge(mine)


def test_a_taken_id_is_answered_as_ones_own_and_tells_nothing_of_whose_it_is(
    api: Callable[..., Any], alice: User, bob: User
) -> None:
    alice_api, bob_api = api(alice), api(bob)
    taken, own = Chat(alice_api).id, Chat(bob_api).id
    condition = {"If-None-Match": "*"}
    foreign, mine = (bob_api.put(f"/sessions/{id}", {"project": "shop"}, **condition) for id in (taken, own))
    assert (foreign.status_code, foreign.json()) == (mine.status_code, mine.json()) == (412, mine.json())
    refused = upload(bob_api, download(alice_api))
    assert refused.status_code == 409
    assert "account" not in refused.json()["error"]["message"]


def test_what_a_save_takes_is_taken(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    chat = Chat(mine)
    nested = json.loads("[" * 58 + "]" * 58)
    parts = [{"type": "tool-run", "input": "\0 \U0001f600", "output": nested}]
    chat.ops({"op": "upsert", "id": "a", "role": "user", "parts": parts, "raw": {"number": 10**400, "at": 1.5e300}})
    before, content = chat.read()["messages"], download(mine)
    purge(mine)
    assert upload(mine, content).status_code == 200
    assert chat.read()["messages"] == before
