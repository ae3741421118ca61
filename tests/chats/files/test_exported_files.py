"""An export carries the files; an import restores them, checks them, and takes no word of theirs for granted."""

import base64
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from sessions_app.core.callers import caller_of_user
from sessions_app.models import FileReference, StoredFile
from sessions_app.portability import file_pieces
from sessions_app.portability.imports.file_reader import BadFile
from sessions_app.portability.imports.services import import_file
from tests.chats.files.conftest import Upload
from tests.support.chat import Chat
from tests.support.files import PNG, stored, upload, with_file

CONTENT = bytes(range(256)) * 40


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_pieces, "PIECE_BYTES", 3_000)


@pytest.fixture
def exported(chat: Chat, sent: Upload) -> bytes:
    for number, content in enumerate((CONTENT, PNG, b"")):
        chat.ops(with_file(f"m{number}", sent(content, name=f"{number}.bin").json()["file"]))
    return bytes(chat.api.get("/export").getvalue())


def lines_of(export: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in export.splitlines()]


def sealed(lines: list[dict[str, Any]]) -> io.BytesIO:
    """The lines with a last line that fits them."""
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines[:-1])
    counts: dict[str, int] = {}
    for line in lines[1:-1]:
        counts[next(iter(line))] = counts.get(next(iter(line)), 0) + 1
    return io.BytesIO(
        body + json.dumps({"end": True, "counts": counts, "sha256": hashlib.sha256(body).hexdigest()}).encode() + b"\n"
    )


def erase_everything(chat: Chat) -> None:
    [project] = chat.api.get("/projects").json()["items"]
    chat.api.delete(f"/projects/{project['id']}?purge=1")
    StoredFile.objects.all().delete()


def test_files_come_back_with_their_messages(chat: Chat, exported: bytes, alice: User, folder: Path) -> None:
    erase_everything(chat)
    for path in stored(folder):
        path.unlink()
    done = import_file(caller=caller_of_user(alice), file=io.BytesIO(exported))
    assert (done.added["file"], done.added["session_file"]) == (3, 3)
    items = chat.get("files").json()["items"]
    assert [item["name"] for item in items] == ["0.bin", "1.bin", "2.bin"]
    assert [chat.api.get(f"/files/{item['file']}").getvalue() for item in items] == [CONTENT, PNG, b""]
    assert FileReference.objects.count() == 3
    again = import_file(caller=caller_of_user(alice), file=io.BytesIO(exported))
    assert (again.added.get("file", 0), again.present["file"]) == (0, 3)


def test_an_export_comes_back_byte_for_byte(chat: Chat, exported: bytes, alice: User) -> None:
    erase_everything(chat)
    import_file(caller=caller_of_user(alice), file=io.BytesIO(exported))
    assert lines_of(chat.api.get("/export").getvalue())[1:-1] == lines_of(exported)[1:-1]


@pytest.mark.parametrize(
    "damage", [CONTENT[:4_000], CONTENT[:-1] + b"?", CONTENT + b"?", b""], ids=["cut", "changed", "longer", "empty"]
)
def test_a_damaged_file_does_not_spoil_an_export(chat: Chat, exported: bytes, alice: User, folder: Path, damage: bytes) -> None:
    next(path for path in stored(folder) if path.stat().st_size == len(CONTENT)).write_bytes(damage)
    spoiled = bytes(chat.api.get("/export").getvalue())
    erase_everything(chat)
    done = import_file(caller=caller_of_user(alice), file=io.BytesIO(spoiled))
    assert (done.added["file"], done.added["message"]) == (2, 3)


def test_a_session_s_export_has_its_own_files_alone(chat: Chat, exported: bytes) -> None:
    other = Chat(chat.api, project="/another")
    upload(other, b"another")
    pieces = [line["file"] for line in lines_of(chat.get("export").getvalue()) if "file" in line]
    assert len(pieces) == 6
    assert {piece["sha256"] for piece in pieces} == {hashlib.sha256(content).hexdigest() for content in (CONTENT, PNG, b"")}
    assert next(line for line in lines_of(other.get("export").getvalue()) if "file" in line)["file"]["size_bytes"] == 7


def test_an_account_without_files_exports_as_before(chat: Chat) -> None:
    chat.say("m1", "Nothing but words.")
    first, *_ = lines_of(chat.api.get("/export").getvalue())
    assert "file" not in first["counts"]


def test_a_dry_run_stores_nothing(chat: Chat, exported: bytes, folder: Path) -> None:
    erase_everything(chat)
    before = len(stored(folder))
    answer = chat.api.client.generic("POST", "/api/v1/imports?dry_run=1", exported, content_type="application/x-ndjson")
    assert answer.status_code == 202
    from sessions_app.portability.imports.background_runner import ImportRunner

    runner = ImportRunner()
    while runner.work():
        pass
    told = chat.api.get(f"/imports/{answer.json()['id']}").json()
    assert (told["state"], told["found"]["files"], told["added"]["file"]) == ("done", 3, 3)
    assert (StoredFile.objects.count(), len(stored(folder))) == (0, before)


def _another_content(piece: dict[str, Any]) -> None:
    piece["data"] = base64.b64encode(b"x" * len(base64.b64decode(piece["data"]))).decode()


DAMAGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another content": _another_content,
    "a wrong offset": lambda piece: piece.update(offset=1),
    "no base64": lambda piece: piece.update(data="%%%"),
    "a hash that is a path": lambda piece: piece.update(sha256="../../etc/passwd"),
    "a size that is a text": lambda piece: piece.update(size_bytes="9"),
    "a time that is none": lambda piece: piece.update(created_at="now"),
    "an unknown field": lambda piece: piece.update(key="1/ab/x"),
    "another size": lambda piece: piece.update(size_bytes=piece["size_bytes"] + 1),
}


def test_a_damaged_file_is_refused_and_nothing_is_imported(
    chat: Chat, exported: bytes, alice: User, folder: Path, subtests: pytest.Subtests
) -> None:
    erase_everything(chat)
    for path in stored(folder):
        path.unlink()
    for name, damage in DAMAGES.items():
        with subtests.test(damage=name):
            lines = lines_of(exported)
            damage(lines[1]["file"])
            with pytest.raises(BadFile):
                import_file(caller=caller_of_user(alice), file=sealed(lines))
            assert (StoredFile.objects.count(), stored(folder)) == (0, [])


def test_a_file_that_is_too_large_here_is_named_as_such(exported: bytes, alice: User, settings: Any) -> None:
    settings.MAX_FILE_BYTES = 10_000
    with pytest.raises(
        BadFile, match=r"^Line 2 of the file: a file of a chat has 10,240 bytes, .* 10,000 bytes \(STILLHERE_MAX_FILE"
    ):
        import_file(caller=caller_of_user(alice), file=io.BytesIO(exported))


def test_a_file_that_is_cut_off_is_refused(exported: bytes, alice: User) -> None:
    lines = lines_of(exported)
    with pytest.raises(BadFile):
        import_file(caller=caller_of_user(alice), file=sealed([lines[0], *lines[2:]]))
    with pytest.raises(BadFile):
        import_file(caller=caller_of_user(alice), file=sealed([lines[0], lines[1], *lines[7:]]))


def test_an_imported_file_has_the_type_and_the_name_that_an_upload_gets(chat: Chat, exported: bytes, alice: User) -> None:
    erase_everything(chat)
    lines = lines_of(exported)
    for line in lines:
        if "file" in line:
            line["file"] |= {"media_type": "image/png", "name": "../../x\n.html"}
    import_file(caller=caller_of_user(alice), file=sealed(lines))
    told = {row.size_bytes: (row.media_type, row.name) for row in StoredFile.objects.all()}
    assert told[len(CONTENT)] == ("application/octet-stream", "x.html")
    assert told[len(PNG)] == ("image/png", "x.html")
