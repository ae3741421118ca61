"""Messages as the session's page shows them: their parts in order."""

import json
from dataclasses import dataclass
from typing import Any

import orjson
from django.utils.safestring import SafeString

from sessions_app.chats.reading.messages import Page
from sessions_app.core.rendering.page_renderer import PageRenderer
from sessions_app.pages.session.message_parts import Block, blocks_of, prose_of


@dataclass(frozen=True, slots=True)
class Shown:
    id: str
    role: str
    status: str
    position: int
    created_at: str
    text: str
    blocks: list[Block]
    # Kinds of secrets found in the message.
    secrets: str

    @property
    def who(self) -> str:
        return "You" if self.role == "user" else "Assistant"


def shown(page: Page, renderer: PageRenderer) -> list[Shown]:
    """Renders all texts of a page in one batch, so that the page waits only once."""
    parts = [_parts(item) for item in page.items]
    renderer.prepare(text for item, own in zip(page.items, parts, strict=True) for text in _texts(item, own))
    return [_shown(item, own, renderer) for item, own in zip(page.items, parts, strict=True)]


def _parts(item: dict[str, Any]) -> list[Any]:
    """Parses the parts, which are stored as JSON text."""
    found: list[Any] = item["parts"] if isinstance(item["parts"], list) else json.loads(orjson.dumps(item["parts"]))
    return found


def _texts(item: dict[str, Any], parts: list[Any]) -> list[str]:
    """The texts that `_shown` will render."""
    prose = prose_of(parts)
    own = [item["text"]] if item["text"] and not any(kind == "text" for kind, _ in prose) else []
    return [*own, *(text for _, text in prose)]


def _shown(item: dict[str, Any], parts: list[Any], renderer: PageRenderer) -> Shown:
    blocks = blocks_of(parts, renderer)
    if item["text"] and not any(isinstance(block, SafeString) for block in blocks):
        blocks.append(renderer.render(item["text"]))
    names = ("id", "role", "status", "position", "created_at", "text")
    found = json.loads(orjson.dumps(item.get("flagged", {})))
    secrets = ", ".join(sorted(kind.replace("_", " ") for kind in found))
    return Shown(**{name: item[name] for name in names}, blocks=blocks, secrets=secrets)
