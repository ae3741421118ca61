"""A backup has the files of its moment beside it, and a restore puts back what is missing."""

from pathlib import Path
from typing import Any

import pytest

from config.backups import stored_files
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
