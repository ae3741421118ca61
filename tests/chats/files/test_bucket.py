"""The same with an S3-compatible bucket, and what happens when it is away. The server is moto's, on loopback."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from moto.server import ThreadedMotoServer

from config import env
from sessions_app.chats.files import blobs, bucket_storage
from sessions_app.chats.files.bucket_storage import FilesUnreachable
from sessions_app.chats.files.collection import collect_files, collect_orphans
from sessions_app.models import StoredFile
from tests.chats.files.conftest import Upload
from tests.chats.files.test_collection import make_old
from tests.support.chat import Chat
from tests.support.files import PNG, with_file

SECRET = "the-bucket-s-secret"


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(service: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    named = {"aws_access_key_id": "k", "aws_secret_access_key": SECRET, "region_name": "us-east-1"}
    made = boto3.resource("s3", endpoint_url=f"http://{service}", **named)
    bucket = made.create_bucket(Bucket="stillhere-files")
    use(settings, monkeypatch, service)
    yield bucket
    bucket.objects.all().delete()
    bucket.delete()


def use(settings: Any, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("STILLHERE_FILES_URL", f"s3://k:{SECRET}@{host}/stillhere-files?region=us-east-1&tls=0")
    settings.STORAGES = {**settings.STORAGES, "files": env.bucket("FILES_URL")}


def test_files_are_stored_read_and_collected_there(chat: Chat, sent: Upload, bucket: Any) -> None:
    large = b"x" * 2_000_000
    assert sent(PNG, name="dot.png").status_code == 201
    reference = sent(large).json()["file"]
    assert sent(large).status_code == 200
    assert len(list(bucket.objects.all())) == 2
    assert chat.api.get(f"/files/{reference}").getvalue() == large
    assert chat.api.get(f"/files/{reference}", Range="bytes=5-8").getvalue() == b"xxxx"
    chat.ops(with_file("m1", reference))
    make_old()
    assert collect_files() == 1
    [left] = bucket.objects.all()
    assert left.key == StoredFile.objects.get().key


def test_content_without_a_row_goes_once_it_is_old(bucket: Any, sent: Upload, monkeypatch: pytest.MonkeyPatch) -> None:
    sent(PNG)
    key = StoredFile.objects.get().key
    bucket.put_object(Key="999/ab/left", Body=b"left behind")
    collect_orphans()
    assert len(list(bucket.objects.all())) == 2
    monkeypatch.setattr("sessions_app.chats.files.collection._is_old", lambda _: True)
    collect_orphans()
    assert [one.key for one in bucket.objects.all()] == [key]
    assert blobs.stored_at("999/ab/left") is None


def test_a_lost_content_is_not_found(chat: Chat, bucket: Any, sent: Upload) -> None:
    reference = sent(PNG).json()["file"]
    bucket.objects.all().delete()
    assert chat.api.get(f"/files/{reference}").status_code == 404


def test_a_bucket_that_is_away_is_told_without_its_address(
    chat: Chat, sent: Upload, settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    use(settings, monkeypatch, "127.0.0.1:9")
    refused = sent(PNG)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "files_unreachable")
    assert not StoredFile.objects.exists()
    assert SECRET not in refused.content.decode() + caplog.text
    assert chat.say("m1", "Saves continue.")
    with pytest.raises(CommandError, match="does not respond"):
        call_command("prune")


class BreaksOff(BaseHTTPRequestHandler):
    """Begins every content, and hangs up."""

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2000000")
        self.end_headers()

    def do_GET(self) -> None:
        self.do_HEAD()
        self.wfile.write(b"x" * 1_000)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def breaking() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), BreaksOff) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("path", ["/files/{file}", "/export", "/sessions/{session}/export"])
def test_a_bucket_that_goes_away_during_a_download_is_told_as_one_that_is_away(
    chat: Chat, sent: Upload, breaking: str, settings: Any, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    reference = sent(b"x" * 2_000_000).json()["file"]
    chat.ops(with_file("m1", reference))
    use(settings, monkeypatch, breaking)
    refused = chat.api.get(path.format(file=reference, session=chat.id))
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "files_unreachable")


class Silent:
    """Takes connections, and answers nothing."""

    def __init__(self) -> None:
        self._door = socket.create_server(("127.0.0.1", 0))
        self.host = f"127.0.0.1:{self._door.getsockname()[1]}"
        self.taken = threading.Semaphore(0)
        self._open: list[socket.socket] = []
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        with suppress(OSError):
            while True:
                self._open.append(self._door.accept()[0])
                self.taken.release()

    def close(self) -> None:
        self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        for one in self._open:
            one.close()


def test_a_bucket_that_does_not_respond_holds_half_of_the_threads_at_most(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_storage, "PLACE_SECONDS", 0.05)
    monkeypatch.setattr(bucket_storage, "places", bucket_storage._Places(2))
    silent = Silent()
    use(settings, monkeypatch, silent.host)
    with ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(blobs.delete, [f"1/aa/{number}"]) for number in range(2)]
        assert all(silent.taken.acquire(timeout=30) for _ in waiting)
        for _ in range(3):
            with pytest.raises(FilesUnreachable):
                blobs.delete(["1/aa/x"])
        assert not silent.taken.acquire(blocking=False)
        silent.close()
        assert all(isinstance(one.exception(), FilesUnreachable) for one in waiting)
    with bucket_storage.places.one():
        pass


@pytest.mark.parametrize(
    "address",
    [
        f"http://k:{SECRET}@h/b",
        f"s3://k:{SECRET}@h/",
        f"s3://k:{SECRET}@h/a/b",
        f"s3://k:{SECRET}@h/b?acl=public",
        f"s3://k:{SECRET}@h:x/b",
    ],
)
def test_a_wrong_address_is_refused_and_not_quoted(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("STILLHERE_FILES_URL", address)
    with pytest.raises(ImproperlyConfigured) as refused:
        env.bucket("FILES_URL")
    assert SECRET not in str(refused.value)
