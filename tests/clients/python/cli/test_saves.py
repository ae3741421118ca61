"""`stillhere save` where there is no session yet, and where nothing can be stored."""

import json
from pathlib import Path

import pytest

from stillhere import Client
from tests.clients.python.cli.conftest import Command

RAW = json.dumps({"role": "user", "content": "x"})


@pytest.mark.parametrize(
    ("options", "line"),
    [(["--format", "opnai.chat"], RAW), (["--format", "openai.chat"], '{"foo": 1}'), (["--lines"], '{"foo": 1}')],
    ids=["format", "raw", "line"],
)
@pytest.mark.parametrize("named", [["--session", "new"], []], ids=["named", "current"])
def test_a_save_that_stores_nothing_creates_nothing(
    command: Command, client: Client, options: list[str], line: str, named: list[str]
) -> None:
    code, _, said = command("save", *named, *options, input=line)
    assert (code, said.startswith("0 saved: no session is created\n")) == (1, True), said
    assert client.list_projects().items == []
    assert json.loads(command("save", *named, *options, "--json", input=line)[1])["session"] == ""


def test_the_current_session_stays_if_nothing_is_stored(command: Command, client: Client) -> None:
    current = client.open_session("kept").id
    assert command("save", "--session", "new", "--format", "opnai.chat", input=RAW)[0] == 1
    assert client.get_project().current_session == current


def test_a_format_that_is_not_known_is_said_with_those_that_are(command: Command) -> None:
    said = command("save", "--format", "opnai.chat", input=RAW)[2]
    assert "`format` is none of ai-sdk, anthropic, " in said
    assert "openai.chat" in said


def test_what_can_be_stored_of_some_lines_begins_the_session(command: Command, client: Client) -> None:
    lines = [{"foo": 1}, {"role": "user", "text": "one"}, {"role": "nobody", "text": "no"}, {"role": "user", "text": "two"}]
    code, out, said = command(
        "save", "--session", "new", "--title", "Few", "--lines", "--json", input="\n".join(map(json.dumps, lines))
    )
    assert [line.rpartition("(")[2] for line in said.splitlines()] == ["line 1)", "line 3)"]
    saved = json.loads(out)
    assert (code, [each["index"] for each in saved["rejected"]], len(saved["applied"])) == (1, [0, 2], 2)
    session = client.find_session("new")
    assert session is not None
    assert (session.id, session.title, session.current) == (saved["session"], "Few", True)
    assert [each.text for each in client.read_messages(session.id).items] == ["one", "two"]


@pytest.mark.parametrize("exists", [True, False])
def test_a_line_with_an_id_that_is_no_text_is_named(command: Command, client: Client, exists: bool) -> None:
    if exists:
        client.open_session("s")
    lines = [
        {"role": "user", "text": "one"},
        {"id": 5, "role": "user", "text": "two"},
        {"id": ["x"], "role": "user", "text": "3"},
    ]
    code, _, said = command("save", "--session", "s", "--lines", input="\n".join(map(json.dumps, lines)))
    assert (code, "(line 2, message 5)" in said, "(line 3, message ['x'])" in said) == (1, True, True), said
    assert [message.text for message in client.read_messages(client.open_session("s").id).items] == ["one"]


def test_a_session_begins_though_its_first_request_is_refused(command: Command, client: Client) -> None:
    """500 lines are one request."""
    lines = [json.dumps({"role": "nobody", "text": "no"})] * 500 + [json.dumps({"role": "user", "text": "x"})] * 501
    code, _, said = command("save", "--lines", input="\n".join(lines))
    assert (code, said.startswith("501 saved in session "), said.count("`role`")) == (1, True, 500)
    resumed = client.resume()
    assert resumed is not None
    assert resumed.session.message_count == 501


def test_a_folder_that_is_gone_is_no_project(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.delenv("STILLHERE_PROJECT")
    with pytest.raises(SystemExit) as ended:
        command("save", input="x")
    assert ended.value.code == 2
    assert "The working directory does not exist any more. Pass --project." in capsys.readouterr().err


@pytest.mark.parametrize("empty", [{"text": ""}, {"text": " \n"}, {"text": None}, {}, {"text": "", "parts": []}])
def test_a_line_whose_text_is_empty_is_named(command: Command, client: Client, empty: dict[str, object]) -> None:
    lines = [json.dumps({"role": "user", "text": "one"}), "", json.dumps({"role": "user", **empty})]
    assert command("save", "--lines", input="\n".join(lines)) == (
        1, "", "stillhere: line 3 has an empty text: nothing is saved.\n"
    )  # fmt: skip
    assert client.list_projects().items == []


def test_lines_without_a_text_of_their_own_are_saved(command: Command, client: Client) -> None:
    lines: list[dict[str, object]] = [
        {"role": "user", "text": "", "parts": [{"type": "text", "text": "in a part"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "k", "name": "look"}]},
    ]
    assert command("save", "--lines", input="\n\n".join(map(json.dumps, lines)))[0] == 0
    assert command("save", "--format", "openai.chat", input=json.dumps({"role": "assistant", "content": ""}))[0] == 0
    resumed = client.resume()
    assert resumed is not None
    assert len(resumed.messages) == 3


def test_a_text_of_blanks_is_an_empty_input(command: Command, client: Client) -> None:
    assert command("save", input=" \n\n") == (1, "", "stillhere: standard input is empty: nothing is saved.\n")
    assert client.list_projects().items == []
