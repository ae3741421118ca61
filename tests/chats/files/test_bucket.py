"""The same with an S3-compatible bucket, and what happens when it is away. The server is moto's, on loopback."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from django.core.exceptions import ImproperlyConfigured
from moto.server import ThreadedMotoServer

from config import env
from sessions_app.chats.files import blobs
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
