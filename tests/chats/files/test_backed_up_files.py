"""A backup has the files of its moment beside it, and a restore puts back what is missing."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from config.backups import save_and_restore, stored_files
from sessions_app.models import StoredFile
from tests.chats.files.conftest import Upload
from tests.support.chat import Chat
from tests.support.files import PNG, stored


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    (tmp_path / "backups").mkdir()
    return tmp_path / "backups" / "store.sqlite3"


def test_lost_files_come_back(chat: Chat, sent: Upload, folder: Path, backup: Path) -> None:
    reference = sent(PNG).json()["file"]
    stored_files.save(backup)
    sent(b"after the backup")
    stored(folder)[0].unlink()
    (folder / StoredFile.objects.get(size_bytes=len(PNG)).key).unlink(missing_ok=True)
    stored_files.restore(backup)
    assert chat.api.get(f"/files/{reference}").getvalue() == PNG
    [kept] = stored(stored_files.folder_of(backup))
    assert kept.read_bytes() == PNG
    assert stored_files.folder_of(backup).stat().st_mode & 0o777 == 0o700


def test_a_second_pass_adds_what_was_stored_meanwhile(sent: Upload, backup: Path) -> None:
    sent(PNG)
    stored_files.save(backup)
    sent(b"during the backup")
    stored_files.save(backup)
    assert len(stored(stored_files.folder_of(backup))) == 2


def test_a_store_on_a_read_only_disk_is_backed_up_elsewhere(
    sent: Upload, tmp_path: Path, backup: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """The obstacles here stop root too: no lock and no folder can be made."""
    sent(PNG)
    settings.DATA_DIR = tmp_path / "data"
    (tmp_path / "data" / "backup.lock").mkdir(parents=True)
    (tmp_path / "data" / "backups").write_text("no folder")
    engine = SimpleNamespace(ENDING=".sqlite3", dump=lambda file: file.write_text("the store"))
    monkeypatch.setattr(save_and_restore, "_engine", lambda: engine)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_RDONLY))
    assert save_and_restore.save(backup).read_text() == "the store"
    assert len(stored(stored_files.folder_of(backup))) == 1
    with pytest.raises(OSError, match="File exists"):
        save_and_restore.save()


def test_a_disk_without_links_gets_copies(sent: Upload, folder: Path, backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError

    sent(PNG)
    monkeypatch.setattr(Path, "hardlink_to", refuse)
    stored_files.save(backup)
    [copied] = stored(stored_files.folder_of(backup))
    assert (copied.read_bytes(), copied.stat().st_nlink) == (PNG, 1)


def test_nothing_is_made_where_there_are_no_files(db: None, backup: Path) -> None:
    stored_files.save(backup)
    stored_files.restore(backup)
    assert not stored_files.folder_of(backup).exists()
