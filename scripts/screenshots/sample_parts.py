"""A contact sheet of messages: every kind of part, invented ones and those of recorded chats (STILLHERE_SAMPLES)."""

import base64
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sessions_app.formats.registry import detect

# Messages of recorded chats: those with a kind of part or a tool that no earlier one has.
MOST_FOUND = 34
COLOURS = (
    "\x1b[1m== tests ==\x1b[0m\n\x1b[32m✓\x1b[0m cart is locked first \x1b[2m(12 ms)\x1b[0m\n\x1b[31m✗ order has lines\x1b[0m\n"
)
COLOURS += "\x1b[33mwarning:\x1b[0m \x1b[36mshop/stock.py\x1b[0m:41 \x1b[4munused import\x1b[0m\n10 %\r57 %\r100 % done\n"
COLOURS += "\x1b[31m1 failed\x1b[0m, \x1b[32m41 passed\x1b[0m"
OLD = "def check_out(cart_id):\n    cart = Cart.get(cart_id)\n    return order(cart)\n"
NEW = "def check_out(cart_id):\n    with lock(cart_id):\n        cart = Cart.get(cart_id)\n        return order(cart)\n"
DIFF = """diff --git a/shop/stock.py b/shop/stock.py
--- a/shop/stock.py
+++ b/shop/stock.py
@@ -38,7 +38,8 @@ def release(cart):
     cart.refresh()
-    cart.clear()
+    if not cart.locked:
+        cart.clear()
     cart.save()
"""
PATCH = "*** Begin Patch\n*** Update File: shop/rates.py\n@@\n-TIMEOUT = 2\n+TIMEOUT = 10\n*** End Patch"
CODE = "\n".join(f"def step_{number}(order: Order) -> None:\n    order.log('step {number}')\n" for number in range(14))
# So long that it is folded.
LONG = "\n\n".join(
    f"### Harbour {number}\n\nThe books begin in {1800 + number} and count **ships by flag**. Two years are missing; the parish "
    "register has the crews, and the customs office the freight."
    for number in range(1, 41)
)
MARKDOWN = f"""### What was found

The sum is $\\sum_{{i=1}}^{{n}} i = \\frac{{n(n+1)}}{{2}}$, and in general

$$
\\int_0^\\infty e^{{-x^2}}\\,dx = \\frac{{\\sqrt{{\\pi}}}}{{2}}, \\qquad A = \\begin{{pmatrix}} a & b \\\\ c & d \\end{{pmatrix}}
$$

\\begin{{align}}
f(x) &= (x + 1)^2 \\\\
     &= x^2 + 2x + 1
\\end{{align}}

| endpoint | state | p95 ms |
|:---|:---:|---:|
| `POST /checkout` | slower | 1,240.5 |
| `GET /cart` | same | 31.0 |

- [x] Lock the cart
- [ ] Measure again
  - [ ] in Bergen

1. One
2. Two, with ~~a mistake~~ **bold** and *italic* text, `code`, and a [link](https://docs.example.org/locks)

> A quotation.

![A chart](https://charts.example.org/p95.png)

```python
{CODE}```

```diff
-TIMEOUT = 2
+TIMEOUT = 10
```

```
A very long line without a language: {"the quick brown fox jumps over the lazy dog, " * 6}
```

A formula that nobody understands stays as it is: $\\unknown{{x}}$. See[^1].

[^1]: A footnote.
"""


def tool(name: str, given: Any, output: Any, **more: Any) -> dict[str, Any]:
    state = "output-error" if "errorText" in more else "output-available"
    told = {} if "errorText" in more else {"output": output}
    return {"type": f"tool-{name}", "toolCallId": name, "state": state, "input": given, **told, **more}


REPORT = {"orders": 1204, "open": True, "note": None, "lines": [{"sku": "A-1", "price": 12.5}, {"sku": "B-2", "price": 7}]}
TODOS = [{"content": f"{state} one", "status": state} for state in ("completed", "in_progress", "pending")]
GREP = {"status": "completed", "input": {"pattern": "lock("}, "output": "shop/a.py:3", "time": {"start": 1, "end": 40}}
CALLS = [
    {"type": "reasoning", "text": "First the log, then the lock.\n\n1. Read it\n2. **Test** it"},
    tool("Bash", {"command": "pytest -q tests/cart", "description": "Runs the tests"}, COLOURS, durationMs=4210),
    tool("Edit", {"file_path": "shop/checkout.py", "old_string": OLD, "new_string": NEW}, "The file was changed."),
    tool("git_diff", {"path": "shop/stock.py"}, DIFF),
    tool("apply_patch", {"input": PATCH}, "Done!"),
    tool("Write", {"file_path": "shop/steps.py", "content": CODE}, "44 lines written"),
    tool("query_orders", {"week": 47, "shops": ["Bergen", "Oslo"], "by": {"day": True}}, REPORT, durationMs=87),
    tool("fetch", {"url": "https://rates.example.org/nok"}, None, errorText="TimeoutError: no answer after 2000 ms"),
    tool("TodoWrite", {"todos": TODOS}, "ok"),
    {"type": "tool-delete", "toolCallId": "d", "state": "approval-requested", "input": {"path": "carts/8f1c"}},
    {"type": "tool", "tool": "grep", "callID": "g", "state": GREP},
    {"type": "data-weather", "data": {"sky": "blue", "wind": 3}},
]
SOURCES = [
    {"type": "source-url", "sourceId": "1", "url": "https://docs.example.org/locks", "title": "How locks work"},
    {
        "type": "source-url",
        "sourceId": "2",
        "url": "https://blog.example.org/2026/a",
        "title": "A long story of carts",
    },
]


def generated(picture: bytes) -> list[dict[str, Any]]:
    content = base64.b64encode(picture).decode()
    image = {"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{content}"}
    shown = [{"type": "text", "text": "The page after the change."}, {"type": "image", "data": content, "mimeType": "image/png"}]
    files = [
        {"type": "text", "text": "Here are the files."},
        {**image, "filename": "shelf.png"},
        {**image, "filename": "door.png"},
        {"type": "file", "mediaType": "text/csv", "filename": "sales.csv", "url": "data:text/csv,week,total%0A46,1204%0A"},
        {"type": "file", "mediaType": "image/jpeg", "filename": "far.jpg", "url": "https://img.example.org/far.jpg"},
    ]
    return [
        {"role": "user", "parts": files},
        {"role": "assistant", "parts": [*CALLS, tool("screenshot", {"page": "/checkout"}, {"content": shown})]},
        {"role": "assistant", "parts": [{"type": "text", "text": MARKDOWN}, *SOURCES]},
        {"role": "assistant", "text": "This answer was cut", "status": "interrupted"},
    ]


def found() -> list[dict[str, Any]]:
    """Messages of recorded chats, in the formats that are recognised, and results of their calls."""
    folder = os.environ.get("STILLHERE_SAMPLES", "")
    seen, calls, chosen = set[str](), set[str](), list[dict[str, Any]]()
    for path in sorted(Path(folder).rglob("*.json*")) if folder else ():
        for raw in _messages(path):
            blocks = [raw, *_objects(raw.get("content"))]
            kinds = {f"{one.get('type')} {one.get('name', '')}" for one in blocks} | {detect(raw) or ""}
            answered = any(one.get("tool_use_id") in calls for one in blocks)
            if (kinds <= seen and not answered) or len(chosen) == MOST_FOUND:
                continue
            seen |= kinds
            calls |= {str(one.get("id")) for one in blocks if one.get("type") == "tool_use"}
            chosen.append({"format": detect(raw), "raw": raw})
    return chosen


def _messages(path: Path) -> Iterator[dict[str, Any]]:
    text = path.read_text()
    for line in text.splitlines() if path.suffix == ".jsonl" else [text]:
        for one in _objects(json.loads(line)):
            raw = {"role": "assistant" if one["sender"] == "assistant" else "user", **one} if "sender" in one else one
            if detect(raw):
                yield raw


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(inner)


def add_parts(session: Callable[[str, list[dict[str, Any]]], str], picture: bytes) -> dict[str, str]:
    """A session of each sort. The invented one is the project's current session."""
    recorded = found()
    places = {"recorded": session("Parts of recorded chats", recorded)} if recorded else {}
    places["long"] = session("Notes on every harbour", [{"role": "assistant", "text": LONG}])
    return {**places, "parts": session("Every kind of part", generated(picture))}
