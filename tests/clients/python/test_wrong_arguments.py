"""What is no id of a session and no message is refused in words, before anything is sent."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stillhere import AsyncClient, Client, Spool
from stillhere.openai_agents import StillhereSession
from tests.clients.python.gate import Gate

GIVEN = "sh_x", "/home/alice/agents"


def test_an_id_is_a_text(gate: Gate, tmp_path: Path) -> None:
    wrong: Any = 42
    with Client(gate.url, *GIVEN) as client, Spool(tmp_path / "spool.db", gate.url, *GIVEN) as spool:
        asking = AsyncClient(gate.url, *GIVEN)
        client.connection._project_id = asking.connection._project_id = "known"
        calls: list[Callable[[], Any]] = [
            lambda: StillhereSession(wrong, client=client),
            lambda: client.open_session(wrong),
            lambda: client.find_session(wrong),
            lambda: client.read_messages(wrong),
            lambda: client.save(wrong, [{"role": "user", "text": "x"}]),
            lambda: asyncio.run(asking.open_session(wrong)),
            lambda: spool.save([{"role": "user", "text": "x"}], external_id=wrong),
            lambda: spool.save([{"role": "user", "text": "x"}], session=wrong),
        ]
        for call in calls:
            with pytest.raises(TypeError, match=r"^The id of a session is a text, not int: 42$"):
                call()
        assert (gate.seen, spool.waiting) == ([], 0)


@pytest.mark.parametrize("dots", [".", ".."])
def test_a_name_that_stands_for_a_folder_in_an_address_is_refused(gate: Gate, tmp_path: Path, dots: str) -> None:
    """A proxy takes it out, so that to delete the thread `..` would delete its project."""
    with Client(gate.url, *GIVEN) as client, Spool(tmp_path / "spool.db", gate.url, *GIVEN) as spool:
        client.connection._project_id = "known"
        sessions: list[Callable[[], Any]] = [
            lambda: StillhereSession(dots, client=client),
            lambda: client.open_session(dots),
            lambda: client.find_session(dots),
            lambda: client.delete_session(dots),
            lambda: spool.save([{"role": "user", "text": "x"}], external_id=dots),
        ]
        names: list[Callable[[], Any]] = [
            lambda: client.delete_thread(dots),
            lambda: client.list_checkpoints(dots),
            lambda: client.get_checkpoint("t", dots, "c"),
            lambda: client.put_writes("t", "", "c", dots, []),
            lambda: client.set_memory_settings(["a", dots], versions=1),
            lambda: client.read_message("s", dots),
        ]
        for calls, told in ((sessions, "The id of a session is neither `.` nor `..`."), (names, f"`{dots}` has no address.")):
            for call in calls:
                with pytest.raises(ValueError, match=f"^{re.escape(told)}"):
                    call()
        assert (gate.seen, spool.waiting) == ([], 0)


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ("x", "list of messages"),
        (None, "list of messages"),
        (7, "list of messages"),
        ([None], r"^messages\[0\] is no object, but NoneType"),
        ([{"role": "user", "text": "x"}, "y"], r"^messages\[1\] is no object, but str"),
    ],
)
def test_a_message_that_is_no_object_is_named(gate: Gate, tmp_path: Path, messages: Any, told: str) -> None:
    with Client(gate.url, *GIVEN) as client, Spool(tmp_path / "spool.db", gate.url, *GIVEN) as spool:
        asking = AsyncClient(gate.url, *GIVEN)
        calls: list[Callable[[], Any]] = [
            lambda: client.save("s", messages),
            lambda: asyncio.run(asking.save("s", messages)),
            lambda: spool.save(messages, external_id="t"),
        ]
        for call in calls:
            with pytest.raises(TypeError, match=told):
                call()
        assert gate.seen == []


@pytest.mark.parametrize("url", ["http://ana:planted@127.0.0.1", "http://ana:planted@127.0.0.1?x=1", "http://ana:pla/nted@[::1"])
def test_an_address_with_a_password_is_refused_and_not_quoted(url: str) -> None:
    with pytest.raises(ValueError, match=r"^`url` ") as caught:
        Client(url, *GIVEN)
    assert "nted" not in str(caught.value)
