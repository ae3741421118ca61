"""Texts that run a script where a page takes them for markup, and messages that have them in every kind of part."""

from typing import Any

# Each one would set `window.ran`.
CORPUS = [
    "<script>window.ran = 1</script>",
    "<img src=x onerror=window.ran=1>",
    "<svg onload=window.ran=1>",
    '"><script>window.ran = 1</script>',
    "' onmouseover='window.ran=1' autofocus onfocus='window.ran=1",
    "</pre></details><img src=x onerror=window.ran=1>",
    "</span></code><svg/onload=window.ran=1>",
    "<details open ontoggle=window.ran=1>",
    "<math><mtext></mtext><mglyph><style><img src onerror=window.ran=1></style></mglyph></math>",
    "<math><annotation-xml encoding='text/html'><script>window.ran = 1</script></annotation-xml></math>",
    "<iframe srcdoc='<script>parent.ran = 1</script>'></iframe>",
    "{{ 7 * 7 }}{% now 'Y' %}",
    "javascript:window.ran=1",
    "\x1b[31m<img src=x onerror=window.ran=1>\x1b[0m",
    "\x1b]8;;javascript:window.ran=1\x07click\x1b]8;;\x07",
    "$\\text{<img src=x onerror=window.ran=1>}$ $\\href{javascript:window.ran=1}{x}$ $\\style{x:expression(1)}{y}$",
    "$$\\text{</mtext></math><script>window.ran = 1</script>}$$",
    "```<img/src=x/onerror=window.ran=1>\ncode\n```",
    '```"onmouseover="window.ran=1\ncode\n```',
    "[x](javascript:window.ran=1) ![x](javascript:window.ran=1) <javascript:window.ran=1>",
    "| a |\n|:-:|\n| <img src=x onerror=window.ran=1> |",
    "@@ -1,2 +1,2 @@\n-<img src=x onerror=window.ran=1>\n+<script>window.ran = 1</script>",
]


def parts(text: str) -> list[dict[str, Any]]:
    """Every kind of part with the text wherever it has one."""
    return [
        {"type": "text", "text": text},
        {"type": "reasoning", "text": text},
        {
            "type": f"tool-{text}",
            "toolCallId": text,
            "state": "output-available",
            "input": {text: text},
            "output": {text: [text]},
        },
        {"type": "dynamic-tool", "toolName": text, "state": text, "input": text, "output": text},
        {"type": "tool-bash", "state": "output-error", "input": {"command": text}, "errorText": text},
        {"type": "tool-bash", "state": "output-available", "input": {"cmd": ["bash", "-lc", text]}, "output": {"stdout": text}},
        {
            "type": "tool-edit",
            "input": {"path": text, "old_string": text, "new_string": f"{text}\n{text}"},
            "output": f"{text}\n",
        },
        {"type": "tool-todo", "input": {"todos": [{"content": text, "status": text}]}, "output": None},
        {"type": "tool-see", "input": {}, "output": [{"type": "image", "data": text, "mimeType": f"image/{text}", "name": text}]},
        {"type": "tool_call", "id": text, "name": text, "input": {"a": text, "text": f"{text}\n{text}"}},
        {"type": "tool_result", "id": "other", "name": text, "output": [{"type": "text", "text": text}], "is_error": True},
        {"type": "toolCall", "id": text, "name": text, "arguments": {"x": text}},
        {"type": "file", "mediaType": text, "filename": text, "url": text},
        {"type": "file", "mediaType": "image/png", "filename": text, "url": "data:image/png;base64,AAAA"},
        {"type": "file", "mediaType": "text/html", "filename": f"{text}.html", "url": f"data:text/html,{text}"},
        {"type": "file", "mediaType": "image/svg+xml", "filename": text, "url": f"data:image/svg+xml,{text}"},
        {"type": "source-url", "sourceId": text, "url": text, "title": text},
        {"type": "source-url", "sourceId": text, "url": f"https://example.org/{text}", "title": text},
        {"type": "data-x", "data": {"deep": {text: text}}},
        {"type": "data", "name": text, "value": text},
        {"type": text, "own": text},
    ]
