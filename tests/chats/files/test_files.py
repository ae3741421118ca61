"""Upload, list and download: one content once, for its owner alone, and shown only if it is an image."""

import hashlib
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile

from sessions_app.core.limits import quotas
from sessions_app.models import SessionFile, StoredFile
from tests.chats.files.conftest import Upload
from tests.support.chat import Chat
from tests.support.files import PNG, stored, upload, with_file


def reference_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def got(chat: Chat, content: bytes, **headers: str) -> Any:
    """The response, read to its end: `body` is its content."""
    answer = chat.api.get(f"/files/{reference_of(content)}", **headers)
    answer.body = answer.getvalue()
    return answer


def test_a_file_comes_back_byte_for_byte(chat: Chat, sent: Upload, folder: Path) -> None:
    content = bytes(range(256)) * 1000
    answer = sent(content, name="data.bin", media_type="application/x-data; charset=binary")
    told = {"file": reference_of(content), "name": "data.bin", "media_type": "application/x-data", "size_bytes": len(content)}
    assert (answer.status_code, answer.json()) == (201, told)
    back = got(chat, content)
    assert (back.status_code, back.body) == (200, content)
    assert chat.api.get(f"/files/{reference_of(content)[7:]}").getvalue() == content
    [path] = stored(folder)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_the_same_content_again_is_stored_once(chat: Chat, sent: Upload, folder: Path) -> None:
    assert sent(b"same", name="a.txt").status_code == 201
    again = sent(b"same", name="b.txt")
    assert (again.status_code, again.json()["name"]) == (200, "b.txt")
    other = Chat(chat.api, project="/another")
    assert upload(other, b"same", name="c.txt").status_code == 200
    assert StoredFile.objects.count() == 1
    assert len(stored(folder)) == 1
    assert [item["name"] for item in chat.get("files").json()["items"]] == ["b.txt"]
    assert [item["name"] for item in other.get("files").json()["items"]] == ["c.txt"]


def test_a_form_with_one_file_is_a_file(chat: Chat) -> None:
    address = f"/api/v1/sessions/{chat.id}/files"
    answer = chat.api.client.post(address, {"file": SimpleUploadedFile("a b.png", PNG, "text/html"), "note": "ignored"})
    assert (answer.status_code, answer.json()["name"], answer.json()["media_type"]) == (201, "a b.png", "image/png")
    two = chat.api.client.post(address, {"a": SimpleUploadedFile("a", b"a"), "b": SimpleUploadedFile("b", b"b")})
    none = chat.api.client.post(address, {"note": "no file"})
    assert (two.status_code, none.status_code) == (422, 422)
    broken = chat.api.client.generic("POST", address, b"--x\r\nContent-Disp", content_type="multipart/form-data; boundary=y")
    assert broken.status_code in {400, 422}
    assert StoredFile.objects.count() == 1


def test_an_empty_file_is_a_file(chat: Chat, sent: Upload) -> None:
    assert sent(b"").json()["size_bytes"] == 0
    assert got(chat, b"").body == b""


IMAGES = {
    "image/png": PNG,
    "image/jpeg": b"\xff\xd8\xff\xe0\0\x10JFIF",
    "image/gif": b"GIF89a\x01\0",
    "image/webp": b"RIFF\x10\0\0\0WEBPVP8 ",
    "image/avif": b"\0\0\0\x1cftypavif\0\0\0\0",
}


@pytest.mark.parametrize("media_type", IMAGES)
def test_an_image_is_shown_with_its_type_whatever_was_declared(chat: Chat, sent: Upload, media_type: str) -> None:
    content = IMAGES[media_type]
    assert sent(content, name="x.html", media_type="text/html").json()["media_type"] == media_type
    answer = got(chat, content)
    assert (answer["Content-Type"], answer["Content-Disposition"]) == (media_type, 'inline; filename="x.html"')
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"].startswith("sandbox; default-src 'none'")


HOSTILE = {
    b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>": "image/svg+xml",
    b"<script>alert(1)</script>": "text/html",
    b"<?xml version='1.0'?><html/>": "application/xhtml+xml",
    b"%PDF-1.4": "application/pdf",
    b" " + PNG: "image/png",
    b"GIF87": "image/gif",
}


@pytest.mark.parametrize("content", HOSTILE)
def test_what_is_no_image_is_a_download_and_never_a_page(chat: Chat, sent: Upload, content: bytes) -> None:
    assert sent(content, name="x", media_type=HOSTILE[content]).status_code == 201
    answer = got(chat, content)
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    assert answer["Content-Type"] not in IMAGES


@pytest.mark.parametrize(
    "media_type", ["", "nonsense", "a/b/c", "text/ht\u00e4ml", "x/" + "y" * 200, "application/x-www-form-urlencoded"]
)
def test_a_type_that_is_none_is_unknown(sent: Upload, media_type: str) -> None:
    assert sent(b"content", media_type=media_type).json()["media_type"] == "application/octet-stream"


NAMES = {
    "../../etc/passwd": "passwd",
    "C:\\Windows\\system.ini": "system.ini",
    "a\0b\r\nX-Header: x.txt": "a\ufffdbX-Header: x.txt",
    "..": "file",
    "/": "file",
    "": "file",
    ".env": ".env",
    "\u202egnp.exe": "gnp.exe",
    "grüße \"1\".txt": "grüße \"1\".txt",
    "x" * 300 + ".png": "x" * 251 + ".png",
    "x" * 300: "x" * 255,
    "password=hunter2secret.txt": "password=[REDACTED:password]",
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_only_a_name(chat: Chat, sent: Upload, name: str) -> None:
    assert sent(b"content", name=name).json()["name"] == NAMES[name]
    answer = got(chat, b"content")
    assert "\n" not in answer["Content-Disposition"]
    assert answer["Content-Disposition"].startswith("attachment; filename")


def test_an_unchanged_file_is_not_sent_again(chat: Chat, sent: Upload) -> None:
    sent(PNG)
    first = got(chat, PNG)
    assert first["Cache-Control"] == "private, max-age=31536000, immutable"
    again = got(chat, PNG, **{"If-None-Match": first["ETag"]})
    assert (again.status_code, again.body) == (304, b"")


RANGES = {
    "bytes=0-3": (206, b"0123", "bytes 0-3/10"),
    "bytes=7-": (206, b"789", "bytes 7-9/10"),
    "bytes=-2": (206, b"89", "bytes 8-9/10"),
    "bytes=5-99": (206, b"56789", "bytes 5-9/10"),
    "bytes=0-": (200, b"0123456789", None),
    "bytes=0-1,3-4": (200, b"0123456789", None),
    "lines=1-2": (200, b"0123456789", None),
    "bytes=-": (200, b"0123456789", None),
}


@pytest.mark.parametrize("asked", RANGES)
def test_a_range_of_a_file(chat: Chat, sent: Upload, asked: str) -> None:
    sent(b"0123456789")
    answer = got(chat, b"0123456789", Range=asked)
    assert (answer.status_code, answer.body, answer.get("Content-Range")) == RANGES[asked]
    assert int(answer["Content-Length"]) == len(RANGES[asked][1])


@pytest.mark.parametrize("asked", ["bytes=10-", "bytes=99-100", "bytes=5-3", "bytes=-0"])
def test_a_range_outside_is_refused(chat: Chat, sent: Upload, asked: str) -> None:
    sent(b"0123456789")
    assert got(chat, b"0123456789", Range=asked).status_code == 416


def test_head_tells_without_content(chat: Chat, sent: Upload) -> None:
    sent(PNG, name="dot.png")
    answer = chat.api.head(f"/files/{reference_of(PNG)}")
    assert (answer.status_code, answer.content, answer["Content-Length"]) == (200, b"", str(len(PNG)))
    assert chat.api.head("/files/sha256:" + "0" * 64).status_code == 404


def test_somebody_else_s_file_looks_like_none(chat: Chat, sent: Upload, api: Callable[..., Any], bob: User) -> None:
    sent(PNG)
    others = api(bob)
    foreign, unknown = others.get(f"/files/{reference_of(PNG)}"), others.get("/files/sha256:" + "0" * 64)
    assert (foreign.status_code, foreign.content) == (404, unknown.content)
    assert others.get("/files/../../x").status_code == 404
    own = Chat(others, project="/bobs")
    assert upload(own, PNG).status_code == 201
    assert StoredFile.objects.filter(sha256=reference_of(PNG)[7:]).count() == 2


def test_a_key_for_a_project_sees_what_was_uploaded_or_used_there(
    chat: Chat, sent: Upload, api: Callable[..., Any], alice: User
) -> None:
    sent(b"here")
    other = Chat(chat.api, project="/another")
    limited = api(alice, project_path="/another")
    assert limited.get(f"/files/{reference_of(b'here')}").status_code == 404
    # Only who has the content can know that it is stored already.
    assert upload(Chat(limited, session_id=other.id), b"here").status_code == 201
    assert limited.get(f"/files/{reference_of(b'here')}").getvalue() == b"here"
    sent(b"used there")
    other.ops(with_file("m1", reference_of(b"used there")))
    assert limited.get(f"/files/{reference_of(b'used there')}").getvalue() == b"used there"


def test_a_list_has_what_is_named_and_what_was_uploaded_by_page(chat: Chat, sent: Upload) -> None:
    elsewhere = Chat(chat.api, project="/another")
    upload(elsewhere, b"0", name="from-elsewhere.txt")
    for number in range(1, 4):
        sent(f"{number}".encode(), name=f"{number}.txt")
    chat.ops(with_file("m1", reference_of(b"0")))
    first = chat.get("files?limit=3").json()
    rest = chat.get(f"files?limit=3&cursor={first['next']}").json()
    names = [item["name"] for item in first["items"] + rest["items"]]
    assert names == ["from-elsewhere.txt", "1.txt", "2.txt", "3.txt"]
    assert rest["next"] is None
    assert first["items"][0]["created_at"].endswith("Z")


def test_a_session_that_is_unknown_or_deleted_takes_no_file(chat: Chat, sent: Upload, folder: Path) -> None:
    unknown = Chat(chat.api, session_id=str(uuid.uuid4()))
    assert upload(unknown, b"x").status_code == 404
    chat.api.delete(f"/sessions/{chat.id}")
    assert sent(b"x").status_code == 410
    assert stored(folder) == []


def test_a_file_over_the_limit_is_refused_and_nothing_is_left(chat: Chat, sent: Upload, folder: Path, settings: Any) -> None:
    settings.MAX_FILE_BYTES = 1_000
    assert sent(b"x" * 1_000).status_code == 201
    refused = sent(b"y" * 1_001)
    assert (refused.status_code, refused.json()["error"]["details"]) == (413, {"limit": 1_000})
    form = chat.api.client.post(f"/api/v1/sessions/{chat.id}/files", {"file": SimpleUploadedFile("a", b"z" * 1_001)})
    assert form.status_code == 413
    assert len(stored(folder)) == 1


def test_files_count_in_the_account_s_quota(sent: Upload, settings: Any) -> None:
    quotas.forget()
    assert sent(b"x" * 5_000).status_code == 201
    quotas.forget()
    settings.ACCOUNT_BYTES = 8_000
    refused = sent(b"y" * 5_000)
    details = refused.json()["error"]["details"]
    assert (refused.status_code, details["quota"], details["limit"], details["needed"]) == (507, "bytes", 8_000, 5_000)
    assert details["used"] >= 5_000
    quotas.forget()


def test_a_full_disk_leaves_no_row_and_no_part(sent: Upload, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert sent(b"content").status_code == 507
    assert not StoredFile.objects.exists()
    assert not SessionFile.objects.exists()
    assert stored(folder) == []


def test_a_file_whose_content_is_lost_is_not_found(chat: Chat, sent: Upload, folder: Path) -> None:
    sent(b"content")
    stored(folder)[0].unlink()
    assert got(chat, b"content").status_code == 404
