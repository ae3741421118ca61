"""Files and sources by name and type. Nothing is loaded from other sites: their files are links."""

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import unquote_to_bytes

from sessions_app.chats.files.content import IMAGES
from sessions_app.chats.files.queries import PREFIX, FileInfo, digest_of
from sessions_app.core.rendering.link_targets import ELSEWHERE
from sessions_app.formats.neutral import SourcePart, stored_file

LONGEST_CONTENT = 20_000
# Larger data: URLs are named but not put into the page.
LARGEST_INLINE = 300_000
# Larger stored images are named, not loaded.
LARGEST_SHOWN = 5_000_000
FILES = {"file", "reasoning-file", "image", "image_url", "input_image", "input_file", "source-document"}
MOST_PICTURES = 20
MEDIA_TYPES = ("mediaType", "mimeType", "media_type")
MEDIA_TYPE = re.compile(r"[a-z]{1,20}/[\w.+-]{1,100}", re.ASCII)
PICTURES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
READABLE = {"application/json", "application/xml", "application/yaml", "application/javascript"}


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file or a source. `link`: external, opened only by a click. `saved`: a URL of ours or a data: URL, to download.
    `picture`: one to show."""

    name: str
    kind: str
    media_type: str = ""
    size_bytes: int | None = None
    # Of a link.
    host: str = ""
    link: str = ""
    saved: str = ""
    picture: str = ""
    content: str = ""
    # It names a stored file that the account does not have.
    missing: bool = False


@dataclass(frozen=True, slots=True)
class Attachments:
    """Files or sources that follow one another."""

    template: ClassVar[str] = "pages/session/parts/_attachments.html"
    items: list[Attachment]


type Files = dict[str, FileInfo]


def attachment_of(part: dict[str, Any], files: Files) -> Attachment | None:
    """A file; None if the part is something else. `files`: the account's files that these parts name, by hash."""
    kind = str(part.get("type", ""))
    if kind not in FILES:
        return None
    return _file(kind, part) if (digest := _digest(part)) is None else _stored(kind, part, digest, files.get(digest))


def source_of(source: SourcePart) -> Attachment:
    url = source.url
    link = url if ELSEWHERE.match(url) else ""
    return Attachment(source.title or url or "without a name", "Source", host=_host(link), link=link)


def pictures_in(output: Any) -> list[Attachment]:
    """Images among the blocks that a tool returned."""
    blocks = output.get("content") if isinstance(output, dict) else output
    found = [one for one in blocks if isinstance(one, dict) and one.get("type") == "image"] if isinstance(blocks, list) else []
    shown = [_file("image", {"name": f"Image {number}", **one}) for number, one in enumerate(found[:MOST_PICTURES], 1)]
    return [one for one in shown if one.picture]


def files_named(parts: list[Any]) -> set[str]:
    """The hashes of the stored files that these parts name."""
    found = (part for part in parts if isinstance(part, dict) and isinstance(part.get("type"), str) and part["type"] in FILES)
    return {digest for part in found if (digest := _digest(part))}


def _digest(part: dict[str, Any]) -> str | None:
    """The hash of the stored file that a part names, or that its URL is the address of."""
    return digest_of(stored_file(part) or _url(part).rpartition("/")[2])


def _file(kind: str, part: dict[str, Any]) -> Attachment:
    url = _url(part)
    given = _first(part, *MEDIA_TYPES)
    head = url.removeprefix("data:").partition(",")[0] if url.startswith("data:") else ""
    media_type = given or head.partition(";")[0] or ("image" if kind.startswith("image") else "")
    name = _first(part, "filename", "name", "title") or _last_of(url) or "without a name"
    told = "Source" if kind == "source-document" else "Image" if media_type.startswith("image") else "File"
    if not head:
        link = url if ELSEWHERE.match(url) else ""
        return Attachment(name, told, media_type, host=_host(link), link=link)
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


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2][:100]


def _url(part: dict[str, Any]) -> str:
    """Where the content is. Content in base64 beside its type becomes a data: URL."""
    value = part.get("url") or part.get("image_url") or part.get("image") or part.get("source") or ""
    if isinstance(value, dict):
        value = value.get("url") or _data_url(value)
    return value if isinstance(value, str) and value else _data_url(part)


def _data_url(part: dict[str, Any]) -> str:
    data, media_type = part.get("data"), _first(part, *MEDIA_TYPES)
    return f"data:{media_type};base64,{data}" if isinstance(data, str) and data and MEDIA_TYPE.fullmatch(media_type) else ""


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
        text = content[: 4 * LONGEST_CONTENT].decode(errors="replace")
        return text if len(text) <= LONGEST_CONTENT else f"{text[:LONGEST_CONTENT]}\n… the rest is in the file"
    return ""
