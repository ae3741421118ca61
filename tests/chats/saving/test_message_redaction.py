"""Secrets in messages: left alone, pointed out (as it is by default) or taken out, as the project wants it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.models import ConflictCopy, Message, Project
from tests.support.chat import Chat
from tests.support.suite import first_of

SECRET = "ghp_" + "a1B2" * 9
HIDDEN = "[REDACTED:github_token]"
TOOL = {"type": "tool-fetch", "input": {"headers": {"Authorization": "Bearer abcdef0123456789xyz"}}, "output": "ok"}
FOUND = {"github_token": 1, "authorization": 1, "password": 1, "cookie": 1}


@pytest.fixture
def chat(api: Callable[..., Any], alice: User, path: str) -> Chat:
    return Chat(api(alice), project=path)


def redaction(chat: Chat, mode: str) -> None:
    project = Project.objects.get(path=chat.project)
    assert chat.api.patch(f"/projects/{project.id}", {"settings": {"redaction": mode}}).status_code == 200


def upsert(message_id: str, text: str, **more: Any) -> dict[str, Any]:
    return {"op": "upsert", "id": message_id, "role": "user", "text": text, **more}


def full(message_id: str = "m1") -> dict[str, Any]:
    """One secret in each place where a message can have one; the parts say the text again."""
    text = f"my key is {SECRET}"
    extras = {"metadata": {"password": "hunter2"}, "raw": [["Cookie", "id=1"]]}
    return upsert(message_id, text, parts=[{"type": "text", "text": text}, TOOL], **extras)


def message(chat: Chat, message_id: str = "m1") -> dict[str, Any]:
    found = chat.api.get(f"/sessions/{chat.id}").json()["messages"]
    return next(dict(item) for item in found if item["id"] == message_id)


def test_what_stands_beside_a_secret_that_is_taken_out_stays_as_it_was(chat: Chat) -> None:
    redaction(chat, "redact")
    beside = {"large": 123456789012345678901234567890, "exact": 0.1, "text": "ünï"}
    chat.ops(
        upsert("m1", "x", parts=[{"type": "tool-fetch", "password": "hunter2", **beside}], metadata={"password": "b", **beside})
    )
    [part], metadata = message(chat)["parts"], message(chat)["metadata"]
    assert part["password"] != "hunter2"
    assert part == {**part, **beside}
    assert metadata == {**metadata, **beside}


def test_numbers_beside_a_secret_that_is_taken_out_stay_as_they_were_written(chat: Chat) -> None:
    redaction(chat, "redact")
    numbers = "[1.10,12345678901234567.89,-0,1E5]"
    arguments = f'{{"password":"hunter2","n":{numbers}}}'
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    raw = json.dumps({"role": "assistant", "content": "so", "tool_calls": [call], "n": "N"}).replace('"N"', numbers)
    op = {"op": "upsert", "id": "m1", "format": "openai.chat", "raw": "R"}
    body = {"epoch": 1, "writer_id": chat.writer, "seq": 1, "ops": [op]}
    assert chat.api.post(f"/sessions/{chat.id}/changes", json.dumps(body).replace('"R"', raw)).json()["rejected"] == []
    stored = Message.objects.get(message_id="m1")
    assert f'"n":{numbers}' in (stored.raw or "")
    assert f'"n":{numbers}' in (stored.parts or "")
    assert "hunter2" not in f"{stored.raw}{stored.parts}"
    chat.ops({"op": "patch", "id": "m1", "text": "so it is"})
    assert f'"n":{numbers}' in (Message.objects.get(message_id="m1").parts or "")
    assert numbers in chat.get("messages?as=anthropic").content.decode()


def test_by_default_secrets_are_pointed_out_and_left(chat: Chat) -> None:
    op = full()
    assert chat.ops(op)["redacted"] == FOUND
    saved = message(chat)
    assert saved["flagged"] == FOUND
    assert {name: saved[name] for name in ("text", "parts", "metadata", "raw")} == {
        name: op[name] for name in ("text", "parts", "metadata", "raw")
    }


def test_taken_out_they_do_not_reach_the_store(chat: Chat) -> None:
    redaction(chat, "redact")
    assert chat.ops(full())["redacted"] == FOUND
    stored = json.dumps(list(Message.objects.values()), default=str)
    for secret in (SECRET, "abcdef0123456789xyz", "hunter2", "id=1"):
        assert secret not in stored
    saved = message(chat)
    assert saved["text"] == saved["parts"][0]["text"] == f"my key is {HIDDEN}"
    assert saved["flagged"] == FOUND
    session = chat.api.get(f"/sessions/{chat.id}").json()["session"]
    assert session["size_bytes"] == Message.objects.get().size_bytes


def test_off_nobody_looks(chat: Chat) -> None:
    redaction(chat, "off")
    assert chat.ops(full())["redacted"] == {}
    assert "flagged" not in message(chat)


@pytest.mark.parametrize("mode", ["off", "flag", "redact"])
def test_what_holds_none_is_stored_as_it_came(chat: Chat, mode: str) -> None:
    redaction(chat, mode)
    op = upsert(
        "m1", "keys and tokens", parts=[{"type": "text", "text": "keys and tokens", "n": 10**30}], metadata={"author": "x"}
    )
    assert chat.ops(op)["redacted"] == {}
    saved = message(chat)
    assert "flagged" not in saved
    assert (saved["parts"], saved["metadata"]) == (op["parts"], op["metadata"])


def test_sent_again_it_still_is_the_same(chat: Chat) -> None:
    redaction(chat, "redact")
    chat.ops(full())
    again = Chat(chat.api, session_id=chat.id).ops(full())
    assert [ignored["reason"] for ignored in again["ignored"]] == ["same"]
    assert not ConflictCopy.objects.exists()


def test_a_message_that_lost_its_secret_loses_its_flag(chat: Chat) -> None:
    chat.ops(upsert("m1", SECRET))
    assert chat.ops(upsert("m1", "nothing"))["redacted"] == {}
    assert "flagged" not in message(chat)


def test_copies_have_none_either(chat: Chat) -> None:
    redaction(chat, "redact")
    chat.ops(upsert("m1", "first"))
    other = Chat(chat.api, session_id=chat.id)
    assert other.ops(upsert("m1", f"second {SECRET}"))["conflicts"] != []
    chat.clear()
    late = other.post("changes", ops=[upsert("m9", f"late {SECRET}")])
    assert late.status_code == 409
    kept = sorted(ConflictCopy.objects.values_list("text", flat=True))
    assert kept == [f"late {HIDDEN}", f"second {HIDDEN}"]
    shown = chat.api.get(f"/sessions/{chat.id}/conflicts").json()["items"]
    assert all(copy["flagged"] == {"github_token": 1} for copy in shown)


def test_whole_saves_and_flushes_are_looked_at_too(chat: Chat) -> None:
    redaction(chat, "redact")
    whole = {"epoch": 1, "writer_id": "w", "seq": 1, "messages": [{"id": "m1", "role": "user", "text": SECRET}]}
    saved = chat.api.put(f"/sessions/{chat.id}/messages", whole)
    assert saved.json()["redacted"] == {"github_token": 1}
    assert message(chat)["text"] == HIDDEN


def test_the_page_points_it_out(chat: Chat, alice: User) -> None:
    chat.ops(upsert("m1", SECRET), upsert("m2", "nothing"))
    client = Client()
    client.force_login(alice)
    page = client.get(f"/sessions/{chat.id}/").content.decode()
    assert page.count("secret found: github token") == 1


def streamed(chat: Chat, *pieces: str) -> str:
    """The stored text of an answer that is saved piece by piece, each where the one before it ended."""
    chat.ops(upsert("m1", pieces[0], role="assistant", status="streaming"))
    length = len(message(chat)["text"])
    for piece in pieces[1:]:
        (applied,) = chat.ops({"op": "append", "id": "m1", "at": length, "text": piece})["applied"]
        length = applied["length"]
    return str(message(chat)["text"])


ANTHROPIC = "sk-ant-api03-" + "Ab1" * 12


@pytest.mark.parametrize(
    ("pieces", "stored"),
    [
        ((ANTHROPIC, "Cd2" * 9, "Ef3. Keep it."), "[REDACTED:anthropic_key]. Keep it."),
        (("Authorization: Bearer ab", "cd/ef, gh", "\nKeep it."), "Authorization: [REDACTED:authorization]\nKeep it."),
        (("Set-Cookie: id=12345", "67; Path=/"), "Set-Cookie: [REDACTED:cookie]"),
        (("DB_PASSWORD=hunter2", "x/y+z", " Keep it."), "DB_PASSWORD=[REDACTED:password] Keep it."),
        (("token: bearer abcdefghijklmnop12", "34.56", " Keep it."), "token: bearer [REDACTED:bearer] Keep it."),
        ((SECRET, ".Keep", " it."), f"{HIDDEN}.Keep it."),
        ((f"{SECRET}\n", "Keep it."), f"{HIDDEN}\nKeep it."),
        ((f"{SECRET}-X", "Keep it."), f"{HIDDEN}-XKeep it."),
    ],
)
def test_of_a_secret_that_an_append_continues_the_rest_is_taken_out_too(chat: Chat, pieces: tuple[str, ...], stored: str) -> None:
    redaction(chat, "redact")
    assert streamed(chat, *pieces) == stored


KEY = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEvQ+a/b=\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize("size", first_of([3, 28, 200, 1, 2, 5, 7, 11, 60], 3))
def test_of_a_private_key_that_comes_line_by_line_nothing_stays(chat: Chat, size: int) -> None:
    """Its lines alone look like no secret, and words behind its end stay."""
    redaction(chat, "redact")
    text = f"Here:\n{KEY}\nKeep it."
    stored = streamed(chat, *(text[at : at + size] for at in range(0, len(text), size)))
    assert not any(part in stored for part in ("4", "ENC", "MII", "vQ", "a/b"))
    assert stored.startswith("Here:\n[REDACTED:private_key]")
    assert stored.endswith("\nKeep it.")


def test_a_private_key_without_its_end_takes_what_follows(chat: Chat) -> None:
    redaction(chat, "redact")
    unfinished = "Here: [REDACTED:unfinished_private_key]"
    assert streamed(chat, f"Here: {KEY[:60]}", "MIIEvQ\n", "a/b") == unfinished
    assert message(chat)["flagged"] == {"unfinished_private_key": 1}


def test_words_that_only_look_like_a_removed_secret_are_continued(chat: Chat) -> None:
    redaction(chat, "redact")
    assert streamed(chat, "It says [REDACTED:token]", "s") == "It says [REDACTED:token]s"


@pytest.mark.parametrize("mode", ["off", "flag"])
def test_where_nothing_is_taken_out_all_pieces_stay(chat: Chat, mode: str) -> None:
    redaction(chat, mode)
    assert streamed(chat, ANTHROPIC, "Cd2", "Ef3.") == f"{ANTHROPIC}Cd2Ef3."
