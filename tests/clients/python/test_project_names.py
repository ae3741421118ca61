"""One folder is one project, for the library and the command alike."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stillhere import AsyncClient, Client, StillhereError
from stillhere.cli import main
from stillhere.connection import Connection
from stillhere.openai_agents import StillhereSession
from tests.clients.python.conftest import PROJECT
from tests.clients.python.gate import Gate
from tests.support.live_server import LiveServer

UUID = "6f1c2b1e-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("/home/ana/shop", "/home/ana/shop"),
        (" /home/ana/shop/ ", "/home/ana/shop"),
        ("//home//ana/./shop//", "/home/ana/shop"),
        ("/home/ana/../ben", "/home/ben"),
        ("/", "/"),
        ("~", "{home}"),
        ("~/shop/", "{home}/shop"),
        (".", "{here}"),
        ("./shop//", "{here}/shop"),
        ("..", "{above}"),
        ("shop", "shop"),
        (" my shop/ ", "my shop/"),
        (UUID, UUID),
    ],
)
def test_a_folder_becomes_an_absolute_path(given: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("STILLHERE_PROJECT", given)
    places = {"home": str(tmp_path / "home"), "here": str(here), "above": str(tmp_path)}
    for project in (given, None, "  "):
        assert Connection("http://127.0.0.1:1", "sh_x", project).project == expected.format(**places)


def test_the_command_and_the_library_share_a_project(
    server: LiveServer, secret: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"HOME": str(tmp_path), "STILLHERE_URL": server.url, "STILLHERE_KEY": secret, "STILLHERE_PROJECT": "~/shop"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    with Client() as client:
        client.save(client.open_session("t").id, [{"role": "user", "text": "Hello"}])
        for given in ([], ["--project", f"{tmp_path}//shop/"]):
            assert main([*given, "resume"]) == 0
            assert "Hello" in capsys.readouterr().out
        assert [each.path for each in client.list_projects().items] == [f"{tmp_path}/shop"]


def test_a_session_of_openai_agents_is_in_the_project_of_its_time(
    server: LiveServer, secret: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sessions share a client, but not that of another folder, or of what the environment named before."""
    monkeypatch.setenv("STILLHERE_URL", server.url)
    monkeypatch.setenv("STILLHERE_KEY", secret)
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
        monkeypatch.chdir(folder)
        monkeypatch.setenv("STILLHERE_PROJECT", f"{folder}/named")
        asyncio.run(StillhereSession("relative", project=".").add_items([{"role": "user", "content": folder.name}]))
        asyncio.run(StillhereSession("named").add_items([{"role": "user", "content": folder.name}]))
    for folder in folders:
        for project, name in ((folder, "relative"), (folder / "named", "named")):
            with Client(project=str(project)) as client:
                (session,) = client.list_sessions().items
                assert [each.text for each in client.read_messages(session.id).items] == [folder.name], name


def _calls(client: Client | AsyncClient) -> Iterator[Any]:
    yield client.list_projects()
    yield client.find_project("/other")
    yield client.search("x", everywhere=True)
    yield client.create_project("/other")
    yield client.find_project("/other")


def test_what_is_of_the_account_creates_no_project_of_the_clients_own(server: LiveServer, secret: str, client: Client) -> None:
    listed, found, hits, made, again = _calls(client)
    assert (listed.items, found, hits.items, made) == ([], None, [], again)
    assert [each.path for each in client.list_projects().items] == ["/other"]
    assert client.create_session().project == PROJECT

    async def ask() -> list[str]:
        async with AsyncClient(server.url, secret, "/third") as asking:
            for call in _calls(asking):
                await call
            return [each.path for each in (await asking.list_projects()).items]

    assert sorted(asyncio.run(ask())) == [PROJECT, "/other"]


def test_a_project_that_cannot_be_created_is_no_answer_to_an_operation(gate: Gate, secret: str) -> None:
    """What an operation takes for `there is none` is about its own request."""
    gate.next.append((404, 0))
    with Client(gate.url, secret, PROJECT, retry_seconds=0) as client, pytest.raises(StillhereError, match="busy"):
        client.find_session("t")
    assert len(gate.seen) == 1
