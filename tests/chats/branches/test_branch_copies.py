"""Branches that leave a session and come elsewhere: exports and imports, transfers, messages from before a clear."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.chats.branches.test_branches import head, ids, move, tree
from tests.support.chat import Chat
from tests.support.export_files import download, purge, resealed, upload
from tests.support.saves import delete, upsert

pytestmark = pytest.mark.django_db


@pytest.fixture
def branched(chat: Chat) -> Chat:
    """m1 to m3 in a line, e3 beside m3, e4 after it; a second root whose answer was deleted. m3 is shown."""
    for number in range(1, 4):
        chat.say(f"m{number}", f"text {number}")
    chat.ops(upsert("e3", "edited", parent_id="m2"), upsert("e4", "answer", parent_id="e3"))
    chat.ops(upsert("r1", "root", parent_id=None), upsert("r2", "deleted", parent_id="r1"))
    chat.ops(delete("r2"), base_rev=100)
    move(chat, "m3")
    return chat


def everything(chat: Chat) -> dict[str, Any]:
    found = chat.get("messages?branches=1&limit=500").json()["items"]
    return {
        "tree": tree(chat),
        "head": head(chat),
        "read": chat.read(),
        "all": found,
        "to e4": chat.get("messages?head=e4").json(),
    }


def changed(content: bytes, change: Callable[[str, dict[str, Any]], None]) -> bytes:
    lines = []
    for line in content.splitlines()[:-1]:
        row = json.loads(line)
        for kind, values in row.items():
            if isinstance(values, dict):
                change(kind, values)
        lines.append(json.dumps(row, separators=(",", ":")).encode())
    return resealed(lines)


def test_an_import_brings_the_branches_and_the_head_back(branched: Chat) -> None:
    before, content = everything(branched), download(branched.api)
    purge(branched.api)
    assert upload(branched.api, content).status_code == 200
    assert everything(branched) == before
    assert download(branched.api).splitlines()[1:-1] == content.splitlines()[1:-1]
    assert move(branched, "m1", to_end=True).json()["head"] == "e4"
    branched.say("e5", "more")
    assert ids(branched) == ["m1", "m2", "e3", "e4", "e5"]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("session", {"head": "nothing"}),
        ("session", {"head": ""}),
        ("message", {"aside": False}),
        ("message", {"aside": True}),
        pytest.param("message", {"under": "nothing"}, marks=pytest.mark.slow),
        ("message", {"under": "m3", "aside": None}),
        ("message", {"under": "e4", "parent_id": "e4"}),
        pytest.param("message", {"under": None, "aside": True}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_file_with_contradictory_branches_loses_no_message(branched: Chat, kind: str, values: dict[str, Any]) -> None:
    """Every live message is among all branches, can be shown, and the next message is at the end of what is shown."""
    known = set(tree(branched))
    content = changed(download(branched.api), lambda name, row: row.update(values if name == kind else {}))
    purge(branched.api)
    assert upload(branched.api, content).status_code == 200
    branched.say("n1", "next")
    assert {item["id"] for item in branched.get("messages?branches=1").json()["items"]} == {*known, "n1"}
    assert ids(branched)[-1] == "n1"
    for message_id in sorted(known):
        assert move(branched, message_id).status_code == 200
        assert ids(branched)[-1] == message_id, message_id
        assert branched.get(f"messages?head={message_id}").json()["items"][-1]["id"] == message_id


def test_a_transferred_branch_follows_the_targets_head_where_its_parent_is_the_targets(branched: Chat) -> None:
    """m1 and m2 are in both: what followed them in the source cannot follow the target's, which are not on its path."""
    other = Chat(branched.api, project="/home/alice/other")
    other.say("m1", "text 1")
    other.say("m2", "text 2")
    other.ops(upsert("x1", "another root", parent_id=None))
    moved = branched.post("transfer", to_session=other.id, include=["messages"])
    assert moved.status_code == 200, moved.content
    assert ids(other) == ["x1", "m3"]
    assert tree(other) == {"m1": None, "m2": "m1", "x1": None, "m3": "x1", "e3": "x1", "e4": "e3", "r1": "x1"}
    assert [item["id"] for item in other.get(f"messages?head={head(other)}").json()["items"]] == ids(other)


def test_a_message_from_before_a_clear_is_restored_before_all_others(branched: Chat) -> None:
    branched.clear()
    branched.say("n1", "one", epoch=2)
    branched.ops(upsert("n2", "other", parent_id=None), epoch=2)
    assert branched.api.post(f"/sessions/{branched.id}/removed/m2/restore", {}).status_code == 200
    assert ids(branched) == ["m2", "n2"]
    assert tree(branched) == {"m2": None, "n1": "m2", "n2": "m2"}
    move(branched, "n1")
    assert ids(branched) == ["m2", "n1"]
    assert [item["id"] for item in branched.get("messages?head=n2").json()["items"]] == ["m2", "n2"]


@pytest.mark.parametrize("rooted", [True, False])
def test_of_a_path_that_a_transfer_parts_only_what_leads_to_the_head_is_shown(chat: Chat, rooted: bool) -> None:
    """The target has a message in the middle of the path. `rooted`: the source has two beginnings, so no trunk."""
    for number in range(1, 5):
        chat.say(f"m{number}", f"text {number}")
    chat.ops(upsert("e4", "edited", parent_id="m3"))
    if rooted:
        chat.ops(upsert("r1", "another beginning", parent_id=None))
        move(chat, "e4")
    other = Chat(chat.api)
    other.say("m3", "text 3")
    moved = chat.post("transfer", to_session=other.id, include=["messages"])
    assert moved.status_code == 200, moved.content
    root = {"r1": "m3"} if rooted else {}
    assert tree(other) == {"m3": None, "m1": "m3", "m2": "m1", "m4": "m3", "e4": "m3", **root}
    assert (head(other), ids(other)) == ("e4", ["m3", "e4"])
    assert [item["id"] for item in other.get("messages?head=m2").json()["items"]] == ["m3", "m1", "m2"]
    move(other, "m2")
    assert ids(other) == ["m3", "m1", "m2"]
