"""A file stays while a message or a conflict copy names it, wherever that is, and for a day after its upload; then it goes."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections, transaction
from django.utils.timezone import now

from sessions_app.chats.files import blobs, collection
from sessions_app.chats.files.collection import KEPT_FOR, collect_files, collect_orphans
from sessions_app.chats.lifecycle.deletion import delete_account
from sessions_app.chats.lifecycle.pruning import prune
from sessions_app.core.storage import transactions
from sessions_app.models import ChatSession, FileReference, Message, StoredFile
from tests.chats.files.conftest import Upload
from tests.support.chat import Chat
from tests.support.files import stored, upload, with_file

A_MONTH = timedelta(days=30, minutes=1)


def make_old() -> None:
    StoredFile.objects.update(uploaded_at=now() - KEPT_FOR - timedelta(minutes=1))


def is_kept(folder: Path) -> bool:
    """Whether the only file survives a collection a day after its upload."""
    make_old()
    collect_files()
    rows, contents = StoredFile.objects.count(), len(stored(folder))
    assert rows == contents
    return rows == 1


@pytest.fixture
def reference(sent: Upload) -> str:
    return str(sent(b"content").json()["file"])


def test_a_file_without_a_message_goes_after_a_day(reference: str, folder: Path) -> None:
    assert collect_files() == 0
    assert StoredFile.objects.exists()
    assert not is_kept(folder)
    assert collect_files() == 0


def test_an_upload_of_what_is_there_begins_the_day_again(sent: Upload, reference: str) -> None:
    make_old()
    assert sent(b"content").status_code == 200
    assert collect_files() == 0


HOLDERS: dict[str, Callable[[Chat, str], Any]] = {
    "a part": lambda chat, file: chat.ops(with_file("m1", file)),
    "a url": lambda chat, file: chat.ops(with_file("m1", "", url=f"https://chat.example/api/v1/files/{file}")),
    "metadata": lambda chat, file: chat.ops({"op": "upsert", "id": "m1", "role": "user", "text": "", "metadata": {"a": [file]}}),
    "a framework's own message": lambda chat, file: chat.ops(
        {
            "op": "upsert",
            "id": "m1",
            "format": "openai.chat",
            "raw": {"role": "user", "content": [{"type": "file", "file": {"file_id": file}}]},
        }
    ),
    "a patch": lambda chat, file: (chat.say("m1", "Look."), chat.ops({**with_file("m1", file), "op": "patch", "role": "user"})),
    "a removed message": lambda chat, file: (chat.ops(with_file("m1", file)), chat.ops({"op": "delete", "id": "m1"})),
    "a cleared one": lambda chat, file: (chat.ops(with_file("m1", file)), chat.clear()),
    "one in the trash": lambda chat, file: (chat.ops(with_file("m1", file)), chat.api.delete(f"/sessions/{chat.id}")),
    "a conflict copy": lambda chat, file: (
        chat.say("m1", "Mine."),
        Chat(chat.api, session_id=chat.id).ops(with_file("m1", file)),
    ),
    "a fork of a purged session": lambda chat, file: (
        chat.ops(with_file("m1", file)),
        chat.post("fork"),
        chat.api.delete(f"/sessions/{chat.id}?purge=1"),
    ),
    "a copy in another project": lambda chat, file: (
        chat.ops(with_file("m1", file)),
        Chat(chat.api, project="/another"),
        chat.post("transfer", to_project="/another", include=["messages"]),
        chat.api.delete(f"/sessions/{chat.id}?purge=1"),
    ),
    "a session that was moved": lambda chat, file: (
        chat.ops(with_file("m1", file)),
        chat.api.post(f"/sessions/{chat.id}/move", {"to_project": "/another"}),
    ),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_what_names_a_file_keeps_it(chat: Chat, reference: str, folder: Path, name: str) -> None:
    HOLDERS[name](chat, reference)
    assert FileReference.objects.exists()
    assert is_kept(folder)


RELEASES: dict[str, Callable[[Chat], Any]] = {
    "a purge": lambda chat: chat.api.delete(f"/sessions/{chat.id}?purge=1"),
    "another content": lambda chat: chat.ops({"op": "upsert", "id": "m1", "role": "user", "text": "Nothing."}),
    "a patch": lambda chat: chat.ops({"op": "patch", "id": "m1", "parts": [{"type": "text", "text": "Nothing."}]}),
    "an old removal": lambda chat: (
        chat.ops({"op": "delete", "id": "m1"}),
        Message.objects.update(updated_at=now() - A_MONTH),
        prune(),
    ),
    "an old trash": lambda chat: (
        chat.api.delete(f"/sessions/{chat.id}"),
        ChatSession.objects.update(deleted_at=now() - A_MONTH),
        prune(),
    ),
    "a purged project": lambda chat: chat.api.delete(f"/projects/{ChatSession.objects.get().project_id}?purge=1"),
}


@pytest.mark.parametrize("name", RELEASES)
def test_what_no_longer_names_it_releases_it(chat: Chat, reference: str, folder: Path, name: str) -> None:
    chat.ops(with_file("m1", reference))
    RELEASES[name](chat)
    assert not FileReference.objects.exists()
    assert not is_kept(folder)


def test_a_message_that_came_before_its_file_keeps_it(chat: Chat, sent: Upload, folder: Path) -> None:
    early = "sha256:ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73"
    chat.ops(with_file("m1", early))
    assert not FileReference.objects.exists()
    assert sent(b"content").json()["file"] == early
    assert is_kept(folder)
    chat.api.delete(f"/sessions/{chat.id}?purge=1")
    assert not is_kept(folder)


def test_somebody_else_s_message_keeps_nothing(reference: str, folder: Path, api: Callable[..., Any], bob: User) -> None:
    Chat(api(bob), project="/bobs").ops(with_file("m1", reference))
    assert not is_kept(folder)


def test_a_message_without_files_writes_no_reference(chat: Chat) -> None:
    chat.ops(with_file("m1", "sha256:" + "0" * 64), {"op": "upsert", "id": "m2", "role": "user", "text": "sha256:"})
    assert not FileReference.objects.exists()


def test_damaged_json_names_nothing_and_harms_nothing(chat: Chat, reference: str) -> None:
    chat.say("m1", "Fine.")
    Message.objects.update(parts=f'[{{"file": "{reference}"')
    Message.objects.update(parts=f'[{{"file": "{reference}"}}]')
    assert FileReference.objects.count() == 1


@pytest.fixture
def store_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blobs, "store_made_at", lambda: now() - timedelta(days=365 * 100))


@pytest.mark.usefixtures("store_is_old")
def test_content_without_a_row_goes_once_it_is_old(reference: str, folder: Path) -> None:
    [kept] = stored(folder)
    old, young, unknown = kept.with_name("old.part"), kept.with_name("young"), folder / "999" / "ab" / "left"
    unknown.parent.mkdir(parents=True)
    for path in (old, young, unknown):
        path.write_bytes(b"left behind")
    for path in (kept, old, unknown):
        os.utime(path, (0, 0))
    collect_orphans()
    assert set(stored(folder)) == {kept, young}


def test_what_another_store_put_into_the_folder_stays(
    reference: str, folder: Path, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server on SQLite that is started on PostgreSQL for once has the files of both in its data folder."""
    own = StoredFile.objects.get().key
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(blobs, "store_made_at", lambda: now() - timedelta(days=9))
        others = folder / blobs.new_key(alice.pk, "ab" * 32)
    # As keys were before they told their store: made before this store was.
    before = folder / f"{alice.pk}/cd/{'cd' * 32}-0123456789ab"
    for path in (others, before):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"of another store")
    for path in (others, before, folder / own):
        os.utime(path, (1e9, 1e9))
    collect_orphans()
    assert set(stored(folder)) == {others, before, folder / own}
    delete_account(user_id=alice.pk)
    assert set(stored(folder)) == {others, before}


def test_an_account_takes_its_files_with_it(reference: str, folder: Path, alice: User) -> None:
    delete_account(user_id=alice.pk)
    assert not StoredFile.objects.exists()
    assert stored(folder) == []


@contextmanager
def in_another_thread(work: Callable[[], Any]) -> Iterator[Any]:
    def closing() -> Any:
        try:
            return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(closing)


@pytest.mark.django_db(transaction=True)
def test_a_save_that_is_not_committed_yet_keeps_its_file(chat: Chat, sent: Upload, folder: Path) -> None:
    reference = sent(b"content").json()["file"]
    make_old()
    saved, collected = threading.Event(), threading.Event()

    def save() -> None:
        with transaction.atomic():
            chat.ops(with_file("m1", reference))
            saved.set()
            # On SQLite the collection waits for this commit; on PostgreSQL it leaves the file alone.
            collected.wait(0.3)

    with in_another_thread(save) as saving:
        assert saved.wait(10)
        assert collect_files() == 0
        collected.set()
        saving.result()
    assert is_kept(folder)


@pytest.mark.django_db(transaction=True)
def test_a_save_during_a_deletion_comes_after_it(chat: Chat, sent: Upload, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reference = sent(b"content").json()["file"]
    make_old()
    deleted, go_on, write = threading.Event(), threading.Event(), transactions.write

    def held(work: Callable[[], Any]) -> Any:
        def slowly() -> Any:
            result = work()
            deleted.set()
            go_on.wait(0.3)
            return result

        return write(slowly)

    monkeypatch.setattr(collection, "write", held)
    with in_another_thread(collect_files) as collecting:
        assert deleted.wait(10)
        chat.ops(with_file("m1", reference))
        go_on.set()
        assert collecting.result() == 1
    assert not FileReference.objects.exists()
    assert not StoredFile.objects.exists()
    assert chat.api.get(f"/files/{reference}").status_code == 404
    # The client uploads it again, and all is well.
    assert sent(b"content").status_code == 201
    assert is_kept(folder)


@pytest.mark.django_db(transaction=True)
def test_uploads_of_one_content_at_once_store_it_once(chat: Chat, folder: Path) -> None:
    start = threading.Barrier(4)

    def send(number: int) -> int:
        try:
            start.wait(10)
            return int(upload(chat, b"content", name=f"{number}.txt").status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(send, range(4)))
    assert set(codes) <= {200, 201}
    assert StoredFile.objects.count() == 1
    assert len(stored(folder)) == 1
