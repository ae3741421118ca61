"""The models that the configured endpoint lists, kept for a while: it is asked by one request at a time."""

import threading
import time
from collections.abc import Iterable

import orjson
from django.conf import settings

from generation_app.models.generation import MODEL_LENGTH

READ_SECONDS, CONNECT_SECONDS = 5, 2
KEPT_SECONDS, KEPT_AFTER_FAILURE_SECONDS = 300.0, 30.0
MOST_MODELS = 200
LONGEST_ANSWER_BYTES = 1_000_000
_asking = threading.Lock()
# By the endpoint's address: until when the list counts (monotonic), and the list.
_known: dict[str, tuple[float, list[str]]] = {}


def list_models() -> list[str]:
    """Their ids in the endpoint's order; empty without an endpoint, or if it does not list them. While one request asks the
    endpoint, others get the last list."""
    url = settings.CHAT_URL
    until, models = _known.get(url, (0.0, []))
    if not url or time.monotonic() < until or not _asking.acquire(blocking=False):
        return models
    try:
        found = _ask(url)
        kept = KEPT_SECONDS if found else KEPT_AFTER_FAILURE_SECONDS
        _known[url] = (time.monotonic() + kept, found or models)
        return found or models
    finally:
        _asking.release()


def forget() -> None:
    """For tests: the next call asks."""
    _known.clear()


def _ask(url: str) -> list[str]:
    import httpx  # A server that makes no answers starts without it.

    headers = {"Authorization": f"Bearer {settings.CHAT_KEY}"} if settings.CHAT_KEY else {}
    timeout = httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
    try:
        with (
            httpx.Client(timeout=timeout, follow_redirects=False) as client,
            client.stream("GET", f"{url}/models", headers=headers) as answer,
        ):
            found = orjson.loads(_body(answer.iter_bytes())) if answer.status_code == httpx.codes.OK else None
    except (httpx.HTTPError, ValueError):
        return []
    listed = found.get("data") if isinstance(found, dict) else None
    names = [one.get("id") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return [name for name in dict.fromkeys(names) if isinstance(name, str) and 0 < len(name) <= MODEL_LENGTH][:MOST_MODELS]


def _body(pieces: Iterable[bytes]) -> bytes:
    """Raises ValueError if it is too large or comes too slowly."""
    body, until = bytearray(), time.monotonic() + READ_SECONDS
    for piece in pieces:
        body += piece
        if len(body) > LONGEST_ANSWER_BYTES or time.monotonic() > until:
            raise ValueError("too large, or too slow")
    return bytes(body)
