"""What one account may store and one key may ask: over it 507 and 429 with numbers, and a way on."""

import json
import re
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from memory_app.models import MemoryEntry
from sessions_app.core.limits import quotas, rate_limits
from sessions_app.core.limits.request_limits import ANNOUNCED, IMPORTED, Announced
from sessions_app.models import Caller, ChatSession
from tests.support.chat import Chat


@pytest.fixture(autouse=True)
def counted_again(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every check counts the rows, so that what a test deletes is seen at once."""
    monkeypatch.setattr(quotas, "RECOUNTED_EVERY", 0.0)
    quotas.forget()
    rate_limits.forget()
    yield
    quotas.forget()
    rate_limits.forget()


def upsert(message_id: str, text: str) -> dict[str, str]:
    return {"op": "upsert", "id": message_id, "role": "user", "text": text}


def error(reply: Any, status: int, code: str) -> dict[str, Any]:
    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code), reply.content
    return dict(reply.json()["error"]["details"])


def test_an_account_that_is_full_reads_clears_and_deletes_and_then_saves_again(chat: Chat, settings: Any) -> None:
    chat.say("m1", "x" * 2_000)
    settings.ACCOUNT_BYTES = 3_000
    details = error(chat.post("changes", ops=[upsert("m2", "y" * 2_000)]), 507, "quota_exceeded")
    assert details["quota"] == "bytes"
    assert details["limit"] == 3_000
    assert 2_000 <= details["used"] < 3_000
    assert details["needed"] > 2_000
    assert chat.texts() == ["x" * 2_000]
    assert chat.api.delete(f"/sessions/{chat.id}?purge=1").status_code == 204
    assert chat.api.post("/projects", {"path": "elsewhere"}).status_code == 201


def test_an_upload_is_counted_before_it_is_sent_and_once(chat: Chat, settings: Any) -> None:
    settings.ACCOUNT_BYTES, settings.RATE_WRITE_BYTES = 1_000_000, 30_000
    announced = Announced(20_000)
    assert chat.api.client.get(f"/api/v1/sessions/{chat.id}/files", **{ANNOUNCED: announced}).status_code == 200
    assert announced.user_id is not None
    sent = {"data": b"x" * 20_000, "content_type": "application/octet-stream", ANNOUNCED: announced}
    assert chat.api.client.post(f"/api/v1/sessions/{chat.id}/files", **sent).status_code == 201
    error(chat.api.client.get(f"/api/v1/sessions/{chat.id}/files", **{ANNOUNCED: Announced(20_000)}), 429, "rate_exceeded")
    settings.RATE_WRITE_BYTES, settings.ACCOUNT_BYTES = 0, 25_000
    error(chat.api.client.get(f"/api/v1/sessions/{chat.id}/files", **{ANNOUNCED: Announced(20_000)}), 507, "quota_exceeded")


def test_an_upload_larger_than_a_minute_s_bytes_is_taken(chat: Chat, settings: Any) -> None:
    settings.RATE_WRITE_BYTES = 10_000
    announced = Announced(20_000, IMPORTED)
    assert chat.api.client.get(f"/api/v1/sessions/{chat.id}/files", **{ANNOUNCED: announced}).status_code == 200
    sent = {"data": b"x" * 20_000, "content_type": "application/octet-stream", ANNOUNCED: announced}
    assert chat.api.client.post(f"/api/v1/sessions/{chat.id}/files", **sent).status_code == 201


def test_an_import_larger_than_a_minute_s_bytes_and_the_saves_beside_it_are_not_refused(chat: Chat, settings: Any) -> None:
    settings.RATE_WRITE_BYTES = 30_000
    chat.say("m1", "x" * 2_000)
    asked = {ANNOUNCED: Announced(40_000, IMPORTED)}
    assert chat.api.client.get("/api/v1/imports", **asked).status_code == 200
    chat.say("m2", "x" * 2_000)
    another = {ANNOUNCED: Announced(10, IMPORTED)}
    assert error(chat.api.client.get("/api/v1/imports", **another), 429, "rate_exceeded")["counted"] == "bytes imported"


@pytest.mark.parametrize("name", ["end", "restore", "keys"])
def test_what_a_client_names_passes_no_quota(chat: Chat, settings: Any, name: str) -> None:
    project = chat.api.get("/projects").json()["items"][0]["id"]
    settings.ACCOUNT_BYTES = 1
    error(chat.api.put(f"/projects/{project}/memory/ns/{name}", '"value"'), 507, "quota_exceeded")
    error(chat.api.put(f"/sessions/{chat.id}/ai-states/{name}", {"state": {}}), 507, "quota_exceeded")
    assert chat.post("clear").status_code == 200


def test_versions_removed_messages_and_cleared_ones_count(chat: Chat, alice: User) -> None:
    project = chat.api.get("/projects").json()["items"][0]["id"]
    for value in ("a", "b"):
        assert chat.api.put(f"/projects/{project}/memory/notes/n", f'"{value * 1_000}"').status_code < 300
    with_memory = quotas.usage_now(alice.pk).size_bytes
    assert with_memory >= 3_000
    chat.say("m1", "x" * 5_000)
    chat.ops({"op": "truncate", "after": None}, base_rev=99)
    assert quotas.usage_now(alice.pk).size_bytes >= with_memory + 5_000
    chat.say("m2", "y" * 7_000)
    before = quotas.usage_now(alice.pk).size_bytes
    chat.clear()
    assert quotas.usage_now(alice.pk).size_bytes == before


def test_states_handoffs_their_versions_and_metadata_count(chat: Chat, alice: User) -> None:
    project, size = chat.api.get("/projects").json()["items"][0]["id"], 10_000
    before = quotas.usage_now(alice.pk).size_bytes
    for letter in "ab":
        chat.api.put(f"/sessions/{chat.id}/agent-state", {"context": letter * size})
        chat.api.put(f"/sessions/{chat.id}/ai-states/claude", {"working_notes": letter * size})
    chat.api.patch(f"/sessions/{chat.id}", {"metadata": {"note": "é" * (size // 2)}})
    chat.api.patch(f"/projects/{project}/handoff", {"summary": "s" * size})
    assert quotas.usage_now(alice.pk).size_bytes - before > 7 * size
    assert chat.api.post(f"/projects/{project}/handoff/freeze").status_code == 201
    assert 8 * size < quotas.usage_now(alice.pk).size_bytes - before < 9 * size


def test_a_handoff_is_frozen_only_where_there_is_room(chat: Chat, alice: User, settings: Any) -> None:
    """Each snapshot has its own copy, which no request sends."""
    project = chat.api.get("/projects").json()["items"][0]["id"]
    chat.api.patch(f"/projects/{project}/handoff", {"summary": "s" * 10_000})
    settings.ACCOUNT_BYTES = quotas.usage_now(alice.pk).size_bytes + 5_000
    assert error(chat.api.post(f"/projects/{project}/handoff/freeze"), 507, "quota_exceeded")["needed"] > 10_000


def test_each_version_of_a_state_needs_room(chat: Chat, alice: User, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of a few bytes keeps the whole state once more."""
    state = f"/sessions/{chat.id}/ai-states/claude"
    assert chat.api.put(state, {"working_notes": "n" * 10_000}).status_code == 201
    settings.ACCOUNT_BYTES = quotas.usage_now(alice.pk).size_bytes + 35_000
    statuses = [chat.api.patch(state, {"context_summary": str(number)}).status_code for number in range(4)]
    assert statuses == [200, 200, 200, 507]
    quotas.forget()
    error(chat.api.patch(state, {"context_summary": "x"}), 507, "quota_exceeded")
    assert chat.api.delete(state).status_code == 204


def test_projects_and_sessions_are_counted(api: Callable[..., Any], alice: User, settings: Any) -> None:
    client = api(alice)
    project = client.post("/projects", {"path": "/first"}).json()["id"]
    settings.ACCOUNT_PROJECTS, settings.ACCOUNT_SESSIONS = 1, 1
    assert error(client.post("/projects", {"path": "/second"}), 507, "quota_exceeded") == {
        "quota": "projects",
        "limit": 1,
        "used": 1,
        "needed": 1,
    }
    assert client.post(f"/projects/{project}/sessions").status_code == 201
    error(client.post(f"/projects/{project}/sessions"), 507, "quota_exceeded")
    new = client.put(f"/sessions/{uuid.uuid4()}", {"project": "/first"}, **{"If-None-Match": "*"})
    error(new, 507, "quota_exceeded")


def test_a_fork_needs_room_for_what_it_copies(chat: Chat, alice: User, settings: Any) -> None:
    chat.say("m1", "x" * 1_000)
    chat.say("m2", "y" * 9_000)
    used = quotas.usage_now(alice.pk).size_bytes
    settings.ACCOUNT_BYTES = used + 5_000
    details = error(chat.post_plain("fork", {}), 507, "quota_exceeded")
    assert (details["used"], details["needed"]) == (used, 10_000)
    assert ChatSession.objects.count() == 1
    assert chat.post_plain("fork", {"up_to": "m1"}).status_code == 201
    settings.ACCOUNT_BYTES = used + 20_000
    assert [chat.post_plain("fork", {}).status_code for _ in range(2)] == [201, 507]


def test_a_copied_thread_of_checkpoints_needs_room(chat: Chat, alice: User, settings: Any) -> None:
    threads = f"/projects/{chat.read()['session']['project_id']}/threads"
    graph = {"checkpoint": {"type": "bytes", "base64": "AAAA" * 3_000}}
    assert chat.api.put(f"{threads}/t/checkpoints/~/c1", graph).status_code == 201
    settings.ACCOUNT_BYTES = quotas.usage_now(alice.pk).size_bytes + 5_000
    assert error(chat.api.post(f"{threads}/t/copy", {"to": "twin"}), 507, "quota_exceeded")["needed"] > 9_000
    assert [item["thread"] for item in chat.api.get(threads).json()["items"]] == ["t"]
    settings.ACCOUNT_BYTES = 0
    assert chat.api.post(f"{threads}/t/copy", {"to": "twin"}).status_code == 201


def test_what_a_run_still_holds_needs_room_and_its_end_none(chat: Chat, alice: User, settings: Any) -> None:
    runs = f"/projects/{chat.read()['session']['project_id']}/runs"
    run = chat.api.post(runs).json()["run_id"]
    settings.ACCOUNT_BYTES = quotas.usage_now(alice.pk).size_bytes + 5_000
    held = {"entries": [{"namespace": "notes", "key": "n", "value": "x" * 4_000}], "errors": [{"message": "y" * 2_000}]}
    assert error(chat.api.post(f"{runs}/{run}/end", held), 507, "quota_exceeded")["needed"] > 6_000
    assert not MemoryEntry.objects.exists()
    settings.ACCOUNT_BYTES = 1
    assert chat.api.post(f"{runs}/{run}/end", {}).status_code == 200
    error(chat.api.post(f"{runs}/{run}/end", held), 410, "run_ended")


def test_a_transfer_needs_room_for_what_the_target_lacks(chat: Chat, alice: User, settings: Any) -> None:
    chat.say("m1", "x" * 9_000)
    same, other, empty = (Chat(chat.api, project=f"/{name}") for name in ("same", "other", "empty"))
    same.say("m1", "x" * 9_000)
    other.say("m1", "y")
    settings.ACCOUNT_BYTES = quotas.usage_now(alice.pk).size_bytes + 5_000

    def carry(**where: str) -> Any:
        return chat.post_plain("transfer", {"include": ["messages"], **where})

    for target in (other, empty):
        assert error(carry(to_session=target.id), 507, "quota_exceeded")["needed"] == 9_000
    error(carry(to_project="/empty"), 507, "quota_exceeded")
    assert (other.texts(), other.conflicts(), empty.texts()) == (["y"], [], [])
    assert carry(to_session=same.id).status_code == 200


def test_another_account_has_its_own_room(api: Callable[..., Any], chat: Chat, bob: User, settings: Any) -> None:
    chat.say("m1", "x" * 2_000)
    settings.ACCOUNT_BYTES = 2_000
    assert api(bob).post("/projects", {"path": "his"}).status_code == 201


def test_a_key_over_its_rate_is_told_when_to_come_back_and_others_go_on(
    api: Callable[..., Any], alice: User, settings: Any
) -> None:
    first, second = api(alice), api(alice)
    settings.RATE_REQUESTS = 3
    assert [first.get("/projects").status_code for _ in range(3)] == [200] * 3
    refused = first.get("/projects")
    details = error(refused, 429, "rate_exceeded")
    assert details["limit"] == 3
    assert details["counted"] == "requests"
    assert 1 <= int(refused["Retry-After"]) == details["retry_after"] <= 60
    assert second.get("/projects").status_code == 200


def test_bytes_written_have_a_rate_of_their_own_and_a_refused_save_can_be_repeated(chat: Chat, settings: Any) -> None:
    settings.RATE_WRITE_BYTES = 3_000
    chat.ops(upsert("m1", "x" * 2_000))
    body = {"epoch": 1, "writer_id": "late", "seq": 1, "ops": [upsert("m2", "x" * 2_000)]}
    assert error(chat.api.post(f"/sessions/{chat.id}/changes", body), 429, "rate_exceeded")["counted"] == "bytes written"
    assert chat.api.get(f"/sessions/{chat.id}").status_code == 200
    rate_limits.forget()
    assert chat.api.post(f"/sessions/{chat.id}/changes", body).json()["applied"] == [{"id": "m2", "ver": 1}]


def test_a_beacon_is_counted_too(chat: Chat, settings: Any) -> None:
    token = chat.api.post(f"/sessions/{chat.id}/flush-tokens").json()["flush_token"]
    settings.ACCOUNT_BYTES = 1
    ops = [{"op": "upsert", "id": "m1", "role": "user", "text": "late"}]
    body = {"epoch": 1, "writer_id": "w", "seq": 1, "ops": ops, "flush_token": token}
    reply = Client().post(f"/api/v1/sessions/{chat.id}/flush", json.dumps(body), content_type="text/plain")
    assert reply.status_code == 507


def test_tickets_have_a_rate(api: Callable[..., Any], alice: User, settings: Any) -> None:
    client = api(alice)
    settings.RATE_TICKETS = 2
    assert [client.post("/ws-tickets").status_code for _ in range(3)] == [201, 201, 429]


def test_a_ticket_names_the_account_whatever_the_key(api: Callable[..., Any], alice: User, bob: User, settings: Any) -> None:
    first, second, other = (api(user).post("/ws-tickets").json()["account"] for user in (alice, alice, bob))
    assert first == second != other
    settings.SECRET_KEY = "of another server " * 3
    assert api(alice).post("/ws-tickets").json()["account"] != first
    assert "alice" not in first


def test_no_limit_is_a_limit_of_zero(chat: Chat, settings: Any) -> None:
    settings.ACCOUNT_BYTES = settings.ACCOUNT_PROJECTS = settings.ACCOUNT_SESSIONS = 0
    settings.RATE_REQUESTS = settings.RATE_WRITE_BYTES = settings.RATE_TICKETS = 0
    chat.say("m1", "x" * 10_000)
    assert chat.api.post("/ws-tickets").status_code == 201


def test_what_is_used_is_seen_on_the_account_page(chat: Chat, alice: User, client: Client, settings: Any) -> None:
    chat.say("m1", "x" * 50_000)
    settings.ACCOUNT_BYTES, settings.ACCOUNT_SESSIONS = 1_000_000, 0
    client.force_login(alice)
    page = client.get("/account/").content.decode()
    assert re.search(r"5[0-9](\.\d)? KB of 1\.0 MB", page), page
    assert 'aria-label="Storage in use"' in page
    assert 'aria-label="Sessions in use"' not in page


def test_threads_that_spend_at_once_count_each_request(settings: Any) -> None:
    caller = Caller(user_id=1, username="ana")

    def spend(_: int) -> bool:
        try:
            rate_limits.spend(caller=caller, what="requests", limit=500)
        except rate_limits.RateExceeded:
            return False
        return True

    with ThreadPoolExecutor(16) as crowd:
        assert sum(crowd.map(spend, range(2_000))) == 500
