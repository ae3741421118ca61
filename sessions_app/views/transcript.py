"""Messages as the session's page shows them: parts in their order, what is not text folded."""

import json
from dataclasses import dataclass
from typing import Any

import orjson
from django.utils.safestring import SafeString

from sessions_app.queries.messages import Page
from sessions_app.views.markdown import render

LONGEST_FOLD = 20_000
FIRST_WORDS = {"input": "Input", "output": "Output", "errorText": "Error"}


@dataclass(frozen=True, slots=True)
class Fold:
    """A part that is no text: what it is, how it stands, and its content to unfold. `html` where it is prose."""

    label: str
    state: str = ""
    content: str = ""
    html: SafeString | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    id: str
    role: str
    status: str
    position: int
    created_at: str
    text: str
    blocks: list[SafeString | Fold]
    # Kinds of secrets that were found in it.
    secrets: str

    @property
    def who(self) -> str:
        return "You" if self.role == "user" else "Assistant"


def shown(page: Page) -> list[Shown]:
    return [_shown(item) for item in page.items]


def _shown(item: dict[str, Any]) -> Shown:
    # Stored parts are text that goes out as it is; a page has to look into them.
    parts = item["parts"] if isinstance(item["parts"], list) else json.loads(orjson.dumps(item["parts"]))
    blocks = [block for part in parts if (block := _block(part)) is not None]
    if item["text"] and not any(isinstance(block, SafeString) for block in blocks):
        blocks.append(render(item["text"]))
    names = ("id", "role", "status", "position", "created_at", "text")
    found = json.loads(orjson.dumps(item.get("flagged", {})))
    secrets = ", ".join(sorted(kind.replace("_", " ") for kind in found))
    return Shown(**{name: item[name] for name in names}, blocks=blocks, secrets=secrets)


def _block(part: dict[str, Any]) -> SafeString | Fold | None:
    kind, text = str(part.get("type", "")), part.get("text")
    if kind == "step-start":
        return None
    if isinstance(text, str):
        if kind == "text":
            return render(text) if text else None
        if kind == "reasoning":
            return Fold("Reasoning", html=render(text))
    if kind.startswith("tool-") or kind == "dynamic-tool":
        name = str(part.get("toolName") or kind.removeprefix("tool-"))
        return Fold(name, str(part.get("state", "")).replace("-", " "), _tool(part))
    return Fold(kind.replace("-", " ") or "part", "", _pretty(part))


def _tool(part: dict[str, Any]) -> str:
    named = [f"{label}\n{_pretty(part[name])}" for name, label in FIRST_WORDS.items() if name in part]
    return _cut("\n\n".join(named) or _pretty(part))


def _pretty(value: Any) -> str:
    return _cut(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_FOLD else f"{text[:LONGEST_FOLD]}\n… {len(text) - LONGEST_FOLD:,} more characters"
