"""The command `stillhere` against a real server."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stillhere import Client
from stillhere.cli import main
from tests.browser.driving import wait_for
from tests.clients.python.conftest import PROJECT, SOURCE
from tests.clients.python.gate import Gate
from tests.support.live_server import LiveServer

RUN = "import sys; from stillhere.cli import main; sys.exit(main())"
type Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def environment(server: LiveServer, secret: str) -> dict[str, str]:
    return {"STILLHERE_URL": server.url, "STILLHERE_KEY": secret, "STILLHERE_PROJECT": PROJECT}


@pytest.fixture
def command(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:  # fmt: skip
    """Runs it; returns the exit code, standard output and standard error."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str, input: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(input.encode())))
        code = main(arguments)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_what_is_saved_is_resumed_and_found(command: Command, client: Client) -> None:
    assert command("resume") == (1, "", "stillhere: nothing is saved in this project.\n")
    assert command("save", input="Why does the checkout fail?\n")[0] == 0
    lines = [{"role": "assistant", "text": "The cart is empty."}, {"id": "m3", "role": "user", "text": "Thanks"}]
    code, out, _ = command("save", "--lines", "--json", input="\n".join(map(json.dumps, lines)))
    assert (code, [each["id"] for each in json.loads(out)["applied"]][1]) == (0, "m3")
    code, out, _ = command("resume")
    assert out.split("\n\n")[1:] == ["user: Why does the checkout fail?", "assistant: The cart is empty.", "user: Thanks\n"]
    shown = json.loads(command("resume", "--json", "--limit", "1")[1])
    assert [each["text"] for each in shown["messages"]] == ["Thanks"]
    assert json.loads(command("resume", "--format", "openai.chat")[1].splitlines()[0])["role"] == "user"
    hits = [json.loads(line) for line in command("search", "checkout", "--json")[1].splitlines()]
    assert [each["hit"] for each in hits] == ["checkout"]
    assert "/sessions/" in command("search", "checkout")[1]


def test_messages_of_frameworks_in_a_session_by_its_own_id(command: Command, client: Client) -> None:
    raw = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    saved = command("save", "--session", "t / 1", "--title", "Hello", "--format", "openai.chat", input=json.dumps(raw))
    assert saved[0] == 0
    assert json.loads(command("resume", "--session", "t / 1", "--format", "openai.chat")[1]) == raw
    found = client.find_session("t / 1")
    assert found is not None
    assert found.title == "Hello"


def test_options_of_all_commands_stand_before_or_after_them(command: Command) -> None:
    options = ["--project", "/elsewhere"]
    assert command(*options, "save", input="one")[0] == 0
    assert command("save", *options, input="two")[0] == 0
    shown = json.loads(command("--json", "resume", *options)[1])
    assert [message["text"] for message in shown["messages"]] == ["one", "two"]
    assert command("resume")[0] == 1


def test_results_of_tools_are_shown(command: Command, client: Client) -> None:
    def called(output: Any) -> dict[str, Any]:
        return {"role": "user", "parts": [{"type": "tool_result", "id": "k", "output": output}], "text": ""}

    outputs: list[Any] = [
        "x" * 900,
        {"n": 1, "text": "é"},
        [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        [1],
        None,
    ]
    chat = {"format": "openai.chat", "raw": {"role": "tool", "tool_call_id": "k", "content": "42"}}
    session = client.open_session("t / 1")
    client.save(session.id, [chat, *map(called, outputs)])
    shown = command("resume", "--session", "t / 1")[1].removesuffix("\n").split("\n\n")[1:]
    texts = ["42", f"{'x' * 500}…", '{"n": 1, "text": "é"}', "a\nb", "[1]", "null"]
    assert [each.partition(": ")[2] for each in shown] == texts


def test_what_goes_wrong_is_said(command: Command, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command("save")[0] == 1
    assert "line 2 is no JSON" in command("save", "--lines", input='{"role": "user", "text": "a"}\n{')[2]
    code, _, said = command("save", "--lines", input='{"role": "nobody", "text": "a"}')
    assert (code, "`role` is user or assistant" in said) == (1, True)
    monkeypatch.setenv("STILLHERE_KEY", "sh_wrong")
    assert "401" in command("resume")[2]
    monkeypatch.delenv("STILLHERE_KEY")
    with pytest.raises(SystemExit, match="2"):
        command("resume")


def test_an_export_is_imported(command: Command, client: Client, tmp_path: Path) -> None:
    client.save(client.create_session(title="Kept").id, [{"role": "user", "text": "Hello"}])
    with client.connection.raw() as http:
        exported = http.get("/api/v1/export").content
    client.connection.run(_erased(client.get_project().id))
    file = tmp_path / "export.jsonl"
    file.write_bytes(exported)
    assert command("import", str(file), "--dry-run")[1].startswith("Would add: ")
    assert json.loads(command("import", str(file), "--json")[1])["found"]["messages"] == 1
    assert "Hello" in command("resume")[1]
    file.write_text("no export")
    code, out, _ = command("import", str(file))
    assert (code, out.startswith("Nothing is imported: ")) == (1, True)


def _erased(project: str) -> Any:
    from stillhere.connection import Request

    yield Request("DELETE", f"/projects/{project}", query={"purge": "1"})


@pytest.fixture
def process(environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Runs it as a process of its own. `redirected`: as a shell writes it. `PYTHON…`: variables."""

    def run(*arguments: str, input: bytes = b"", redirected: str = "", **variables: str) -> subprocess.CompletedProcess[bytes]:
        settings = {**environment, "PYTHONPATH": str(SOURCE), "PATH": os.environ["PATH"], **variables}
        command = ["sh", "-c", f'exec "$@" {redirected}', "sh", sys.executable, "-c", RUN, *arguments]
        return subprocess.run(command, input=input, env=settings, capture_output=True, timeout=60, check=False)

    return run


def test_an_export_comes_through_a_pipe(process: Any, client: Client) -> None:
    client.save(client.create_session().id, [{"role": "user", "text": "Hello"}])
    with client.connection.raw() as http:
        exported = http.get("/api/v1/export").content
    done = process("import", "-", "--dry-run", "--json", input=exported)
    assert (done.returncode, json.loads(done.stdout)["found"]["messages"]) == (0, 1), done.stderr


def test_texts_are_utf_8_whatever_the_terminal_has(process: Any, client: Client) -> None:
    assert process("save", input="\ufeffcafé 中".encode(), PYTHONIOENCODING="latin-1").returncode == 0
    resumed = client.resume()
    assert resumed is not None
    assert [each.text for each in resumed.messages] == ["café 中"]
    shown = process("resume", PYTHONIOENCODING="ascii:strict")
    assert (shown.returncode, shown.stdout.endswith(b"user: caf\\xe9 \\u4e2d\n")) == (0, True), shown
    assert process("resume", "--help", PYTHONIOENCODING="ascii:strict").returncode == 0
    refused = process("save", input=b"no \xff text", PYTHONIOENCODING="utf-8:surrogateescape")
    assert (refused.returncode, refused.stderr.startswith(b"stillhere: ")) == (1, True)
    assert len(client.read_messages(resumed.session.id).items) == 1


@pytest.mark.parametrize(("command", "code"), [(["save"], 1), (["import", "-"], 1), (["mcp"], 0)])
def test_standard_input_that_is_closed_is_an_empty_one(process: Any, command: list[str], code: int) -> None:
    done = process(*command, redirected="<&-")
    assert (done.returncode, b"Traceback" in done.stderr) == (code, False), done.stderr


def test_a_reader_that_has_enough_is_no_error(environment: dict[str, str], client: Client) -> None:
    client.save(client.create_session().id, [{"role": "user", "text": "x" * 90_000}])
    settings = {**environment, "PYTHONPATH": str(SOURCE), "PATH": os.environ["PATH"]}
    pipes: Any = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", RUN, "resume"], env=settings, **pipes) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait(30)) == (b"", 141)


def test_an_empty_id_is_not_the_current_session(command: Command, client: Client) -> None:
    assert command("save", input="current")[0] == 0
    for arguments in (["save"], ["resume"]):
        code, _, said = command(*arguments, "--session", "", input="lost")
        assert (code, said) == (1, "stillhere: The id of a session is not empty.\n")
    resumed = client.resume()
    assert resumed is not None
    assert [each.text for each in resumed.messages] == ["current"]


def test_a_search_goes_on_beyond_one_page(command: Command) -> None:
    assert command("save", input="found")[0] == 0
    assert len(command("search", "found", "--limit", "1000", "--json")[1].splitlines()) == 1


def test_an_agent_is_served(environment: dict[str, str], gate: Gate, client: Client) -> None:
    """Through the command itself, with the server away for a moment."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    call = {"name": "session_save", "arguments": {"messages": [{"role": "user", "text": "From an agent"}]}}
    settings = {**environment, "STILLHERE_URL": gate.url, "PYTHONPATH": str(SOURCE), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-c", RUN, "mcp", "--agent", "tester"]
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, env=settings, text=True, **pipes) as process:

        def ask(number: int, method: str, params: Any) -> Any:
            assert process.stdin is not None
            assert process.stdout is not None
            print(
                json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}), file=process.stdin, flush=True
            )
            return json.loads(process.stdout.readline())

        assert ask(1, "initialize", hello)["result"]["serverInfo"]["name"]
        assert "session_save" in {each["name"] for each in ask(2, "tools/list", {})["result"]["tools"]}
        gate.away = True
        assert "does not answer" in ask(3, "tools/call", call)["error"]["message"]
        gate.away = False
        assert not ask(4, "tools/call", call)["result"].get("isError")
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.close()
        assert process.wait(30) == 0
        assert process.stderr.read() == ""  # Nobody else writes the memory.
    resumed = client.resume()
    assert resumed is not None
    assert [each.text for each in resumed.messages] == ["From an agent"]


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_silent_server_does_not_hold_an_agent_that_is_told_to_end(
    environment: dict[str, str], gate: Gate, number: signal.Signals
) -> None:
    settings = {**environment, "STILLHERE_URL": gate.url, "PYTHONPATH": str(SOURCE), "PATH": os.environ["PATH"]}
    call = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n'
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", RUN, "mcp"], env=settings, **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(call)
        process.stdin.flush()
        assert process.stdout.readline()
        gate.silent, known = True, len(gate.seen)
        process.stdin.write(call)
        process.stdin.flush()
        wait_for(lambda: len(gate.seen) > known)
        process.send_signal(number)
        try:
            assert process.wait(20) == 128 + number
        finally:
            gate.silent = False
            process.kill()
