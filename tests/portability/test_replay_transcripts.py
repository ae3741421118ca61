"""Recorded chats as they are found in the wild: read without a crash, what cannot be played counted."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sessions_app.portability.replay.conversation import ID_LENGTH, TEXT_LENGTH, TITLE_LENGTH, Conversation
from sessions_app.portability.replay.format_detection import UnknownTranscript, read_transcript

FORMATS = ("chat_completions", "chatgpt", "claude_code")
SAMPLES = os.environ.get("STILLHERE_SAMPLES", "")
sample_files = sorted(path for name in FORMATS for path in Path(SAMPLES, name).glob("*")) if SAMPLES else []


def read(value: Any) -> list[Conversation]:
    return read_transcript(json.dumps(value).encode(), name="file.json")


def read_lines(*records: Any) -> Conversation:
    raw = "\n".join(record if isinstance(record, str) else json.dumps(record) for record in records)
    (made,) = read_transcript(raw.encode(), name="file.jsonl")
    return made


def read_messages(*messages: Any) -> Conversation:
    (made,) = read(list(messages))
    return made


def spoken(conversation: Conversation) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in conversation.turns]


# --- OpenAI-style messages


def test_messages_come_bare_or_in_an_object() -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    (bare,), (wrapped,) = read(messages), read({"messages": messages, "title": "Greeting"})
    assert spoken(bare) == spoken(wrapped) == [("user", "hi"), ("assistant", "hello")]
    assert (bare.title, wrapped.title) == ("file.json", "Greeting")


def test_lines_of_messages_are_one_chat_and_lines_of_chats_are_many() -> None:
    message = {"role": "user", "content": "hi"}
    assert len(read_lines(message, message).turns) == 2
    raw = "\n".join(json.dumps({"messages": [message]}) for _ in range(2)).encode()
    assert [len(chat.turns) for chat in read_transcript(raw, name="chats.jsonl")] == [1, 1]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ([{"type": "input_text", "text": "in"}, {"type": "image_url", "image_url": {}}, "bare", None, 7], "in\nbare"),
        ([{"type": "text", "text": {"value": "nested", "annotations": []}}], "nested"),
        ("  spaces stay ", "  spaces stay "),
    ],
)
def test_text_is_found_in_every_shape_of_content(content: Any, text: str) -> None:
    assert spoken(read_messages({"role": "user", "content": content})) == [("user", text)]


@pytest.mark.parametrize("content", [None, "", " \n", [], {}, 5, True, [{"type": "text"}], [{"type": ["text"], "text": "no"}]])
def test_turns_without_text_are_counted(content: Any) -> None:
    made = read_messages({"role": "assistant", "content": content, "tool_calls": []})
    assert (made.turns, made.skipped) == ([], {"no text": 1})


def test_frontends_messages_have_parts_instead_of_content() -> None:
    made = read_messages({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hi"}, {"type": "file", "url": "x"}]})
    assert spoken(made) == [("user", "hi")]


def test_other_roles_and_what_is_no_message_are_counted() -> None:
    roles: list[Any] = ["system", "developer", "tool", "function", "narrator", None, ["user"], {}]
    made = read_messages(*({"role": role, "content": "x"} for role in roles), "text", None, 3)
    assert made.skipped == {"system": 1, "developer": 1, "tool": 1, "function": 1, "unknown role": 4, "not a message": 3}


# --- Ids and sizes


def test_ids_are_kept_where_given_and_made_where_missing_wrong_or_too_long() -> None:
    ids: list[Any] = ["a", 7, None, "", True, ["x"], "i" * (ID_LENGTH + 1), "i" * ID_LENGTH]
    made = read_messages(*({"role": "user", "content": str(number), "id": given} for number, given in enumerate(ids)))
    assert [turn.id for turn in made.turns] == ["a", "7", "turn-3", "turn-4", "turn-5", "turn-6", "turn-7", "i" * ID_LENGTH]
    assert made.notes == {"id made": 5}


def test_an_id_given_twice_is_a_repetition_only_with_the_same_words() -> None:
    words = ["one", "two", "one"]
    made = read_messages(*({"role": "user", "content": text, "id": "turn-2"} for text in words))
    assert [turn.text for turn in made.turns] == ["one", "two"]
    assert len({turn.id for turn in made.turns}) == 2
    assert made.skipped == {"repeated": 1}


def test_the_same_words_without_ids_are_two_turns() -> None:
    assert len(read_messages(*[{"role": "user", "content": "yes"}] * 2).turns) == 2


def test_a_long_text_is_split_and_nothing_of_it_lost() -> None:
    text = "ab" * TEXT_LENGTH + "c"
    for given in ("m", "m" * ID_LENGTH, None):
        made = read_messages({"role": "assistant", "content": text, "id": given})
        assert "".join(turn.text for turn in made.turns) == text
        assert [len(turn.text) for turn in made.turns] == [TEXT_LENGTH, TEXT_LENGTH, 1]
        assert len({turn.id for turn in made.turns}) == 3
        assert all(len(turn.id) <= ID_LENGTH for turn in made.turns)
        assert made.notes["long text split"] == 1


def test_characters_that_cannot_be_stored_are_replaced_and_counted() -> None:
    made = read_messages({"role": "user", "content": "nul \0 and half \ud83d, whole \U0001f600", "id": "a\0"})
    assert spoken(made) == [("user", "nul \ufffd and half \ufffd, whole \U0001f600")]
    assert (made.turns[0].id, made.notes) == ("a\ufffd", {"characters replaced": 2})


def test_titles_are_text_of_a_title_s_length() -> None:
    titles: list[Any] = ["t" * 300, "", " ", None, 5, "a\0"]
    read_titles = [read({"title": title, "messages": []})[0].title for title in titles]
    assert read_titles == ["t" * TITLE_LENGTH, *["file.json"] * 4, "a\ufffd"]


# --- Claude Code


def record(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": kind, "message": {"role": kind, "content": content}, "sessionId": "s", **more}


def test_claude_code_records_in_the_file_s_order() -> None:
    made = read_lines(
        {"type": "file-history-snapshot", "messageId": "x", "uuid": "f"},
        record("user", "question", uuid="u1"),
        record(
            "assistant", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "answer"}], uuid="u2", parentUuid="u1"
        ),
        record("assistant", [{"type": "tool_use", "name": "Bash", "input": {}}], uuid="u3", parentUuid="u2"),
        record("user", [{"type": "tool_result", "content": "output"}], uuid="u4", parentUuid="u3"),
        record("assistant", [{"type": "text", "text": "of a helper"}], uuid="u5", isSidechain=True),
        {"type": "summary", "summary": "What it was about", "leafUuid": "u2"},
    )
    assert [(turn.id, turn.text) for turn in made.turns] == [("u1", "question"), ("u2", "answer")]
    assert made.skipped == {"file-history-snapshot": 1, "no text": 2, "sidechain": 1, "summary": 1}
    assert made.title == "What it was about"


def test_claude_code_s_web_shape() -> None:
    (made,) = read({"loglines": [record("user", "question"), record("assistant", [{"type": "text", "text": "answer"}])]})
    assert spoken(made) == [("user", "question"), ("assistant", "answer")]


def test_lines_that_cannot_be_read_are_counted() -> None:
    made = read_lines(record("user", "a\u2028b"), "", "not json", "[1, 2]", "[" * 100_000, '{"type": "assistant", "mess')
    assert spoken(made) == [("user", "a\u2028b")]
    assert made.skipped == {"unreadable line": 4}


def test_a_recorder_s_copy_of_a_record_is_played_once() -> None:
    made = read_lines(record("user", "hi", uuid="u1"), record("user", "hi", uuid="u1"))
    assert (len(made.turns), made.skipped) == (1, {"repeated": 1})


def test_claude_code_fields_of_wrong_types() -> None:
    contents: list[Any] = [None, [], 7, {"content": 3}, {}]
    odd: list[Any] = [{"type": "user", "message": wrong, "uuid": 5} for wrong in contents]
    made = read_lines(record("user", "hi", uuid={}), *odd, {"type": ["user"], "uuid": "x"}, {"type": "summary", "summary": 9})
    assert [turn.id for turn in made.turns] == ["turn-1"]
    assert made.skipped == {"no text": 5, "unknown record": 1, "summary": 1}


def test_a_line_alone_and_a_byte_order_mark_are_read() -> None:
    assert len(read_lines(record("user", "hi")).turns) == 1
    assert len(read_lines({"role": "user", "content": "hi"}).turns) == 1
    (made,) = read_transcript(b"\xef\xbb\xbf[]", name="f")
    assert made.turns == []


# --- ChatGPT


def node(parent: Any, text: Any = None, role: str = "user", **more: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]}
    message = None if text is None else {"author": {"role": role}, "content": content, **more}
    return {"message": message, "parent": parent, "children": []}


def read_tree(mapping: Any, current: Any) -> Conversation:
    (made,) = read([{"title": "Tree", "mapping": mapping, "current_node": current}])
    return made


def test_a_chatgpt_tree_is_read_along_its_current_node() -> None:
    mapping = {
        "b2": node("a", "other answer", "assistant"),
        "root": node(None),
        "a": node("sys", "question", id="given"),
        "sys": node("root", "", "system"),
        "b": node("a", "answer", "assistant"),
        "c": node("b", "thanks"),
    }
    made = read_tree(mapping, "b")
    assert [(turn.id, turn.text) for turn in made.turns] == [("given", "question"), ("b", "answer")]
    assert made.skipped == {"system": 1, "other branch": 2}
    assert read({"mapping": mapping, "current_node": "c"})[0].turns[-1].text == "thanks"


def test_every_conversation_of_an_export_is_read() -> None:
    made = read([{"mapping": {"a": node(None, "one")}, "current_node": "a"}, {"mapping": []}, None, {"title": "no tree"}])
    assert [(len(chat.turns), dict(chat.skipped)) for chat in made] == [(1, {}), *[(0, {"not a conversation": 1})] * 3]


@pytest.mark.parametrize("current", [None, "nowhere", 5, {}])
def test_without_a_current_node_the_newest_leaf_ends_the_branch(current: Any) -> None:
    times: list[Any] = [1.5, 10**400, 30, float("nan"), "late"]
    leaves = {f"leaf{number}": node("a", f"at {at}"[:20], create_time=at) for number, at in enumerate(times)}
    made = read_tree({"a": node(None, "question"), **leaves}, current)
    assert [turn.text for turn in made.turns] == ["question", "at 30"]
    assert made.notes["current_node unknown"] == 1


def test_unknown_parents_and_cycles_end_the_branch() -> None:
    dangling = read_tree({"a": node("gone", "hi")}, "a")
    assert (spoken(dangling), dangling.notes["parent unknown"]) == ([("user", "hi")], 1)
    for current in ("a", None):
        turning = read_tree({"a": node("b", "one"), "b": node("a", "two")}, current)
        assert (len(turning.turns), turning.notes["cycle"]) == (2, 1)


def test_chatgpt_content_of_other_kinds_and_wrong_types() -> None:
    contents: list[Any] = [
        {"content_type": "code", "language": "python", "text": "search()"},
        {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "x"}, "look"]},
        {"content_type": "text", "parts": "bare"},
        None,
        {"parts": {"0": "x"}},
        ["listed"],
    ]
    mapping: dict[str, Any] = {}
    for number, content in enumerate(contents):
        message = {"author": {"role": "user"}, "content": content}
        mapping[str(number)] = {"message": message, "parent": str(number - 1) if number else 5}
    mapping |= {"x": {"message": "no object", "parent": "5"}, "y": {"message": {"author": "user"}, "parent": "x"}, "z": 7}
    made = read_tree(mapping, "y")
    assert [turn.text for turn in made.turns] == ["look", "bare", "listed"]
    assert made.skipped == {"no text": 3, "not a message": 1, "unknown role": 1, "other branch": 1}


def test_an_empty_tree_has_no_turns() -> None:
    assert read_tree({}, "a").turns == []


# --- Files that are no chats


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"hello",
        b"\xff\xfe\x00",
        b"5",
        b"null",
        b'"text"',
        b"{}",
        b'{"messages": 5}',
        b'{"loglines": {}}',
        b'[{"a": 1}]',
        b"[1, 2]",
        b"[" * 100_000,
        b'{"payload": {}, "type": "response_item"}\n{"payload": {}, "type": "response_item"}',
        b"1" * 5000,
    ],
)
def test_what_is_no_recorded_chat_is_refused_in_words(raw: bytes) -> None:
    with pytest.raises(UnknownTranscript):
        read_transcript(raw, name="f")


@pytest.mark.skipif(not sample_files, reason="STILLHERE_SAMPLES names no folder of recorded chats")
@pytest.mark.parametrize("path", sample_files, ids=lambda path: path.name)
def test_recorded_samples_are_read(path: Path) -> None:
    conversations = read_transcript(path.read_bytes(), name=path.name)
    assert all(chat.turns for chat in conversations)
    for chat in conversations:
        assert len({turn.id for turn in chat.turns}) == len(chat.turns)
        assert all(0 < len(turn.id) <= ID_LENGTH and 0 < len(turn.text) <= TEXT_LENGTH for turn in chat.turns)
