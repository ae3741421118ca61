"""A store that refuses writes: the tool says so, serves the value, and writes it as soon as it can."""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from mcp_app.core import held_values
from mcp_app.core.calls import Call
from mcp_app.core.outcomes import Outcome
from mcp_app.core.tool import run_tool
from mcp_app.tools.catalog import TOOLS
from memory_app.key_value.entries import entry_writer
from memory_app.key_value.entries.entry_values import NewEntry
from memory_app.key_value.entries.services import put_entry
from memory_app.models import MemoryStore
from memory_app.runs.services import Held as RunEnd
from memory_app.runs.services import end_run, start_run
from sessions_app.accounts import api_keys
from sessions_app.core.callers import caller_of_user
from sessions_app.core.web.preconditions import ANY
from sessions_app.models import ApiKey, Caller, Project
from tests.support.databases import only_reading

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def read_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched, only_reading():
        patched.setattr(held_values, "leave_read_only", lambda refusal: None)
        yield
        time.sleep(0.002)  # Times have milliseconds: what is stored after the block is newer.


@pytest.fixture(autouse=True)
def nothing_held() -> Iterator[None]:
    yield
    held_values._held.clear()


@pytest.fixture
def caller(alice: User) -> Caller:
    return with_key(alice)


def with_key(user: User, **key: Any) -> Caller:
    row = api_keys.create_key(caller=caller_of_user(user), **key).row
    return Caller(user.pk, user.username, row.pk, "key", frozenset(row.scope_list), row.project_id)


def store(caller: Caller, **arguments: Any) -> Outcome:
    place = {"namespace": "notes", "key": "k"}
    return run_tool(TOOLS["session_store"], Call(caller, "/home/alice/shop"), place | arguments)


def test_scenario_16_a_value_that_the_store_refuses_is_kept_served_and_written_later(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(caller, action="save", data="old")
    with read_only(monkeypatch):
        refused = store(caller, action="save", data="new")
        assert refused.is_error
        assert refused.data["kept_in_memory"] is True
        assert "is kept in the server's memory" in refused.text
        assert refused.data["error"]["code"] == "store_read_only"
        served = store(caller, action="load")
        assert (served.data["stored"]["value"], served.data["kept_in_memory"]) == ("new", True)
        held_values.write_again()
        assert store(caller, action="load").data["kept_in_memory"] is True
    held_values.write_again()
    written = store(caller, action="load")
    assert written.data["stored"]["value"] == "new"
    assert "kept_in_memory" not in written.data


def test_a_newer_value_is_not_overwritten_by_one_that_was_kept(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    store(caller, action="save", data="old")
    with read_only(monkeypatch):
        store(caller, action="save", data="kept")
    assert not store(caller, action="save", data="newer").is_error
    held_values.write_again()
    assert store(caller, action="load").data["stored"]["value"] == "newer"


@pytest.mark.parametrize("there", [True, False])
def test_nor_is_one_that_was_stored_after_the_clock_was_set_back(
    caller: Caller, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(caller, action="save", data="old", key="k" if there else "another")
    with read_only(monkeypatch):
        store(caller, action="save", data="kept")
    monkeypatch.setattr(entry_writer, "now", lambda: timezone.now() - timedelta(hours=1))
    project_id = Project.objects.get().id
    entry = NewEntry("notes", "k", "newer")
    put_entry(caller=caller, project_id=project_id, entry=entry, conditions=ANY, run_id=None)
    held_values.write_again()
    assert store(caller, action="load").data["stored"]["value"] == "newer"


def test_a_kept_value_is_served_to_its_owner_only(
    caller: Caller, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(caller, action="save", data="old")
    other, limited = with_key(bob), with_key(alice, project_path="/elsewhere")
    with read_only(monkeypatch):
        store(caller, action="save", data="kept")
        assert store(other, action="load").data["error"]["code"] == "not_found"
        assert store(limited, action="load").data["error"]["code"] == "not_found"
        assert store(with_no_key(caller), action="load").data["stored"]["value"] == "kept"


def test_a_key_of_another_project_has_nothing_kept_in_this_one(
    caller: Caller, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(caller, action="save", data="old")
    limited = with_key(alice, project_path="/elsewhere")
    with read_only(monkeypatch):
        store(caller, action="save", data="kept")
        for project in (None, "/home/alice/new"):
            refused = store(limited, action="save", data="foreign", **({} if project is None else {"project": project}))
            assert (refused.data["error"]["code"], "kept_in_memory" in refused.data) == ("other_project", False)
        assert store(caller, action="load").data["stored"]["value"] == "kept"
        assert store(caller, action="load", project="/home/alice/new").is_error
    held_values.write_again()
    assert store(caller, action="load").data["stored"]["value"] == "kept"


def with_no_key(caller: Caller) -> Caller:
    return Caller(caller.user_id, caller.username)


def test_a_key_that_was_revoked_meanwhile_writes_nothing(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    store(caller, action="save", data="old")
    with read_only(monkeypatch):
        store(caller, action="save", data="kept")
    ApiKey.objects.filter(user_id=caller.user_id).update(revoked_at=timezone.now())
    held_values.write_again()
    assert store(caller, action="load").data["stored"]["value"] == "old"


def test_what_does_not_fit_is_not_kept(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    store(caller, action="save", data="old")
    monkeypatch.setattr(held_values, "MOST_BYTES", 100)
    with read_only(monkeypatch):
        refused = store(caller, action="save", data="x" * 200)
        assert (refused.data["kept_in_memory"], "memory" in refused.text) == (False, False)
        assert store(caller, action="load").data["stored"]["value"] == "old"


def test_a_refusal_for_another_reason_keeps_nothing(caller: Caller) -> None:
    assert "kept_in_memory" not in store(caller, action="save", data="x" * 1_100_000).data
    assert "kept_in_memory" not in store(caller, action="load", key=str(uuid.uuid4())).data


def test_what_is_deleted_later_does_not_come_back(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    store(caller, action="save", data="old")
    with read_only(monkeypatch):
        store(caller, action="save", data="kept")
        assert store(caller, action="delete").data["error"]["code"] == "store_read_only"
        assert store(caller, action="load").data["stored"]["value"] == "kept"
    assert store(caller, action="delete").data["restorable"] is True
    held_values.write_again()
    assert store(caller, action="load").data["error"]["code"] == "not_found"


@pytest.mark.parametrize("writable", [True, False])
def test_a_delete_of_what_is_only_kept_is_done(caller: Caller, writable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    store(caller, action="save", data="another", key="another")
    with read_only(monkeypatch):
        store(caller, action="save", data="kept")
        if not writable:
            assert store(caller, action="delete").data["restorable"] is False
    if writable:
        assert store(caller, action="delete").data["restorable"] is False
    held_values.write_again()
    assert store(caller, action="load").data["error"]["code"] == "not_found"
    assert store(caller, action="delete").data["error"]["code"] == "not_found"


def test_a_delete_by_a_key_that_may_not_see_it_leaves_what_is_kept(
    caller: Caller, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(caller, action="save", data="another", key="another")
    limited = with_key(alice, project_path="/elsewhere")
    with read_only(monkeypatch):
        store(caller, action="save", data="kept")
    assert store(limited, action="delete").is_error
    held_values.write_again()
    assert store(caller, action="load").data["stored"]["value"] == "kept"


def test_what_a_lease_refuses_is_kept_until_it_is_free(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    store(caller, action="save", data="old")
    project = MemoryStore.objects.get().project_id
    with read_only(monkeypatch):
        store(caller, action="save", data="kept")
    run = start_run(caller=caller, project_id=project).run
    held_values.write_again()
    assert store(caller, action="load").data["kept_in_memory"] is True
    end_run(caller=caller, project_id=project, run_id=run.id, held=RunEnd())
    held_values.write_again()
    served = store(caller, action="load").data
    assert (served["stored"]["value"], "kept_in_memory" in served) == ("kept", False)


def test_what_a_quota_refuses_is_kept_until_there_is_room(caller: Caller, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store(caller, action="save", data="old")
    with read_only(monkeypatch):
        store(caller, action="save", data="x" * 200)
        store(caller, action="save", data="y", key="small")
    settings.PROJECT_BYTES = 100
    held_values.write_again()
    assert "kept_in_memory" not in store(caller, action="load", key="small").data, "the others are written"
    assert store(caller, action="load").data["kept_in_memory"] is True
    settings.PROJECT_BYTES = 1_000
    held_values.write_again()
    assert "kept_in_memory" not in store(caller, action="load").data


def test_what_was_stored_by_others_meanwhile_is_newer(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store(caller, action="save", data="old")
    with read_only(monkeypatch):
        store(caller, action="save", data="kept")
    put_entry(
        caller=caller,
        project_id=MemoryStore.objects.get().project_id,
        entry=NewEntry("notes", "k", "newer"),
        conditions=ANY,
        run_id=None,
    )
    held_values.write_again()
    assert store(caller, action="load").data["stored"]["value"] == "newer"
    assert "given up" in caplog.text


def test_the_log_tells_what_is_lost_at_the_end(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store(caller, action="save", data="old")
    with read_only(monkeypatch):
        store(caller, action="save", data="kept")
        held_values.write_last()
    assert "given up" in caplog.text
