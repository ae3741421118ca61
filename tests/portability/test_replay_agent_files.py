"""Session files of terminal agents and exports of chat applications: what was said is played, the rest is counted."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sessions_app.portability.replay.conversation import Conversation
from sessions_app.portability.replay.format_detection import UnknownTranscript, read_transcript
from sessions_app.portability.replay.librechat import read_librechat

SAMPLES = os.environ.get("STILLHERE_SAMPLES", "")
with_samples = pytest.mark.skipif(not SAMPLES, reason="STILLHERE_SAMPLES names no folder of recorded chats")


def read_lines(*records: Any) -> list[Conversation]:
    return read_transcript("\n".join(json.dumps(record) for record in records).encode(), name="file.jsonl")


def sample(path: str) -> list[Conversation]:
    return read_transcript(Path(SAMPLES, path).read_bytes(), name=path)


def spoken(conversation: Conversation) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in conversation.turns]


def claude(kind: str, text: str, session: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "sessionId": session, "message": {"role": kind, "content": text}, **more}


def test_two_session_ids_in_one_file_are_two_conversations_with_their_own_titles() -> None:
    first, second = read_lines(
        claude("user", "one", "s1", uuid="u1"),
        claude("user", "two", "s2", uuid="u2"),
        claude("assistant", "to one", "s1", uuid="u3"),
        claude("assistant", "to two", "s2", uuid="u4"),
        {"type": "summary", "summary": "About one", "leafUuid": "u3"},
        {"type": "summary", "summary": "About two", "leafUuid": "u4"},
    )
    assert (first.title, spoken(first)) == ("About one", [("user", "one"), ("assistant", "to one")])
    assert (second.title, spoken(second)) == ("About two", [("user", "two"), ("assistant", "to two")])


def test_a_recap_and_an_editor_s_context_are_no_words_of_the_user() -> None:
    (made,) = read_lines(
        claude("user", "question", "s"),
        claude("user", "This session is continued from…", "s", isCompactSummary=True),
        claude("user", "<open file>", "s", isMeta=True),
    )
    assert spoken(made) == [("user", "question")]
    assert made.skipped == {"compaction summary": 1, "editor context": 1}


def test_tool_calls_and_images_beside_words_are_counted() -> None:
    content = [{"type": "text", "text": "look"}, {"type": "image", "source": {}}, {"type": "tool_use", "name": "Bash"}]
    (made,) = read_lines(claude("user", content, "s"))  # type: ignore[arg-type]
    assert made.notes == {"image left out": 1, "tool_use left out": 1, "id made": 1}


def test_a_thought_a_recap_and_a_tool_call_of_chatgpt_are_no_answers() -> None:
    def node(parent: str | None, role: str, kind: str, text: str, recipient: str = "all") -> dict[str, Any]:
        message = {"author": {"role": role}, "recipient": recipient, "content": {"content_type": kind, "parts": [text]}}
        return {"parent": parent, "message": message}

    mapping = {
        "a": node(None, "user", "text", "question"),
        "b": node("a", "assistant", "thoughts", "let me think"),
        "c": node("b", "assistant", "text", '{"query": "x"}', recipient="browser"),
        "d": node("c", "assistant", "reasoning_recap", "Thought for 3 seconds"),
        "e": node("d", "assistant", "text", "answer"),
    }
    (made,) = read_transcript(json.dumps([{"mapping": mapping, "current_node": "e"}]).encode(), name="f")
    assert spoken(made) == [("user", "question"), ("assistant", "answer")]
    assert made.skipped == {"reasoning": 1, "tool call": 1, "reasoning recap": 1}


def test_codex_records_are_played_once_though_events_repeat_them() -> None:
    def item(role: str, kind: str, text: str) -> dict[str, Any]:
        return {"type": "response_item", "payload": {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}}

    (made,) = read_lines(
        {"type": "session_meta", "payload": {"id": "x", "cwd": "/app"}},
        item("user", "input_text", "run"),
        {"type": "event_msg", "payload": {"type": "user_message", "message": "run"}},
        {"type": "response_item", "payload": {"type": "function_call", "name": "shell"}},
        item("assistant", "output_text", "ok"),
    )
    assert spoken(made) == [("user", "run"), ("assistant", "ok")]
    assert made.skipped == {"session_meta": 1, "user_message": 1, "function_call": 1}


def test_a_flat_librechat_export_is_read_along_its_newest_branch() -> None:
    root = "00000000-0000-0000-0000-000000000000"
    told = [("q1", root, 1), ("a1", "q1", 2), ("a1b", "q1", 3), ("q2b", "a1b", 6), ("q2", "a1", 4), ("a2", "q2", 5)]
    messages = [
        {
            "messageId": own,
            "parentMessageId": parent,
            "isCreatedByUser": own[0] == "q",
            "text": own,
            "createdAt": f"2026-01-0{at}",
        }
        for own, parent, at in told
    ]
    made = read_librechat({"messages": messages}, name="x")
    assert [turn.text for turn in made.turns] == ["q1", "a1b", "q2b"]
    assert made.skipped == {"other branch": 3}
    for message in messages:
        del message["createdAt"]
    assert [turn.text for turn in read_librechat({"messages": messages}, name="x").turns] == ["q1", "a1", "q2", "a2"]
    linear = [{**message, "parentMessageId": root} for message in messages]
    assert len(read_librechat({"messages": linear}, name="x").turns) == 6


def test_a_librechat_tree_is_read_along_its_newest_branch() -> None:
    def message(text: str, mine: bool, *children: Any) -> dict[str, Any]:
        return {"messageId": text, "text": text, "isCreatedByUser": mine, "children": list(children)}

    tree = [message("q", True, message("old", False, message("more", True)), message("new", False))]
    (made,) = read_transcript(json.dumps({"title": "T", "messages": tree}).encode(), name="f")
    assert (made.title, spoken(made)) == ("T", [("user", "q"), ("assistant", "new")])
    assert made.skipped == {"other branch": 2}


def test_a_file_of_an_opencode_store_is_named_as_what_it_is() -> None:
    with pytest.raises(UnknownTranscript, match="OpenCode"):
        read_transcript(b'{"id": "msg-001", "sessionID": "session-001", "role": "user"}', name="f")


@with_samples
@pytest.mark.parametrize(
    ("path", "roles"),
    [
        ("librechat/librechat-export.json", ["user", "assistant"] * 3),
        ("librechat/librechat-linear.json", ["user", "assistant"]),
        ("pi_agent/specstory-real_world.jsonl", ["user", "assistant", "user"]),
        ("codex/agentsview-function_calls.jsonl", ["user"]),
    ],
)
def test_recordings_found_in_the_wild_are_played(path: str, roles: list[str]) -> None:
    (made,) = sample(path)
    assert [turn.role for turn in made.turns][: len(roles)] == roles
