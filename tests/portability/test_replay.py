"""`manage.py replay` against a real server, and that what it compares is compared in earnest."""

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from sessions_app.accounts import api_keys
from sessions_app.core.callers import caller_of_user
from sessions_app.models import ApiKey, ChatSession, Message
from sessions_app.portability.replay import player
from sessions_app.portability.replay.comparison import differences, lost_after_reload
from sessions_app.portability.replay.conversation import Turn
from sessions_app.portability.replay.http_client import Api, Cut, Json, ReplayError
from sessions_app.portability.replay.player import growth

ANSWER = "An answer that is long enough to grow in a few steps, with ünïcode 日本 \U0001f600."


@pytest.fixture(autouse=True)
def no_key_around(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STILLHERE_KEY", raising=False)


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """Seven turns and one that cannot be played."""
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello?"}]
    messages += [{"role": role, "content": f"{ANSWER} {number}"} for number in range(3) for role in ("assistant", "user")]
    return write_chat(tmp_path, messages)


def write_chat(folder: Path, messages: list[dict[str, str]]) -> Path:
    file = folder / "chat.json"
    file.write_text(json.dumps({"title": "A chat", "messages": messages}))
    return file


def replay(file: Path, server: Any, capsys: pytest.CaptureFixture[str], **options: Any) -> str:
    call_command("replay", str(file), url=server.url, verbosity=0, **options)
    return capsys.readouterr().out


@pytest.mark.parametrize("cut", [False, True])
def test_a_chat_comes_back_as_it_was_played(
    chat: Path, server: Any, alice: User, capsys: pytest.CaptureFixture[str], *, cut: bool
) -> None:
    told = replay(chat, server, capsys, cut=cut)
    session = ChatSession.objects.get()
    assert (session.title, session.project.path, session.project.owner) == ("A chat", "replay/chat.json", alice)
    stored = Message.objects.filter(session=session).order_by("position")
    assert [message.text for message in stored][:2] == ["Hello?", f"{ANSWER} 0"]
    assert {(message.status, message.removed) for message in stored} == {("complete", "")}
    assert len(stored) == 7
    assert told.splitlines()[1].split() == ["A", "chat", "7", "1", "31", "3" if cut else "0", "same"]
    assert "skipped: system 1" in told


def test_a_chat_longer_than_the_window_is_compared_with_its_older_pages(
    tmp_path: Path, server: Any, alice: User, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_chat(
        tmp_path, [{"role": "assistant" if number % 20 == 0 else "user", "content": f"turn {number}"} for number in range(320)]
    )
    assert "same" in replay(file, server, capsys, steps=2, cut=True, project="long")
    assert ChatSession.objects.get(project__path="long").message_count == 320


def test_each_conversation_has_its_own_session(
    tmp_path: Path, server: Any, alice: User, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "chats.jsonl"
    file.write_text("\n".join(json.dumps({"messages": [{"role": "user", "content": f"chat {number}"}]}) for number in range(3)))
    assert replay(file, server, capsys).count("same") == 3
    assert sorted(Message.objects.values_list("text", flat=True)) == ["chat 0", "chat 1", "chat 2"]
    assert ChatSession.objects.count() == 3


Tamper = Callable[[Json, list[Json]], object]
TAMPERED: dict[str, Tamper] = {
    "a character": lambda resumed, _: resumed["messages"][3].update(text=resumed["messages"][3]["text"][:-1] + "?"),
    "a role": lambda resumed, _: resumed["messages"][1].update(role="user"),
    "an id": lambda resumed, _: resumed["messages"][1].update(id="other"),
    "a status": lambda resumed, _: resumed["messages"][-1].update(status="streaming"),
    "no text": lambda resumed, _: resumed["messages"][0].pop("text"),
    "the last one missing": lambda resumed, _: resumed["messages"].pop(),
    "the first one missing": lambda resumed, _: resumed["messages"].pop(0),
    "the order": lambda resumed, _: resumed["messages"].reverse(),
    "one twice": lambda resumed, older: older.append(resumed["messages"][0]),
    "one left out": lambda resumed, _: resumed["skipped"].append({"id": "turn-1", "reason": "damaged"}),
    "the count": lambda resumed, _: resumed["session"].update(message_count=1),
    "another session": lambda resumed, _: resumed["session"].update(id="other"),
}


@pytest.mark.parametrize("tamper", TAMPERED.values(), ids=TAMPERED)
def test_every_falsification_is_a_difference(tamper: Tamper) -> None:
    sent = [Turn(f"m{number}", "assistant" if number % 2 else "user", f"text {number}") for number in range(4)]
    messages = [{"id": turn.id, "role": turn.role, "text": turn.text, "status": "complete"} for turn in sent]
    resumed: Json = {"session": {"id": "s", "message_count": 4}, "messages": messages, "skipped": []}
    assert differences(sent, {**resumed, "messages": messages[2:]}, messages[:2], session_id="s") == []
    older: list[Json] = []
    tamper(resumed, older)
    assert differences(sent, resumed, older, session_id="s")


def test_a_difference_makes_the_command_fail(
    chat: Path, server: Any, alice: User, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    read_back = player.read_back

    def falsified(api: Api, project: str) -> tuple[Json, list[Json]]:
        resumed, older = read_back(api, project)
        TAMPERED["a character"](resumed, older)
        return resumed, older

    monkeypatch.setattr(player, "read_back", falsified)
    with pytest.raises(CommandError, match="1 of 1 conversations") as failed:
        replay(chat, server, capsys)
    assert failed.value.returncode == 1
    assert "turn 4: text differs from character" in capsys.readouterr().out


def test_what_a_reload_may_and_may_not_lack() -> None:
    acknowledged = {"a": "one", "b": "two", "c": "thr"}

    def lost(**texts: str) -> list[str]:
        return lost_after_reload(acknowledged, {"messages": [{"id": name, "text": text} for name, text in texts.items()]})

    assert lost(a="one", b="two", c="thr") == lost(a="one", b="two", c="three", d="next") == lost(c="thr") == lost(d="next") == []
    assert lost(a="one", b="two") == ["message c was acknowledged and is missing"]
    assert lost(a="one", b="tw", c="thr") == ["message b was acknowledged and has lost text"]
    assert len(lost()) == 3


def test_text_grows_to_all_of_it() -> None:
    assert growth("abcdef", 3) == ["ab", "abcd", "abcdef"]
    assert growth("ab", 5) == ["a", "ab"]
    assert growth("a", 1) == ["a"]


# --- Keys


def test_the_key_made_for_a_replay_is_revoked(chat: Path, server: Any, alice: User, capsys: pytest.CaptureFixture[str]) -> None:
    replay(chat, server, capsys)
    assert ApiKey.objects.get(name="replay").revoked_at is not None


def test_a_key_of_one_s_own_is_used(
    chat: Path, server: Any, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CommandError, match="Give one of this store"):
        replay(chat, server, capsys)
    secret = api_keys.create_key(caller=caller_of_user(bob)).secret
    replay(chat, server, capsys, key=secret)
    replay(chat, server, capsys, user="bob")
    monkeypatch.setenv("STILLHERE_KEY", secret)
    replay(chat, server, capsys)
    assert set(ChatSession.objects.values_list("project__owner__username", flat=True)) == {"bob"}
    assert not ApiKey.objects.filter(name="replay", revoked_at=None).exists()


@pytest.mark.django_db
def test_no_key_is_made_for_another_machine(chat: Path, alice: User) -> None:
    with pytest.raises(CommandError, match="Give a key of that server"):
        call_command("replay", str(chat), url="https://chats.example.org", verbosity=0)
    assert not ApiKey.objects.exists()


def test_a_refused_key_fails_in_words(chat: Path, server: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError, match=r"Nothing was played\. The server answered 401"):
        replay(chat, server, capsys, key="sh_wrong")


@pytest.mark.parametrize(
    ("content", "url", "message"),
    [
        ("[]", "http://127.0.0.1:1", "nothing to play"),
        ("no chat", "http://127.0.0.1:1", "neither JSON nor"),
        (None, "", "Cannot read"),
    ]
    + [
        ('[{"role": "user", "content": "x"}]', url, "address|port")
        for url in ("ftp://x", "http://[::1", "127.0.0.1:8000", "http://", "http://x:99999")
    ],
)
def test_what_cannot_be_played_is_refused_in_words(tmp_path: Path, content: str | None, url: str, message: str) -> None:
    file = tmp_path / "file"
    if content is not None:
        file.write_text(content)
    with pytest.raises(CommandError, match=message):
        call_command("replay", str(file), url=url, key="sh_x", verbosity=0)


# --- The HTTP client, with a server that misbehaves


@contextmanager
def misbehaving(*answers: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """One connection for each answer, closed after it; empty: closed without one. Yields the URL and what was received."""
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for answer in answers:
                with listening.accept()[0] as connection:
                    received.append(receive(connection))
                    if answer:
                        connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/base/", received
        thread.join(5)


def receive(connection: socket.socket) -> bytes:
    """One request; the received part of it if the connection is lost before its end."""
    raw = b""
    length = re.compile(rb"Content-Length: (\d+).*?\r\n\r\n", re.DOTALL)
    while not (whole := length.search(raw)) or len(raw) < whole.end() + int(whole[1]):
        try:
            piece = connection.recv(65_536)
        except ConnectionResetError:
            return raw
        raw += piece
        if not piece or (raw.startswith(b"GET") and raw.endswith(b"\r\n\r\n")):
            break
    return raw


BUSY = b"HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
FINE = b'HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n{"rev": 1}'
NO_JSON = b"HTTP/1.1 502 Bad\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>"


def test_a_request_is_repeated_until_it_is_answered() -> None:
    with misbehaving(b"", BUSY, NO_JSON, FINE) as (url, received), closing(Api(url=url, key="k")) as api:
        assert api.post("/x", {"text": "ü"}).expect(200) == {"rev": 1}
    assert len(set(received)) == 1
    assert received[0].startswith(b"POST /base/api/v1/x HTTP/1.1")


def test_a_refusal_is_told_with_its_code() -> None:
    refusal = b'{"error": {"code": "gone", "message": "Deleted.", "details": {}}}'
    answer = b"HTTP/1.1 410 Gone\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(refusal), refusal)
    with misbehaving(answer) as (url, _), closing(Api(url=url, key="k")) as api:
        gone = api.get("/x", project="a b")
    with pytest.raises(ReplayError, match="410, gone: Deleted"):
        gone.expect(200)


@pytest.mark.parametrize("cut", Cut)
def test_a_cut_loses_the_connection_and_the_next_request_makes_another(cut: Cut) -> None:
    with misbehaving(b"", FINE) as (url, received), closing(Api(url=url, key="k")) as api:
        api.post_and_drop("/x", {"text": "word " * 20}, cut)
        assert api.get("/y").expect(200) == {"rev": 1}
    # A reset may overtake what was sent before it, a polite end may not.
    assert received[0].endswith(b"}") or cut is not Cut.CLOSED
    assert not received[0].endswith(b"}") or cut is not Cut.HALF_SENT
