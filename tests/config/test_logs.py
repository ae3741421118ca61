"""The form of log lines, and where an unexpected error is reported."""

import json
import logging
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured

from config import env
from config.logs import JsonLines, PlainLines, request_id, write_request
from config.server.background import BackgroundTask, BackgroundTasks


@pytest.fixture
def within_a_request() -> Iterator[None]:
    token = request_id.set("r1")
    yield
    request_id.reset(token)


def record(error: Exception) -> logging.LogRecord:
    try:
        raise error
    except Exception as raised:
        info = (type(raised), raised, raised.__traceback__)
    return logging.LogRecord("stillhere", logging.ERROR, __file__, 1, "it failed", None, info)


@pytest.mark.parametrize(
    ("form", "wanted"), [("json", '"request_id":"r1","status":200}\n'), ("plain", " request_id=r1 status=200\n")]
)
def test_a_request_is_one_line(settings: Any, capsys: pytest.CaptureFixture[str], form: str, wanted: str) -> None:
    settings.LOG_FORMAT = form
    write_request("stillhere.requests", logging.INFO, {"request_id": "r1", "status": 200})
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.endswith(wanted)
    assert re.search(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", told)


def test_a_log_that_cannot_be_written_fails_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w", buffering=1) as full:
        monkeypatch.setattr("sys.stderr", full)
        write_request("stillhere.requests", logging.INFO, {"status": 200})
        monkeypatch.undo()
        with suppress(OSError):
            full.close()


@pytest.mark.parametrize("lines", [JsonLines(), PlainLines()])
def test_an_error_within_a_request_is_told_without_its_words(within_a_request: None, lines: logging.Formatter) -> None:
    told = lines.format(record(ValueError("somebody's words")))
    assert "ValueError" in told
    assert "test_logs.py" in told
    assert "r1" in told
    assert "somebody" not in told


@pytest.mark.parametrize("lines", [JsonLines(), PlainLines()])
def test_an_address_is_not_told(lines: logging.Formatter) -> None:
    message, arguments = "%s: %s", ("Internal Server Error", "/welcome/planted/")
    told = lines.format(logging.LogRecord("django.request", logging.ERROR, __file__, 1, message, arguments, None))
    assert "Internal Server Error" in told
    assert "planted" not in told


def test_an_error_outside_of_requests_is_told_whole() -> None:
    assert "no such host" in JsonLines().format(record(OSError("no such host")))


def test_a_happening_of_several_lines_is_one_line_of_json() -> None:
    assert "\n" not in JsonLines().format(record(OSError("one\ntwo")))


def test_an_unknown_form_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STILLHERE_LOG_FORMAT", "xml")
    with pytest.raises(ImproperlyConfigured, match="must be one of json, plain"):
        env.choice("LOG_FORMAT", {"json", "plain"}, "json")


def test_an_unexpected_error_names_the_request(api: Any, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: Any) -> None:
        raise RuntimeError("somebody's words")

    monkeypatch.setattr("sessions_app.chats.search.api.search", broken)
    client = api(alice).client
    client.raise_request_exception = False
    answer = client.get("/api/v1/search?q=words", **{"stillhere.request_id": "r1"})
    assert (answer.status_code, answer.json()["error"]["details"]) == (500, {"request_id": "r1"})
    assert b"somebody" not in answer.content


def test_a_chore_that_fails_says_where_and_not_what_it_was_about(db: None, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> int:
        return int(json.loads("somebody's words"))

    BackgroundTasks()._do(BackgroundTask("breaking", 1.0, broken))
    [said] = caplog.messages
    assert re.fullmatch(r"breaking failed: JSONDecodeError at test_logs\.py:\d+ broken", said)


def test_a_chore_that_fails_each_time_says_so_once_and_when_it_works_again(db: None, caplog: pytest.LogCaptureFixture) -> None:
    """A database that was away for a night left tens of thousands of lines."""
    broken = True

    def work() -> int:
        if broken:
            raise OSError
        return 0

    chores, chore = BackgroundTasks(), BackgroundTask("importing", 1.0, work)
    for _ in range(5):
        chores._do(chore)
    broken = False
    for _ in range(2):
        chores._do(chore)
    assert [said.partition(":")[0] for said in caplog.messages] == ["importing failed", "importing works again"]
