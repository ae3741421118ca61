"""Messages as they really are, by format: the role, the parts and the fields that are left out when each is read."""

from typing import Any

type Row = tuple[dict[str, Any], str, list[Any], list[str]]
PNG = "data:image/png;base64,AAAA"
PICTURE = {"type": "file", "media_type": "image/png", "data": "AAAA"}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(given: Any, call_id: str = "c", name: str = "f") -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": name, "input": given}


def result(output: Any, is_error: bool = False, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "id": "c", "output": output, "is_error": is_error} | more


def function(arguments: str) -> dict[str, Any]:
    return {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}


def thought(words: str, **signature: Any) -> dict[str, Any]:
    return {"type": "reasoning", "text": words} | ({"signature": signature} if signature else {})


CHAT: list[Row] = [
    ({"role": "user", "content": "hi"}, "user", [text("hi")], []),
    ({"role": "developer", "content": "brief"}, "system", [text("brief")], ["role"]),
    ({"role": "system", "content": [text("a"), text("b")]}, "system", [text("a"), text("b")], []),
    (
        {
            "role": "user",
            "name": "eve",
            "content": [text("see"), {"type": "image_url", "image_url": {"url": PNG, "detail": "low"}}],
        },
        "user",
        [text("see"), PICTURE],
        ["name", "detail"],
    ),
    (
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]},
        "user",
        [{"type": "file", "media_type": "image/*", "url": "https://example.com/a.png"}],
        [],
    ),
    (
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}]},
        "user",
        [{"type": "file", "media_type": "audio/wav", "data": "AA"}],
        [],
    ),
    (
        {"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]},
        "user",
        [{"type": "data", "name": "openai.chat:file", "value": {"type": "file", "file": {"file_id": "file-1"}}}],
        [],
    ),
    ({"role": "assistant", "content": None, "tool_calls": [function('{"a": 1}')]}, "assistant", [call({"a": 1})], []),
    # Still streaming: not JSON yet.
    (
        {"role": "assistant", "content": "so", "tool_calls": [function('{"a": "un')]},
        "assistant",
        [text("so"), call('{"a": "un')],
        [],
    ),
    ({"role": "assistant", "content": None, "refusal": "no"}, "assistant", [text("no")], ["refusal"]),
    ({"role": "assistant", "content": "4", "reasoning_content": "2+2"}, "assistant", [thought("2+2"), text("4")], []),
    (
        {"role": "assistant", "content": "4", "reasoning_content": "2+2", "reasoning": "2 plus 2"},
        "assistant",
        [thought("2+2"), text("4")],
        ["reasoning"],
    ),
    (
        {"role": "assistant", "content": "4", "reasoning_content": "2+2", "reasoning": "2+2"},
        "assistant",
        [thought("2+2"), text("4")],
        [],
    ),
    ({"role": "tool", "tool_call_id": "c", "content": "out"}, "tool", [result("out")], []),
    ({"role": "tool", "tool_call_id": "c", "content": "out", "refusal": "no"}, "tool", [result("out")], ["refusal"]),
    (
        {"role": "tool", "tool_call_id": "c", "content": [text("out") | {"prompt_cache": {"a": 1}}]},
        "tool",
        [result([text("out") | {"prompt_cache": {"a": 1}}])],
        ["prompt_cache"],
    ),
    ({"role": "function", "name": "f", "content": "out"}, "tool", [result("out", name="f") | {"id": ""}], ["role"]),
    (
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        "assistant",
        [call({}, "")],
        ["function_call"],
    ),
]
RESPONSES: list[Row] = [
    ({"role": "user", "content": [{"type": "input_text", "text": "hi"}]}, "user", [text("hi")], []),
    (
        {"type": "message", "role": "user", "content": [{"type": "input_image", "detail": "auto", "image_url": PNG}]},
        "user",
        [PICTURE],
        [],
    ),
    (
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [
                {
                    "type": "output_text",
                    "text": "see",
                    "annotations": [
                        {"type": "url_citation", "url": "https://example.com", "title": "E", "start_index": 0, "end_index": 1}
                    ],
                }
            ],
        },
        "assistant",
        [text("see"), {"type": "source", "url": "https://example.com", "title": "E"}],
        [],
    ),
    (
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "xx"},
        "assistant",
        [thought("hm", openai={"itemId": "rs", "reasoningEncryptedContent": "xx"})],
        [],
    ),
    ({"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":1}'}, "assistant", [call({"a": 1})], []),
    ({"type": "function_call_output", "call_id": "c", "output": "out"}, "tool", [result("out")], []),
    ({"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "raw"}, "assistant", [call("raw")], ["custom_tool_call"]),
    (
        {"type": "web_search_call", "id": "ws", "status": "completed"},
        "assistant",
        [
            {
                "type": "data",
                "name": "openai.responses:web_search_call",
                "value": {"type": "web_search_call", "id": "ws", "status": "completed"},
            }
        ],
        [],
    ),
]
ANTHROPIC: list[Row] = [
    (
        {"role": "user", "content": [text("hi") | {"cache_control": {"type": "ephemeral"}}]},
        "user",
        [text("hi")],
        ["cache_control"],
    ),
    (
        {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]},
        "user",
        [PICTURE],
        [],
    ),
    (
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "redacted_thinking", "data": "zz"},
                {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}},
            ],
        },
        "assistant",
        [thought("hm", anthropic={"signature": "s"}), thought("", anthropic={"redactedData": "zz"}), call({"a": 1})],
        [],
    ),
    (
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [text("no")], "is_error": True}]},
        "tool",
        [result([text("no")], True)],
        [],
    ),
    (
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "1"}, text("and?")]},
        "user",
        [result("1"), text("and?")],
        [],
    ),
    ({"role": "assistant", "content": [text("hi")]}, "assistant", [text("hi")], []),
]
