"""An import may store what its account may store, whichever way the file comes."""

from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from sessions_app.core.limits import quotas
from sessions_app.models import ChatSession, ImportJob, Project, StoredFile
from sessions_app.portability.imports import staging
from tests.portability.background_imports import post, work
from tests.support.chat import Chat
from tests.support.export_files import download, purge, upload
from tests.support.live_server import LiveServer

pytestmark = pytest.mark.django_db
MESSAGES, LENGTH = 40, 10_000


@pytest.fixture(autouse=True)
def counted_again(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a process that has not counted yet, such as a command's."""
    monkeypatch.setattr(quotas, "RECOUNTED_EVERY", 0.0)
    quotas.forget()
    yield
    quotas.forget()


@pytest.fixture
def exported(api: Callable[..., Any], alice: User, tmp_path: Path) -> Path:
    """The file of an account with 400 KB of messages; what it held is gone."""
    mine = api(alice)
    chat = Chat(mine)
    for number in range(MESSAGES):
        chat.say(f"m{number}", "x" * LENGTH)
    return written(mine, tmp_path)


def written(api: Any, folder: Path) -> Path:
    path = folder / "all.ndjson"
    path.write_bytes(download(api))
    purge(api)
    quotas.forget()
    return path


def run_import(path: Path) -> str:
    said = StringIO()
    call_command("import", "--user", "alice", str(path), stdout=said)
    return said.getvalue()


def test_the_command_stores_no_more_than_the_account_may(exported: Path, settings: Any) -> None:
    settings.ACCOUNT_BYTES = 150_000
    with pytest.raises(CommandError, match=r"This account may store 150,000 bytes and has [\d,]+; this needs [\d,]+ more\."):
        run_import(exported)
    assert not Project.objects.exists()
    assert not ChatSession.objects.exists()
    assert ImportJob.objects.filter(error__code="quota_exceeded").exists()
    settings.ACCOUNT_BYTES = MESSAGES * LENGTH + 5_000
    assert f"message: {MESSAGES} added" in run_import(exported)


def test_what_is_there_needs_no_room(exported: Path, settings: Any) -> None:
    run_import(exported)
    settings.ACCOUNT_BYTES = 1_000
    assert f"message: 0 added, {MESSAGES} there before" in run_import(exported)


def test_a_continued_import_counts_what_it_staged_before(exported: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    flush, flushed = staging.Staging.flush, []

    def cut_off(self: staging.Staging, reader: Any) -> None:
        flush(self, reader)
        flushed.append(reader.line)
        if len(flushed) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(staging, "PIECE_BYTES", 100_000)
    settings.ACCOUNT_BYTES = 350_000
    monkeypatch.setattr(staging.Staging, "flush", cut_off)
    with pytest.raises(KeyboardInterrupt):
        run_import(exported)
    monkeypatch.setattr(staging.Staging, "flush", flush)
    ImportJob.objects.update(heartbeat_at=None)
    quotas.forget()
    with pytest.raises(CommandError, match="This account may store"):
        run_import(exported)


def test_files_of_chats_count_before_they_are_stored(api: Callable[..., Any], alice: User, tmp_path: Path, settings: Any) -> None:
    mine = api(alice)
    chat = Chat(mine)
    sent = mine.client.post(f"/api/v1/sessions/{chat.id}/files?name=a.bin", b"y" * 300_000, "application/octet-stream").json()
    chat.ops({"op": "upsert", "id": "m", "role": "user", "parts": [{"type": "file", "file": sent["file"]}]})
    path = written(mine, tmp_path)
    StoredFile.objects.all().delete()
    quotas.forget()
    settings.ACCOUNT_BYTES = 200_000
    with pytest.raises(CommandError, match="This account may store 200,000 bytes"):
        run_import(path)
    assert not StoredFile.objects.exists()
    settings.ACCOUNT_BYTES = 310_000
    assert "file: 1 added" in run_import(path)


@pytest.mark.parametrize("counted", [0.0, 60.0])
@pytest.mark.parametrize("in_background", [False, True])
def test_a_file_that_the_server_was_sent_counts_once(
    exported: Path,
    api: Callable[..., Any],
    alice: User,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    counted: float,
    in_background: bool,
) -> None:
    """It was counted when it came, and its content is no larger."""
    monkeypatch.setattr(quotas, "RECOUNTED_EVERY", counted)
    mine, content = api(alice), exported.read_bytes()
    settings.ACCOUNT_BYTES = len(content) + 5_000
    if in_background:
        job = post(mine, content)
        work()
        answer = mine.get(f"/imports/{job['id']}")
        assert answer.json()["error"] is None
    else:
        answer = upload(mine, content)
    assert answer.status_code == 200, answer.content
    assert answer.json()["added"]["message"] == MESSAGES


@pytest.mark.django_db(transaction=True)
def test_a_file_above_a_minute_s_bytes_comes_in_beside_saves(
    exported: Path, server: LiveServer, secret: str, settings: Any
) -> None:
    settings.RATE_WRITE_BYTES = 30_000
    headers = {"Authorization": f"Bearer {secret}"}
    with httpx.Client(base_url=f"{server.url}/api/v1", headers=headers) as client:

        def save(path: str) -> int:
            return client.post("/projects", json={"path": path}).status_code

        assert save("/before") == 201
        assert client.post("/imports", content=exported.read_bytes()).status_code == 202
        assert save("/after") == 201
        refused = client.post("/imports", content=exported.read_bytes())
        assert (refused.status_code, refused.json()["error"]["details"]["counted"]) == (429, "bytes imported")
