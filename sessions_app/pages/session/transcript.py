"""Messages as the session's page shows them: their parts in order."""

import json
from dataclasses import dataclass
from typing import Any

import orjson

from sessions_app.chats.files.queries import find_files
from sessions_app.chats.reading.messages import Page
from sessions_app.core.rendering.markdown_client import Source
from sessions_app.core.rendering.page_renderer import PageRenderer
from sessions_app.core.web.template_tags.formatting import speaker
from sessions_app.models.message import Status
from sessions_app.pages.session.parts.attachments import files_named
from sessions_app.pages.session.parts.blocks import Block, Shelf, blocks_of, is_prose, prose_of, source_text, text_block
from sessions_app.pages.session.parts.contents import add_contents
from sessions_app.pages.session.parts.results import with_results
from sessions_app.pages.session.parts.room import Room


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
    # Its place among the messages that follow the same one; None: it is the only one.
    siblings: dict[str, Any] | None = None
    format: str | None = None

    @property
    def who(self) -> str:
        return speaker(self.role, self.format)


def shown(page: Page, renderer: PageRenderer, *, fold_results: bool = True) -> list[Shown]:
    """Renders all texts of a page in one batch, so that the page waits only once.

    `fold_results`: a tool's result is shown in the call that it answers, and a message that has nothing else is left out.
    """
    parts = [_parts(item) for item in page.items]
    add_contents(page.items, parts)
    joined = with_results(parts, [item["created_at"] for item in page.items]) if fold_results else parts
    messages = list(zip(page.items, joined, strict=True))
    if fold_results:
        had = dict(zip((item["id"] for item in page.items), parts, strict=True))
        messages = [(item, own) for item, own in messages if own or item["text"] or not had[item["id"]]]
    renderer.prepare(text for item, own in messages for text in _texts(item, own))
    digests = set[str]().union(*(files_named(own) for _, own in messages))
    files = find_files(user_id=renderer.account, digests=digests) if digests else {}
    shelf = Shelf(renderer, files, Room())
    # The newest first: if there is no room for all, the oldest are cut.
    return [_shown(item, own, shelf) for item, own in reversed(messages)][::-1]


def _parts(item: dict[str, Any]) -> list[Any]:
    """Parses the parts, which are stored as JSON text."""
    found: list[Any] = item["parts"] if isinstance(item["parts"], list) else json.loads(orjson.dumps(item["parts"]))
    return found


def _texts(item: dict[str, Any], parts: list[Any]) -> list[Source]:
    """The texts that `_shown` will render."""
    prose = prose_of(parts)
    if item["text"] and not any(kind == "text" for kind, _ in prose):
        prose.insert(0, ("text", item["text"]))
    return [source_text(item["role"], text) if kind == "text" else text for kind, text in prose]


def _shown(item: dict[str, Any], parts: list[Any], shelf: Shelf) -> Shown:
    # Who watches it grow sees its end.
    shelf.folds, shelf.role = item["status"] != Status.STREAMING, item["role"]
    blocks = blocks_of(parts, shelf)
    if item["text"] and not any(map(is_prose, blocks)):
        blocks.append(text_block(item["text"], shelf))
    names = ("id", "role", "status", "position", "created_at", "text")
    found = json.loads(orjson.dumps(item.get("flagged", {})))
    secrets = ", ".join(sorted(kind.replace("_", " ") for kind in found))
    more: dict[str, Any] = {name: item.get(name) for name in ("siblings", "format")}
    return Shown(**{name: item[name] for name in names}, blocks=blocks, secrets=secrets, **more)
