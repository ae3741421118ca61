"""A project's handoff: live and frozen."""

import hashlib
import json
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from sessions_app.agents.handoff.services import HANDOFF_BYTES
from sessions_app.models import Handoff, HandoffSnapshot
from tests.support.chat import Chat
from tests.support.suite import is_patient

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(chat: Chat) -> str:
    return str(chat.read()["session"]["project_id"])


@pytest.fixture
def at(project: str) -> str:
    return f"/projects/{project}/handoff"


def refusal(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def test_a_new_project_s_handoff_is_empty(chat: Chat, at: str) -> None:
    live = chat.api.get(at).json()
    assert (live["decisions"], live["files"], live["risks"], live["summary"], live["frozen_at"]) == ([], [], [], "", None)
    assert chat.api.get(f"/resume?project={chat.project}").json()["handoff"] is None
    assert refusal(chat.api.post(f"{at}/freeze")) == (409, "nothing_to_freeze")


def test_what_says_the_same_is_merged(chat: Chat, at: str) -> None:
    first = chat.api.post(f"{at}/decisions", {"text": "Use  SQLite"})
    again = chat.api.post(f"{at}/decisions", {"text": " use sqlite\n", "rationale": "one file"})
    assert (first.status_code, again.status_code, again.json()["merged"]) == (201, 200, True)
    assert chat.api.get(at).json()["decisions"] == [{**first.json()["item"], "rationale": "one file"}]
    assert chat.api.post(f"{at}/files", {"path": "a.py"}).status_code == 201
    assert chat.api.post(f"{at}/risks", {"text": "use sqlite"}).status_code == 201


def test_a_whole_list_is_merged_in_itself(chat: Chat, at: str) -> None:
    given = [{"id": "d1", "text": "Use SQLite"}, {"text": "Sell"}, {"text": "use  sqlite", "rationale": "one file"}]
    found = chat.api.patch(at, {"decisions": given}).json()["decisions"]
    assert [item["text"] for item in found] == ["Use SQLite", "Sell"]
    assert found[0] == {"id": "d1", "text": "Use SQLite", "rationale": "one file"}
    assert chat.api.patch(at, {"risks": [{"text": str(number)} for number in range(2_001)]}).status_code == 422


def test_a_handoff_has_a_size(chat: Chat, at: str) -> None:
    texts = [{"text": f"{number} {'x' * 9_000}"} for number in range(250)]
    assert chat.api.patch(at, {"decisions": texts}).status_code == 200
    refused = chat.api.patch(at, {"risks": texts})
    assert (refused.status_code, refused.json()["error"]["details"]["limit"]) == (413, HANDOFF_BYTES)
    # As it was stored before there was a limit.
    larger = {"decisions": [{"id": str(number), "text": f"{number} {'x' * 9_000}"} for number in range(500)]}
    Handoff.objects.update(content=json.dumps(larger, separators=(",", ":")))
    assert refusal(chat.api.patch(f"{at}/decisions/1", {"text": "y" * 9_500})) == (413, "too_large")
    assert chat.api.delete(f"{at}/decisions/1").status_code == 204
    assert len(chat.api.get(at).json()["decisions"]) == 499


def test_an_id_names_one_item(chat: Chat, at: str) -> None:
    chat.api.post(f"{at}/decisions", {"id": "d1", "text": "one"})
    assert refusal(chat.api.post(f"{at}/decisions", {"id": "d1", "text": "two"})) == (409, "id_taken")
    assert chat.api.post(f"{at}/risks", {"id": "d1", "text": "two"}).status_code == 201


def test_items_change_and_go_one_by_one(chat: Chat, at: str) -> None:
    item = chat.api.post(f"{at}/decisions", {"text": "Use SQLite", "rationale": "one file"}).json()["item"]
    changed = chat.api.patch(f"{at}/decisions/{item['id']}", {"text": "Use PostgreSQL", "rationale": None}).json()["item"]
    assert changed == {"id": item["id"], "text": "Use PostgreSQL"}
    assert chat.api.patch(f"{at}/files/{item['id']}", {"note": "x"}).status_code == 404
    assert chat.api.patch(f"{at}/nothing/{item['id']}", {"note": "x"}).status_code == 404
    assert chat.api.delete(f"{at}/decisions/{item['id']}").status_code == 204
    assert chat.api.delete(f"{at}/decisions/{item['id']}").status_code == 404


def test_a_patch_keeps_what_it_leaves_out_and_wants_its_version(chat: Chat, at: str) -> None:
    chat.api.post(f"{at}/risks", {"text": "Time"})
    etag = chat.api.patch(at, {"summary": "Nearly there"})["ETag"]
    assert [risk["text"] for risk in chat.api.get(at).json()["risks"]] == ["Time"]
    assert chat.api.patch(at, {"summary": "There"}, **{"If-Match": etag}).status_code == 200
    assert chat.api.patch(at, {"summary": "Late"}, **{"If-Match": etag}).status_code == 412
    assert chat.api.patch(at, {"risks": [{"id": "r", "text": "a"}, {"id": "r", "text": "b"}]}).status_code == 422


def test_an_item_changes_only_as_the_version_that_was_read(chat: Chat, at: str) -> None:
    """The handoff's ETag, from a read or from any answer to a change, guards each of its items."""
    made = chat.api.post(f"{at}/decisions", {"id": "d1", "text": "Use SQLite"})
    assert made["ETag"] == chat.api.get(at)["ETag"]
    first = chat.api.patch(f"{at}/decisions/d1", {"text": "Use PostgreSQL"}, **{"If-Match": made["ETag"]})
    assert (first.status_code, first["ETag"]) == (200, chat.api.get(at)["ETag"])
    late = chat.api.patch(f"{at}/decisions/d1", {"text": "Use a file"}, **{"If-Match": made["ETag"]})
    assert refusal(late) == (412, "precondition_failed")
    assert late.json()["error"]["details"] == {"etag": first["ETag"]}
    assert refusal(chat.api.delete(f"{at}/decisions/d1", **{"If-Match": made["ETag"]})) == (412, "precondition_failed")
    assert chat.api.get(at).json()["decisions"] == [{"id": "d1", "text": "Use PostgreSQL"}]
    gone = chat.api.delete(f"{at}/decisions/d1", **{"If-Match": first["ETag"]})
    assert (gone.status_code, gone["ETag"]) == (204, chat.api.get(at)["ETag"])
    assert refusal(chat.api.delete(f"{at}/decisions/d1", **{"If-Match": "*"})) == (404, "not_found")


def test_a_freeze_is_another_version_of_what_is_read(chat: Chat, at: str) -> None:
    before = chat.api.patch(at, {"summary": "Nearly there"})["ETag"]
    chat.api.post(f"{at}/freeze")
    now = chat.api.get(at, **{"If-None-Match": before})
    assert (now.status_code, now.json()["last_snapshot"]) == (200, 1)


def test_a_snapshot_is_sorted_compact_json_with_its_hash(chat: Chat, at: str) -> None:
    chat.api.post(f"{at}/decisions", {"text": "Käse", "rejected": ["Wurst"]})
    made = chat.api.post(f"{at}/freeze")
    assert (made.status_code, made.json()["number"]) == (201, 1)
    stored = HandoffSnapshot.objects.get().payload
    assert stored == json.dumps(json.loads(stored), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    found = chat.api.get(f"{at}/snapshots/1").json()
    assert found["sha256"] == hashlib.sha256(stored.encode()).hexdigest()
    assert (found["session"], found["author"], found["drift"]) == (chat.id, "alice", {"added": [], "removed": [], "changed": []})
    assert chat.api.get(at).json()["frozen_at"] == found["created_at"]


def test_nothing_done_later_touches_a_snapshot(chat: Chat, at: str) -> None:
    count = 50 if is_patient() else 10
    for number in range(1, count + 1):
        chat.api.post(f"{at}/decisions", {"text": f"decision {number}"})
        chat.api.post(f"{at}/freeze")
    before = list(HandoffSnapshot.objects.order_by("number").values_list("number", "payload", "sha256"))
    for item in chat.api.get(at).json()["decisions"][:5]:
        chat.api.delete(f"{at}/decisions/{item['id']}")
    chat.api.patch(at, {"decisions": [], "summary": "edited"})
    chat.clear()
    chat.api.delete(f"/sessions/{chat.id}?purge=1")
    after = list(HandoffSnapshot.objects.order_by("number").values_list("number", "payload", "sha256"))
    assert len(after) == count
    assert after == before
    assert all(hashlib.sha256(payload.encode()).hexdigest() == sha256 for _, payload, sha256 in after)


def test_the_database_refuses_to_change_a_snapshot(chat: Chat, at: str) -> None:
    chat.api.post(f"{at}/decisions", {"text": "Stay"})
    chat.api.post(f"{at}/freeze")
    row = HandoffSnapshot.objects.get()

    def by_sql(statement: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement)

    for change in (
        lambda: HandoffSnapshot.objects.update(author="mallory"),
        row.save,
        row.delete,
        lambda: by_sql("UPDATE sessions_app_handoffsnapshot SET payload = '{}'"),
        lambda: by_sql("DELETE FROM sessions_app_handoffsnapshot"),
    ):
        with pytest.raises(DatabaseError, match="frozen handoff"), transaction.atomic():
            change()
    assert HandoffSnapshot.objects.get().sha256 == row.sha256


def test_a_purge_takes_the_snapshots_along_and_no_other_project_s(chat: Chat, at: str, project: str) -> None:
    other = Chat(chat.api, project="/home/alice/other")
    others = f"/projects/{other.read()['session']['project_id']}/handoff"
    for address in (at, others):
        chat.api.post(f"{address}/decisions", {"text": "Stay"})
        chat.api.post(f"{address}/freeze")
    assert chat.api.delete(f"/projects/{project}?purge=1").status_code == 204
    assert [str(row.project_id) for row in HandoffSnapshot.objects.all()] == [other.read()["session"]["project_id"]]
    with pytest.raises(DatabaseError, match="frozen handoff"), transaction.atomic():
        HandoffSnapshot.objects.all().delete()


def test_drift_and_difference(chat: Chat, at: str) -> None:
    first = chat.api.post(f"{at}/decisions", {"text": "one"}).json()["item"]
    second = chat.api.post(f"{at}/decisions", {"text": "two"}).json()["item"]
    chat.api.post(f"{at}/freeze")
    chat.api.delete(f"{at}/decisions/{first['id']}")
    chat.api.patch(f"{at}/decisions/{second['id']}", {"text": "2"})
    third = chat.api.post(f"{at}/risks", {"text": "three"}).json()["item"]
    drift = chat.api.get(f"{at}/snapshots/1").json()["drift"]
    assert drift["added"] == [{"kind": "risks", "item": third}]
    assert drift["removed"] == [{"kind": "decisions", "item": first}]
    assert drift["changed"] == [{"kind": "decisions", "from": second, "to": {**second, "text": "2"}}]
    chat.api.post(f"{at}/freeze")
    assert chat.api.get(f"{at}/snapshots/1/diff/2").json() == drift
    assert chat.api.get(f"{at}/snapshots/2/diff/1").json()["added"] == drift["removed"]


def test_snapshots_are_listed_by_page(chat: Chat, at: str) -> None:
    chat.api.patch(at, {"summary": "so far"})
    for _ in range(3):
        chat.api.post(f"{at}/freeze")
    first = chat.api.get(f"{at}/snapshots?limit=2").json()
    assert [item["number"] for item in first["items"]] == [3, 2]
    assert [item["number"] for item in chat.api.get(f"{at}/snapshots?cursor={first['next']}").json()["items"]] == [1]
    assert chat.api.get(f"{at}/snapshots/4").status_code == 404


def test_a_snapshot_as_markdown(chat: Chat, at: str) -> None:
    chat.api.post(f"{at}/decisions", {"text": "Use SQLite", "rationale": "one file", "rejected": "Oracle"})
    chat.api.post(f"{at}/risks", {"text": "First line\n\n# no heading"})
    chat.api.post(f"{at}/files", {"path": "a.py", "note": "the entry"})
    chat.api.patch(at, {"summary": "Nearly there"})
    chat.api.post(f"{at}/freeze")
    text = chat.api.get(f"{at}/snapshots/1.md").content.decode()
    for line in (
        "# Handoff 1",
        "Nearly there",
        "- Use SQLite",
        "  - Why: one file",
        "  - Rejected: Oracle",
        "- `a.py`: the entry",
        "- First line",
        "  # no heading",
    ):
        assert line in text.splitlines()


def test_resume_brings_live_and_frozen_and_derives_what_was_never_frozen(chat: Chat, at: str) -> None:
    item = chat.api.post(f"{at}/decisions", {"text": "one"}).json()["item"]
    handoff = chat.api.get(f"/resume?project={chat.project}").json()["handoff"]
    assert handoff["frozen"]["derived"] is True
    assert handoff["frozen"]["payload"]["decisions"] == handoff["live"]["decisions"] == [item]
    chat.api.post(f"{at}/freeze")
    chat.api.post(f"{at}/decisions", {"text": "two"})
    handoff = chat.api.get(f"/resume?project={chat.project}").json()["handoff"]
    assert (handoff["frozen"]["number"], handoff["frozen"]["payload"]["decisions"]) == (1, [item])
    assert [decision["text"] for decision in handoff["live"]["decisions"]] == ["one", "two"]


def test_a_damaged_handoff_does_not_spoil_the_resume(chat: Chat, at: str) -> None:
    chat.api.post(f"{at}/decisions", {"text": "one"})
    frozen = chat.api.post(f"{at}/freeze").json()
    Handoff.objects.update(content='{"decisions": [')
    handoff = chat.api.get(f"/resume?project={chat.project}").json()["handoff"]
    assert (handoff["live"], handoff["frozen"]["payload"]) == (None, frozen["payload"])


def test_project_a_s_handoff_survives_switching_to_b_and_back(chat: Chat, at: str) -> None:
    chat.api.post(f"{at}/decisions", {"text": "A's"})
    before = chat.api.get(at).content
    other = Chat(chat.api, project="/home/alice/b")
    for path in (other.project, chat.project):
        chat.api.put("/app-state", {"selected_project": path})
    assert chat.api.get(at).content == before
    assert chat.api.get(f"/resume?project={other.project}").json()["handoff"] is None


def test_listeners_hear_of_it_without_its_words(chat: Chat, at: str, project: str) -> None:
    chat.api.post(f"{at}/decisions", {"text": "private words"})
    chat.api.post(f"{at}/freeze")
    answer = chat.api.get(f"/projects/{project}/events?since=0")
    assert [event["type"] for event in answer.json()["items"]][-2:] == ["HANDOFF_CHANGED", "HANDOFF_FROZEN"]
    assert "private words" not in answer.content.decode()


def test_two_projects_that_wrote_nothing_share_nothing(chat: Chat, at: str) -> None:
    chat.api.post(f"{at}/decisions", {"text": "A's"})
    other = Chat(chat.api, project="/home/alice/b")
    assert chat.api.get(f"/projects/{other.read()['session']['project_id']}/handoff").json()["decisions"] == []
