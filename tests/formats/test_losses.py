"""What a format has no place for is named as a loss: nothing vanishes silently."""

import json
from typing import Any

import pytest

from sessions_app.formats.conversion import convert
from sessions_app.formats.neutral import FilePart, Neutral, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from sessions_app.formats.registry import FORMATS
from sessions_app.formats.writing import Converted, Stored

pytestmark = pytest.mark.once
NAME = "This format has no place for the name of a file."
PNG = "iVBORw0KGgo="
IMAGES: list[dict[str, Any]] = [
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    {"type": "image", "data": PNG, "mimeType": "image/png"},
    {"type": "image", "base64": PNG, "mime_type": "image/png"},
    {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
    {"type": "file", "file": {"file_data": f"data:image/png;base64,{PNG}"}},
]


def as_format(target: str, role: str, *parts: Part) -> Converted:
    return convert([Stored("m", role, None, None, Neutral(role, list(parts)))], target)


def reasons(made: Converted) -> list[str]:
    return [loss.reason for loss in made.losses]


@pytest.mark.parametrize("target", FORMATS)
def test_the_name_of_a_file_is_kept_or_named(target: str) -> None:
    for kind in ("image/png", "audio/wav", "application/pdf"):
        made = as_format(target, "user", TextPart("see"), FilePart(kind, "a-name", data="eA=="))
        if "eA==" in json.dumps(made.items):
            assert ("a-name" in json.dumps(made.items)) != (NAME in reasons(made))


@pytest.mark.parametrize("target", ["openai.chat", "openai.responses", "anthropic"])
@pytest.mark.parametrize("image", IMAGES)
def test_a_file_in_an_output_is_named_and_never_a_text(target: str, image: dict[str, Any]) -> None:
    said = {"type": "text", "text": "a cat"}
    for output in ([said, image], {"content": [said, image]}):
        made = as_format(target, "assistant", ToolCallPart("c", "f", {}), ToolResultPart("c", output))
        written = json.dumps(made.items)
        assert "a cat" in written
        assert PNG not in written
        assert "This format has no place for files in a tool's output: 1 left out." in reasons(made)


def test_a_list_of_files_is_an_output_like_any_other() -> None:
    listed = [{"type": "file", "name": "a.py", "path": "src/a.py"}, {"type": "image", "url": "https://example.com"}]
    made = as_format("openai.chat", "assistant", ToolCallPart("c", "f", {}), ToolResultPart("c", listed))
    assert json.loads(made.items[1]["content"]) == listed
    assert made.losses == []


def test_a_signature_at_the_end_of_a_turn_is_written() -> None:
    signed = [ReasoningPart("", {"google": {"thoughtSignature": each}}) for each in ("eA==", "eQ==")]
    made = as_format("gemini", "assistant", TextPart("so"), *signed)
    assert made.items[0]["parts"] == [
        {"text": "so"},
        {"text": "", "thoughtSignature": "eA=="},
        {"text": "", "thoughtSignature": "eQ=="},
    ]


@pytest.mark.parametrize("target", FORMATS)
def test_a_signature_of_two_providers_is_kept_or_named(target: str) -> None:
    both = {"other": {"signature": "first"}, "another": {"signature": "second"}}
    made = as_format(target, "assistant", ReasoningPart("hm", both), TextPart("so"))
    written = json.dumps(made.items)
    assert ("first" in written and "second" in written) or any("signature" in reason for reason in reasons(made))
