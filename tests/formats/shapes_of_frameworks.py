"""Messages of frameworks as they really are: the rest of the tables, and all of them by the name of the format."""

from tests.formats.shapes import ANTHROPIC, CHAT, PICTURE, PNG, RESPONSES, Row, call, function, result, text, thought

AI_SDK: list[Row] = [
    (
        {
            "id": "1",
            "role": "user",
            "parts": [text("hi"), {"type": "file", "mediaType": "image/png", "url": PNG}],
            "metadata": {"a": 1},
        },
        "user",
        [text("hi"), PICTURE],
        ["metadata"],
    ),
    (
        {
            "id": "1",
            "role": "assistant",
            "parts": [
                {"type": "step-start"},
                {"type": "reasoning", "text": "hm", "providerMetadata": {"anthropic": {"signature": "s"}}},
                {"type": "tool-f", "toolCallId": "c", "state": "output-available", "input": {"a": 1}, "output": [2]},
                {"type": "source-url", "sourceId": "s", "url": "https://example.com"},
                {"type": "data-weather", "data": {"c": 3}},
            ],
        },
        "assistant",
        [
            {"type": "data", "name": "ai-sdk:step-start", "value": {"type": "step-start"}},
            thought("hm", anthropic={"signature": "s"}),
            call({"a": 1}),
            result([2], name="f"),
            {"type": "source", "url": "https://example.com"},
            {"type": "data", "name": "weather", "value": {"c": 3}},
        ],
        [],
    ),
    (
        {
            "id": "1",
            "role": "assistant",
            "parts": [
                {
                    "type": "dynamic-tool",
                    "toolName": "f",
                    "toolCallId": "c",
                    "state": "output-error",
                    "input": {},
                    "errorText": "no",
                }
            ],
        },
        "assistant",
        [call({}), result("no", True, name="f")],
        ["dynamic-tool"],
    ),
    (
        {
            "id": "1",
            "role": "assistant",
            "parts": [{"type": "tool-f", "toolCallId": "c", "state": "input-streaming", "input": {}}],
        },
        "assistant",
        [call({})],
        ["state"],
    ),
]
LANGCHAIN: list[Row] = [
    ({"type": "human", "data": {"content": "hi", "type": "human"}}, "user", [text("hi")], []),
    ({"type": "human", "content": "hi", "additional_kwargs": {}}, "user", [text("hi")], []),
    (
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "SystemMessage"],
            "kwargs": {"content": "s", "type": "system"},
        },
        "system",
        [text("s")],
        [],
    ),
    (
        {
            "type": "ai",
            "data": {
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    text("so"),
                    {"type": "tool_use", "id": "c", "name": "f", "input": {}},
                ],
                "tool_calls": [{"name": "f", "args": {"a": 1}, "id": "c", "type": "tool_call"}],
            },
        },
        "assistant",
        [thought("hm", anthropic={"signature": "s"}), text("so"), call({"a": 1})],
        [],
    ),
    (
        {
            "type": "ai",
            "data": {"content": "", "invalid_tool_calls": [{"name": "f", "args": "{", "id": "c", "error": "no JSON"}]},
        },
        "assistant",
        [call("{")],
        [],
    ),
    (
        {"type": "ai", "data": {"content": "so", "additional_kwargs": {"tool_calls": [function('{"a": 1}')], "refusal": "x"}}},
        "assistant",
        [text("so"), call({"a": 1})],
        ["additional_kwargs.refusal"],
    ),
    (
        {"type": "ai", "content": "", "additional_kwargs": {"function_call": {"name": "f", "arguments": "{}"}}},
        "assistant",
        [call({}, "")],
        [],
    ),
    (
        {
            "type": "ai",
            "content": "",
            "tool_calls": [{"name": "f", "args": {}, "id": "c"}],
            "additional_kwargs": {"tool_calls": [function("{}")], "function_call": {"name": "other", "arguments": "{}"}},
        },
        "assistant",
        [call({})],
        ["additional_kwargs.function_call"],
    ),
    (
        {"type": "tool", "content": "no", "tool_call_id": "c", "additional_kwargs": {"tool_calls": [5], "b": 2}},
        "tool",
        [result("no")],
        ["additional_kwargs.tool_calls", "additional_kwargs.b"],
    ),
    (
        {"type": "tool", "data": {"content": "no", "tool_call_id": "c", "name": "f", "status": "error", "artifact": {"a": 1}}},
        "tool",
        [result("no", True, name="f")],
        ["artifact"],
    ),
    ({"type": "chat", "data": {"content": "hm", "role": "critic"}}, "user", [text("hm")], ["role"]),
    (
        {"type": "human", "data": {"content": [{"type": "image", "base64": "AAAA", "mime_type": "image/png"}]}},
        "user",
        [PICTURE],
        [],
    ),
]
PYDANTIC: list[Row] = [
    (
        {
            "kind": "request",
            "instructions": "brief",
            "parts": [
                {"part_kind": "system-prompt", "content": "s"},
                {"part_kind": "user-prompt", "content": ["see", {"kind": "binary", "data": "AAAA", "media_type": "image/png"}]},
            ],
        },
        "user",
        [{"type": "data", "name": "system-prompt", "value": "s"}, text("see"), PICTURE],
        ["instructions"],
    ),
    ({"kind": "request", "parts": [{"part_kind": "system-prompt", "content": "s"}]}, "system", [text("s")], []),
    (
        {
            "kind": "response",
            "parts": [
                {"part_kind": "thinking", "content": "hm", "signature": "s", "provider_name": "anthropic"},
                {"part_kind": "tool-call", "tool_name": "f", "args": '{"a": 1}', "tool_call_id": "c"},
            ],
        },
        "assistant",
        [thought("hm", anthropic={"signature": "s"}), call({"a": 1})],
        [],
    ),
    (
        {"kind": "request", "parts": [{"part_kind": "tool-return", "tool_name": "f", "content": {"a": 1}, "tool_call_id": "c"}]},
        "tool",
        [result({"a": 1}, name="f")],
        [],
    ),
    (
        {"kind": "request", "parts": [{"part_kind": "retry-prompt", "tool_name": "f", "content": "again", "tool_call_id": "c"}]},
        "tool",
        [result("again", True, name="f")],
        ["outcome"],
    ),
]
GEMINI: list[Row] = [
    (
        {"role": "user", "parts": [{"text": "hi"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
        "user",
        [text("hi"), PICTURE],
        [],
    ),
    (
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True},
                {"functionCall": {"id": "c", "name": "f", "args": {"a": 1}}, "thoughtSignature": "eA=="},
            ],
        },
        "assistant",
        [thought("hm"), thought("", google={"thoughtSignature": "eA=="}), call({"a": 1})],
        [],
    ),
    (
        {"role": "user", "parts": [{"function_response": {"id": "c", "name": "f", "response": {"error": "no"}}}]},
        "tool",
        [result("no", True, name="f")],
        [],
    ),
    (
        {
            "parts": [
                {"fileData": {"fileUri": "https://example.com/a.pdf", "mimeType": "application/pdf"}, "videoMetadata": {"fps": 1}}
            ]
        },
        "user",
        [{"type": "file", "media_type": "application/pdf", "url": "https://example.com/a.pdf"}],
        ["videoMetadata"],
    ),
]
TABLES: dict[str, list[Row]] = {
    "openai.chat": CHAT,
    "openai.responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "ai-sdk": AI_SDK,
    "langchain": LANGCHAIN,
    "pydantic-ai": PYDANTIC,
    "gemini": GEMINI,
}
