"""A message's parts on pages: text rendered, reasoning and tools collapsed, files and sources by name and type."""

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from django.utils.safestring import SafeString

from sessions_app.chats.files.content import IMAGES
from sessions_app.chats.files.queries import PREFIX, FileInfo, digest_of
from sessions_app.core.rendering.link_targets import ELSEWHERE
from sessions_app.core.rendering.page_renderer import PageRenderer
from sessions_app.formats.neutral import STEP_START, stored_file

LONGEST_FOLD = 20_000
# Larger data: URLs are named but not put into the page.
LARGEST_INLINE = 300_000
# Larger stored images are named, not loaded.
LARGEST_SHOWN = 5_000_000
FILES = {"file", "reasoning-file", "image", "image_url", "input_image", "input_file", "source-document"}
FIRST_WORDS = {"input": "Input", "output": "Output", "errorText": "Error"}
# A tool call's state: the label and the colour that the page shows.
TOOL_STATES = {
    "input-streaming": ("being called", ""),
    "input-available": ("no result yet", ""),
    "approval-requested": ("asks for approval", "warn"),
    "approval-responded": ("answered", ""),
    "output-available": ("done", "good"),
    "output-error": ("failed", "bad"),
    "output-denied": ("denied", "bad"),
}
FAILED = TOOL_STATES["output-error"]
PICTURES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
READABLE = {"application/json", "application/xml", "application/yaml", "application/javascript"}


@dataclass(frozen=True, slots=True)
class Fold:
    """A collapsed part: its kind, state and content. `html` if it is rendered text."""

    label: str
    state: str = ""
    colour: str = ""
    content: str = ""
    html: SafeString | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file or a source. `link`: external, opened only by a click. `saved`: a URL of ours or a data: URL, to download.
    `picture`: one to show."""

    name: str
    kind: str
    media_type: str = ""
    size_bytes: int | None = None
    link: str = ""
    saved: str = ""
    picture: str = ""
    content: str = ""
    # It names a stored file that the account does not have.
    missing: bool = False


type Block = SafeString | Fold | Attachment


def with_results(messages: list[list[Any]]) -> list[list[Any]]:
    """The parts of messages in sequence. A result becomes the `result` of its call, if that is among them and came before."""
    calls: dict[Any, dict[str, Any]] = {}
    return [[own for part in parts if (own := _answered(part, calls)) is not None] for parts in messages]


def _answered(part: Any, calls: dict[Any, dict[str, Any]]) -> Any:
    kind, id_ = (part.get("type"), part.get("id")) if isinstance(part, dict) else (None, None)
    if kind == "tool_call" and isinstance(id_, str):
        calls[id_] = dict(part)
        return calls[id_]
    if kind == "tool_result" and isinstance(id_, str) and (call := calls.pop(id_, None)) is not None:
        call["result"] = part
        return None
    return part


type Files = dict[str, FileInfo]


def blocks_of(parts: list[Any], renderer: PageRenderer, files: Files) -> list[Block]:
    """`files`: the account's files that these parts name, by hash."""
    return [block for part in parts if isinstance(part, dict) and (block := _block(part, renderer, files)) is not None]


def files_named(parts: list[Any]) -> set[str]:
    """The hashes of the stored files that these parts name."""
    found = (part for part in parts if isinstance(part, dict) and isinstance(part.get("type"), str) and part["type"] in FILES)
    return {digest for part in found if (digest := _digest(part))}


def _digest(part: dict[str, Any]) -> str | None:
    """The hash of the stored file that a part names, or that its URL is the address of."""
    return digest_of(stored_file(part) or _url(part).rpartition("/")[2])


def prose_of(parts: list[Any]) -> list[tuple[str, str]]:
    """Kind and text of the parts that are rendered as Markdown."""
    prose = [part for part in parts if isinstance(part, dict) and part.get("type") in ("text", "reasoning")]
    return [(part["type"], text) for part in prose if isinstance(text := part.get("text"), str) and text]


def tool_of(part: dict[str, Any]) -> Fold | None:
    """A tool call, or a result without its call; None if the part is something else."""
    kind = str(part.get("type", ""))
    if kind.startswith("tool-") or kind == "dynamic-tool":
        return _tool(kind, part)
    if kind in {"tool_call", "tool_result"}:
        return _call(part) if kind == "tool_call" else _result(part)
    return None


def _block(part: dict[str, Any], renderer: PageRenderer, files: Files) -> Block | None:
    kind, text = str(part.get("type", "")), part.get("text")
    if kind == "step-start":
        return None
    if kind == "text" and isinstance(text, str):
        return renderer.render(text) if text else None
    if kind == "reasoning" and isinstance(text, str):
        # Without text it only holds a signature.
        return Fold("Reasoning", html=renderer.render(text)) if text else None
    if (tool := tool_of(part)) is not None:
        return tool
    if kind in FILES:
        return _file(kind, part) if (digest := _digest(part)) is None else _stored(kind, part, digest, files.get(digest))
    if kind in {"source-url", "source"}:
        return _source(part)
    if kind == "data":
        return None if part.get("name") == STEP_START else Fold(str(part.get("name")), "data", content=_pretty(part.get("value")))
    if kind.startswith("data-"):
        return Fold(kind.removeprefix("data-"), "data", content=_pretty(part.get("data", part)))
    return Fold(kind.replace("-", " ") or "part", content=_pretty(part))


def _tool(kind: str, part: dict[str, Any]) -> Fold:
    name, state = str(part.get("toolName") or kind.removeprefix("tool-")), str(part.get("state", ""))
    output = part.get("output")
    refused = isinstance(output, dict) and (output.get("isError") is True or output.get("is_error") is True)
    failed = refused or bool(part.get("errorText"))
    word, colour = FAILED if failed and state != "output-denied" else TOOL_STATES.get(state, (state.replace("-", " "), ""))
    named = [f"{label}\n{_pretty(part[name])}" for name, label in FIRST_WORDS.items() if name in part]
    return Fold(name, word, colour, _cut("\n\n".join(named) or _pretty(part)))


def _call(part: dict[str, Any]) -> Fold:
    """A call in the common form of all formats, with its result if there is one."""
    result = part.get("result")
    told = [f"Input\n{_pretty(part.get('input'))}"]
    if not isinstance(result, dict):
        return Fold(str(part.get("name")), *TOOL_STATES["input-available"], _cut(told[0]))
    failed = result.get("is_error") is True
    told.append(f"{'Error' if failed else 'Output'}\n{_pretty(result.get('output'))}")
    return Fold(str(part.get("name")), *(FAILED if failed else TOOL_STATES["output-available"]), _cut("\n\n".join(told)))


def _result(part: dict[str, Any]) -> Fold:
    """A result whose call is not on the page."""
    word, colour = FAILED if part.get("is_error") is True else ("result", "")
    return Fold(str(part.get("name") or "Tool"), word, colour, _pretty(part.get("output")))


def _file(kind: str, part: dict[str, Any]) -> Attachment:
    url = _url(part)
    given = _first(part, "mediaType", "mimeType", "media_type")
    head = url.removeprefix("data:").partition(",")[0] if url.startswith("data:") else ""
    media_type = given or head.partition(";")[0] or ("image" if kind.startswith("image") else "")
    name = _first(part, "filename", "name", "title") or _last_of(url) or "without a name"
    told = "Source" if kind == "source-document" else "Image" if media_type.startswith("image") else "File"
    if not head:
        return Attachment(name, told, media_type, link=url if ELSEWHERE.match(url) else "")
    content = _content(url)
    if len(url) > LARGEST_INLINE:
        return Attachment(name, told, media_type, len(content))
    picture = url if media_type in PICTURES and head.startswith("image/") else ""
    return Attachment(name, told, media_type, len(content), saved=url, picture=picture, content=_words(media_type, content))


def _stored(kind: str, part: dict[str, Any], digest: str, found: FileInfo | None) -> Attachment:
    """A file of the account. Its type is what the store says, whatever the message says."""
    name = _first(part, "filename", "name", "title") or ("" if found is None else found.name) or "without a name"
    if found is None:
        return Attachment(name, "Source" if kind == "source-document" else "File", missing=True)
    address, is_image = f"/api/v1/files/{PREFIX}{digest}", found.media_type in IMAGES
    shown = address if is_image and found.size_bytes <= LARGEST_SHOWN else ""
    return Attachment(name, "Image" if is_image else "File", found.media_type, found.size_bytes, saved=address, picture=shown)


def _source(part: dict[str, Any]) -> Attachment:
    url = _first(part, "url")
    return Attachment(_first(part, "title") or url or "without a name", "Source", link=url if ELSEWHERE.match(url) else "")


def _url(part: dict[str, Any]) -> str:
    value = part.get("url") or part.get("image_url") or part.get("image") or ""
    value = value.get("url", "") if isinstance(value, dict) else value
    return value if isinstance(value, str) else ""


def _first(part: dict[str, Any], *names: str) -> str:
    return next((value for name in names if isinstance(value := part.get(name), str) and value), "")


def _last_of(url: str) -> str:
    """The file name at the end of a URL, if there is one."""
    return url.partition("?")[0].rstrip("/").rpartition("/")[2] if ELSEWHERE.match(url) else ""


def _content(url: str) -> bytes:
    head, _, data = url.partition(",")
    try:
        return base64.b64decode(data) if head.endswith(";base64") else unquote_to_bytes(data)
    except (binascii.Error, ValueError):
        return data.encode()


def _words(media_type: str, content: bytes) -> str:
    if media_type.startswith("text/") or media_type in READABLE or media_type.endswith(("+json", "+xml")):
        return _cut(content.decode(errors="replace"))
    return ""


def _pretty(value: Any) -> str:
    return _cut(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_FOLD else f"{text[:LONGEST_FOLD]}\n… {len(text) - LONGEST_FOLD:,} more characters"
