"""The command `stillhere` against a real server."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stillhere import Client
from tests.clients.python.cli.conftest import RUN, Command
from tests.clients.python.conftest import SOURCE
from tests.clients.python.gate import Gate
from tests.support.suite import first_of


def test_what_is_saved_is_resumed_and_found(command: Command, client: Client) -> None:
    client.get_project()
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


def test_resume_says_that_there_are_earlier_messages(command: Command, client: Client) -> None:
    chat = client.create_session().id
    client.save(chat, [{"role": "user", "text": str(number)} for number in range(200)])
    assert command("resume")[2] == ""
    client.save(chat, [{"role": "user", "text": str(number)} for number in range(200, 1101)])
    told = "stillhere: these are the newest 200 messages. `--all` prints the earlier ones too.\n"
    for options in ([], ["--format", "openai.chat"]):
        code, out, said = command("resume", *options)
        assert (code, out.count("1100"), said) == (0, 1, told)
    for options, count in ((["--all"], 1101), (["--limit", "700"], 700)):
        code, out, said = command("resume", "--format", "openai.chat", *options)
        assert (code, len(out.splitlines()), said) == (0, count, "")
        assert [json.loads(out.splitlines()[at])["content"] for at in (0, -1)] == [str(1101 - count), "1100"]
        shown = json.loads(command("resume", "--json", *options)[1])["messages"]
        assert [each["text"] for each in (shown[0], shown[-1])] == [str(1101 - count), "1100"]


def test_without_a_current_session_the_newest_is_named(command: Command, client: Client) -> None:
    client.open_session("agents 42", current=False)
    said = "stillhere: no session of this project is the current one. Name one: `--session 'agents 42'` is the newest.\n"
    assert command("resume") == (1, "", said)
    client.create_session(current=False)
    assert command("resume")[2].endswith("Make one current on its page.\n")


def test_what_only_reads_creates_no_project(command: Command, client: Client) -> None:
    mistyped = "/home/alice/mistyped"
    told = f"404 no_project: there is no project {mistyped}.\n"
    assert command("--project", mistyped, "resume", "--session", "x") == (1, "", "stillhere: there is no such session.\n")
    for arguments in (["resume"], ["search", "x"]):
        assert command("--project", mistyped, *arguments) == (1, "", f"stillhere: {told}")
    assert command("--project", mistyped, "search", "x", "--everywhere")[0] == 0
    with client.connection.raw() as http:
        exported = http.get("/api/v1/export").content.decode()
    assert command("--project", mistyped, "import", "-", input=exported)[1].startswith("Added: nothing")
    assert mistyped not in [each.path for each in client.list_projects().items]


def test_a_search_says_that_nothing_is_found(command: Command, client: Client) -> None:
    client.create_session()
    assert command("search", "checkout") == (0, "", "nothing is found\n")


def test_an_empty_search_and_a_wrong_address_are_told_in_words(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for empty in ("", " "):
        with pytest.raises(SystemExit, match="2"):
            command("search", empty)
        assert "argument text: it is empty" in capsys.readouterr().err
    monkeypatch.setenv("STILLHERE_URL", f"{os.environ['STILLHERE_URL']}/v1")
    said = command("resume")[2]
    assert said.endswith("The `url` of a client is the server's address, without `/v1` or another path of the API.\n"), said


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


def test_a_message_that_was_removed_does_not_count_as_saved(command: Command, client: Client) -> None:
    session = client.open_session("t").id
    client.save(session, [{"id": "m1", "role": "user", "text": "one"}])
    client.change(session, [{"op": "delete", "id": "m1"}])
    lines = [{"id": "m1", "role": "user", "text": "two"}, {"id": "m2", "role": "user", "text": "three"}]
    code, _, said = command("save", "--session", "t", "--lines", input="\n".join(map(json.dumps, lines)))
    assert (code, said.startswith("1 saved"), "was removed" in said, "m1" in said) == (1, True, True, True), said


def test_two_lines_with_one_id_are_one_message(command: Command, client: Client) -> None:
    lines = [{"id": "m1", "role": "user", "text": text} for text in ("one", "two")] + [{"role": "user", "text": "three"}]
    code, _, said = command("save", "--session", "t", "--lines", input="\n".join(map(json.dumps, lines)))
    assert (code, said.startswith("2 saved")) == (0, True), said
    code, _, said = command("save", "--session", "t", "--lines", input=json.dumps(lines[1]))
    assert (code, said.startswith("1 saved")) == (0, True), said


def test_a_session_in_the_trash_is_said_to_be_there(command: Command, client: Client) -> None:
    client.delete_session(client.open_session("t").id)
    assert "in the trash" in command("resume", "--session", "t")[2]
    assert command("resume", "--session", "u")[2] == "stillhere: there is no such session.\n"


def test_a_line_that_is_nested_too_deeply_is_refused(command: Command) -> None:
    code, _, said = command("save", "--lines", input="[" * 200_000)
    assert (code, said.startswith("stillhere: line 1 is no JSON")) == (1, True)


@pytest.mark.parametrize("content", first_of([b"{}", b'{"items": [{"id": 1}]}', b'{"items": []}', b"[]"], 2))
def test_what_is_no_stillhere_server_is_said(
    command: Command, gate: Gate, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setenv("STILLHERE_URL", gate.url)
    for arguments in (["resume"], ["save"], ["search", "x"]):
        gate.next.extend([content] * 3)
        code, out, said = command(*arguments, input="x")
        # A list of no projects may be Stillhere's: what only reads says that there is none.
        expected = "no_project" if content == b'{"items": []}' and arguments != ["save"] else "unreadable"
        assert (code, out, expected in said) == (1, "", True), said
        gate.next.clear()


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
    assert (code, out.startswith("Line 1 of the file"), out.count("Nothing was imported")) == (1, True, 1), out


def _erased(project: str) -> Any:
    from stillhere.connection import Request

    yield Request("DELETE", f"/projects/{project}", query={"purge": "1"})


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


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["save"], 1),
        pytest.param(["mcp"], 0, marks=pytest.mark.slow),
        pytest.param(["import", "-"], 1, marks=pytest.mark.slow),
    ],
)
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


@pytest.mark.parametrize("option", first_of(["--project", "--url"], 1))
def test_an_empty_option_is_not_the_usual_one(command: Command, client: Client, option: str) -> None:
    """As of a variable of a script that is not set: nothing is saved elsewhere."""
    with pytest.raises(SystemExit, match="2"):
        command("save", option, "", input="lost")
    assert client.resume() is None


def test_a_search_goes_on_beyond_one_page(command: Command) -> None:
    assert command("save", input="found")[0] == 0
    assert len(command("search", "found", "--limit", "1000", "--json")[1].splitlines()) == 1


@pytest.mark.parametrize("limit", ["0", "-1", "many"])
@pytest.mark.parametrize("arguments", [["resume"], ["search", "x"]], ids=["resume", "search"])
def test_a_limit_is_a_number_of_messages(
    command: Command, capsys: pytest.CaptureFixture[str], arguments: list[str], limit: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        command(*arguments, f"--limit={limit}")
    assert capsys.readouterr().err.endswith("argument --limit: it is a whole number of at least 1.\n")


def test_a_format_to_read_that_is_not_known_is_said_with_those_that_are(command: Command, client: Client) -> None:
    client.create_session()
    code, _, said = command("resume", "--format", "opnai.chat")
    assert (code, "Known ones: ai-sdk, anthropic, " in said, "openai.chat" in said) == (1, True, True), said
