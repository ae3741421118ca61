"""Export and import: everything, exactly, once, or nothing."""

import errno
import hashlib
import io
import itertools
import json
import os
import tracemalloc
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from sessions_app.core import spooled_file
from sessions_app.core.callers import caller_of_user
from sessions_app.models import (
    ApiKey,
    Event,
    FileReference,
    FlushToken,
    ImportJob,
    Login,
    Message,
    Project,
    Purge,
    SaveReceipt,
    SessionTag,
    Store,
    StoredFile,
)
from sessions_app.models.credentials import SignInLink, SocketTicket
from sessions_app.portability.content_kinds import export_kinds
from sessions_app.portability.exports.export_file import export_account
from sessions_app.portability.imports.services import import_file
from tests.support.account_contents import everything, fill, projects
from tests.support.chat import Chat
from tests.support.export_files import download, purge, resealed, round_trip, rows, upload, with_fresh_ids
from tests.support.suite import is_patient

pytestmark = pytest.mark.django_db


def test_an_account_comes_back_byte_for_byte(api: Callable[..., Any], alice: User) -> None:
    round_trip(api(alice), alice, sessions=12 if is_patient() else 6)


@pytest.mark.prove
def test_an_account_of_200_sessions_comes_back_byte_for_byte(api: Callable[..., Any], alice: User) -> None:
    round_trip(api(alice), alice, sessions=200)


def test_every_table_is_exported_or_is_known_to_stay() -> None:
    """A new kind of content has its row among the kinds; secrets, indexes and what is only true here are named."""
    stays = {ApiKey, Event, FlushToken, ImportJob, Login, Purge, SaveReceipt, SessionTag, SignInLink, SocketTicket, Store}
    # The content of files has lines of its own, and the database's triggers write the references.
    stays |= {FileReference, StoredFile}
    models = {model for model in apps.get_models() if model.__module__.startswith(("sessions_app.", "memory_app.", "nouns."))}
    assert models == {kind.model for kind in export_kinds()} | stays


def test_importing_twice_is_importing_once(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    fill(mine, 2)
    content = download(mine)
    purge(mine)
    first = upload(mine, content).json()
    before = everything(mine)
    second = upload(mine, content).json()
    assert second["added"] == {}
    assert sum(second["present"].values()) == sum(first["added"].values()) + sum(first["present"].values())
    assert everything(mine) == before


def test_the_first_and_the_last_line_tell_what_is_between(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    fill(mine, 3)
    lines = download(mine).splitlines()
    first, last = json.loads(lines[0]), json.loads(lines[-1])
    assert (first["format"], first["version"], first["of"]) == ("stillhere-export", 1, "account")
    assert first["counts"] == last["counts"]
    assert sum(last["counts"].values()) == len(lines) - 2
    assert last["sha256"] == hashlib.sha256(b"".join(line + b"\n" for line in lines[:-1])).hexdigest()


def test_a_session_alone_comes_back_into_its_project(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    fill(mine, 3)
    session = Chat(mine, project="/home/alice/0")
    session.say("a", "kept")
    addresses = [f"/sessions/{session.id}{path}" for path in ("", "/messages?since_rev=0", "/removed", "/conflicts")]
    before = [mine.get(address).content for address in addresses]
    content = download(mine, f"/sessions/{session.id}/export")
    mine.delete(f"/sessions/{session.id}?purge=1")
    done = upload(mine, content).json()
    assert (done["added"]["session"], done["present"]) == (1, {"project": 1})
    assert [mine.get(address).content for address in addresses] == before
    project = json.loads(before[0])["session"]["project_id"]
    events = mine.get(f"/projects/{project}/events?since=0&limit=500").json()["items"]
    assert [event["type"] for event in events if event.get("session") == session.id][-1] == "SESSION_CREATED"


def test_an_old_file_undoes_nothing(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    chat = Chat(mine)
    chat.say("a", "first")
    content = download(mine)
    chat.say("a", "second")
    mine.patch(f"/sessions/{chat.id}", {"archived": True})
    assert upload(mine, content).json()["added"] == {}
    assert chat.texts() == ["second"]
    assert mine.get(f"/resume?project={chat.project}").status_code == 404


def test_another_account_takes_it_where_the_ids_are_free(api: Callable[..., Any], alice: User, bob: User) -> None:
    alice_api, bob_api = api(alice), api(bob)
    fill(alice_api, 4)
    content = download(alice_api)
    refused = upload(bob_api, content)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "id_taken")
    assert refused.json()["error"]["details"]["kind"] == "project"
    assert projects(bob_api) == []
    purge(alice_api)
    assert upload(bob_api, content).status_code == 200
    assert len(projects(bob_api)) == 3
    assert rows(download(bob_api)) == rows(content)


def test_somebody_elses_session_or_copy_is_never_taken_over(api: Callable[..., Any], alice: User, bob: User) -> None:
    alice_api, bob_api = api(alice), api(bob)
    fill(alice_api, 1)
    lines = download(alice_api).splitlines()[:-1]
    kept = everything(alice_api)
    for kinds in (["project"], ["project", "session"]):
        changed = [with_fresh_ids(line, kinds) for line in lines]
        answer = upload(bob_api, resealed(changed))
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "id_taken")
        assert projects(bob_api) == []
    assert everything(alice_api) == kept


def test_a_path_that_is_taken_takes_the_sessions_in(api: Callable[..., Any], alice: User, bob: User) -> None:
    alice_api, bob_api = api(alice), api(bob)
    chat = Chat(alice_api, project="/shared")
    chat.say("a", "hers")
    own = Chat(bob_api, project="/shared")
    content = download(alice_api)
    purge(alice_api)
    assert upload(bob_api, content).json()["added"]["session"] == 1
    assert len(projects(bob_api)) == 1
    assert bob_api.get(f"/sessions/{chat.id}").json()["messages"][0]["text"] == "hers"
    assert bob_api.get("/resume?project=/shared").json()["session"]["id"] == own.id


def test_a_key_for_one_project_exports_and_imports_that_project_alone(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    fill(mine, 6)
    limited = api(alice, project_path="/home/alice/1")
    content = download(limited)
    kinds = [next(iter(json.loads(line))) for line in rows(content)]
    assert kinds.count("project") == 1
    assert "app_state" not in kinds
    assert json.loads(content.splitlines()[0])["counts"] == json.loads(content.splitlines()[-1])["counts"]
    assert upload(limited, content).json()["added"] == {}
    other = upload(limited, download(mine))
    assert (other.status_code, other.json()["error"]["code"]) == (403, "other_project")


def test_no_secret_is_exported(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    alice.set_password("correct horse battery")
    alice.save()
    fill(mine, 2)
    content = download(mine)
    assert alice.password.encode() not in content
    for key in alice.api_keys.all():
        assert key.key_sha256.encode() not in content
        assert key.prefix.encode() not in content
    assert b"body_sha256" not in content


@pytest.mark.slow
@pytest.mark.scale
def test_an_account_of_30_megabytes_passes_through_little_memory(api: Callable[..., Any], alice: User, tmp_path: Path) -> None:
    chat = Chat(api(alice))
    texts = ("x" * 100_000 for _ in itertools.count())
    some = Message(session_id=chat.id, epoch=1, role="user", status="complete", rev=1)
    for number in range(300):
        some.pk, some.message_id, some.position, some.text = None, f"m{number}", number + 1, next(texts)
        some.save(force_insert=True)
    path = tmp_path / "out"
    tracemalloc.start()
    try:
        with path.open("wb") as file:
            export_account(caller=caller_of_user(alice), to=file)
        purge(api(alice))
        with path.open("rb") as file:
            import_file(caller=caller_of_user(alice), file=file)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 30_000_000


def test_the_commands_do_the_same(api: Callable[..., Any], alice: User, tmp_path: Path) -> None:
    mine = api(alice)
    fill(mine, 2)
    before = everything(mine)
    file = tmp_path / "alice.ndjson"
    call_command("export", "--user", "alice", "--to", str(file))
    assert file.stat().st_mode & 0o777 == 0o600
    assert rows(file.read_bytes()) == rows(download(mine))
    purge(mine)
    said = io.StringIO()
    call_command("import", "--user", "alice", str(file), stdout=said)
    assert "session: 2 added, 0 there before" in said.getvalue()
    assert everything(mine) == before
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(CommandError, match="Nothing was imported"):
        call_command("import", "--user", "alice", str(file))
    with pytest.raises(CommandError, match="no user"):
        call_command("export", "--user", "nobody")
    assert list(tmp_path.iterdir()) == [file]


def test_a_device_or_a_pipe_is_not_replaced_by_an_export(alice: User, tmp_path: Path) -> None:
    """As root, `--to /dev/null` left a file there that nobody else could write."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(CommandError, match="no plain file"):
        call_command("export", "--user", "alice", "--to", str(pipe))
    assert pipe.is_fifo()
    with pytest.raises(CommandError, match="nowhere"):
        call_command("export", "--user", "alice", "--to", str(tmp_path / "nowhere" / "file"))


def test_a_full_disk_is_not_taken_for_a_file_that_cannot_be_read(
    alice: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = tmp_path / "alice.ndjson"
    call_command("export", "--user", "alice", "--to", str(file))
    monkeypatch.setattr(import_module("config.management.commands.import"), "import_file", full)
    with pytest.raises(CommandError, match="disk is full"):
        call_command("import", "--user", "alice", str(file))


@pytest.mark.parametrize("path", ["/export", "/sessions/{session}/export", "/sessions/{session}/export.md"])
def test_an_export_that_the_disk_does_not_take_says_so(
    api: Callable[..., Any], alice: User, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """It is written to the disk before it is sent."""
    chat = Chat(api(alice))

    class Full(io.BytesIO):
        def write(self, _: Any) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(spooled_file, "SpooledTemporaryFile", lambda *_, **__: Full())
    refused = chat.api.get(path.format(session=chat.id))
    assert (refused.status_code, refused.json()["error"]["code"]) == (507, "storage_full")


def test_an_import_of_nothing_says_so(alice: User, tmp_path: Path) -> None:
    file, said = tmp_path / "empty.ndjson", io.StringIO()
    call_command("export", "--user", "alice", "--to", str(file))
    call_command("import", "--user", "alice", str(file), stdout=said)
    assert said.getvalue() == "Nothing was added: this export has no content.\n"


@pytest.mark.parametrize("into_existing", [False, True])
def test_a_file_makes_no_deleted_session_the_current_one(api: Callable[..., Any], alice: User, into_existing: bool) -> None:
    mine = api(alice)
    chat = Chat(mine, project="/p")
    chat.say("m1", "text")
    file = download(mine).splitlines()[:-1]
    purge(mine)
    if into_existing:
        assert mine.post("/projects", {"path": "/p"}).status_code == 201
    wrong = [
        line.replace(b'"deleted_at":null', b'"deleted_at":"2026-01-01T00:00:00.000000Z"') if b'{"session":' in line else line
        for line in file
    ]
    assert wrong != file
    assert upload(mine, resealed(wrong)).status_code == 200
    assert Project.objects.get(path="/p").current_session_id is None
    assert mine.get("/resume?project=/p").json()["error"]["code"] == "nothing_saved"
