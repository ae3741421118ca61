"""Files of a question as a model of text reads them: the content of a text file, else only the file's name."""

from typing import Any
from urllib.parse import unquote

from sessions_app.chats.reading.conversion import stored_value

TEXT_FILE = "data:text/plain;charset=utf-8,"


def with_files_as_text(message: dict[str, Any]) -> dict[str, Any]:
    """A question whose files are parts of its text. A message in a framework's own format stays as it is."""
    if message["role"] != "user" or "raw" in message:
        return message
    parts = stored_value(message["parts"]) or []
    if not any(_is_file(part) for part in parts):
        return message
    files = (_as_text(part) for part in parts if _is_file(part))
    text = "\n\n".join(said for said in (message["text"], *files) if said)
    return {**message, "text": text, "parts": [{"type": "text", "text": text}]}


def _is_file(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "file"


def _as_text(part: dict[str, Any]) -> str:
    name, url = part.get("filename"), part.get("url")
    if isinstance(url, str) and url.startswith(TEXT_FILE):
        return f"{name or 'file'}:\n\n{unquote(url.removeprefix(TEXT_FILE))}"
    return f"(Attached file: {name or 'without a name'})"
