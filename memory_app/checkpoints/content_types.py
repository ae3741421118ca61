"""Checkpoints as JSON, with their bytes in base64, and as MessagePack, which has bytes and takes a third of the time."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson
import ormsgpack
import pybase64
from django.http import HttpRequest, HttpResponse

from memory_app.checkpoints.queries import Found, Value
from memory_app.checkpoints.rows import Typed
from memory_app.core.stored_json import as_json
from sessions_app.core.serialization.stored_json import strict_json
from sessions_app.core.web.responses import json_reply

JSON, MSGPACK = "application/json", "application/vnd.msgpack"
_PACKED = {"type": "object", "description": "The same as MessagePack, with bytes in `data` in place of `base64`."}
# For the `openapi_extra` of an operation that replies so.
ALSO_MSGPACK = {"responses": {200: {"content": {MSGPACK: {"schema": _PACKED}}}}}
type Fields = dict[str, Any]


def reply_with(accepts: str, head: Mapping[str, Any], found: Sequence[Found], values: Sequence[Value]) -> HttpResponse:
    """`accepts`: the request's `Accept`. `head`: other fields of a list, whose `items` are the checkpoints; empty: it is one
    checkpoint."""
    packed = _as_msgpack(head, found, values) if _prefers_msgpack(accepts) else None
    if packed is None:
        return json_reply(_as_json(head, found, values))
    reply = HttpResponse(packed, content_type=MSGPACK)
    reply["Cache-Control"] = "no-store"
    return reply


@lru_cache(maxsize=100)  # Programs always say the same.
def _prefers_msgpack(accepts: str) -> bool:
    """By the rules of HTTP, which Django knows; JSON if there is no preference."""
    if "msgpack" not in accepts.lower():
        return False
    request = HttpRequest()
    request.META = {"HTTP_ACCEPT": accepts}
    return request.get_preferred_type([JSON, MSGPACK]) == MSGPACK


def _as_msgpack(head: Mapping[str, Any], found: Sequence[Found], values: Sequence[Value]) -> bytes | None:
    """None: metadata have an integer that MessagePack does not."""
    content = _content(head, [_item(each, _with_bytes, _exact_value) for each in found])
    given = [{"ns": value.ns, "channel": value.channel, "version": value.version, **_with_bytes(value.typed)} for value in values]
    try:
        return ormsgpack.packb({**content, "values": given})
    except ormsgpack.MsgpackEncodeError:
        return None


def _as_json(head: Mapping[str, Any], found: Sequence[Found], values: Sequence[Value]) -> bytes:
    """In pieces that are joined once: a page has millions of bytes. Values not by orjson: of a large page, it would take twice
    as long as everything else, as it looks for what it must escape."""
    content = _content(head, [_item(each, _with_base64, as_json) for each in found])
    pieces = [piece for value in values for piece in (b",", *_value_pieces(value))]
    return b"".join([orjson.dumps(content)[:-1], b',"values":[', *pieces[1:], b"]}"])


def _content(head: Mapping[str, Any], items: list[Fields]) -> Fields:
    return {"items": items, **head} if head else items[0]


def _item(found: Found, typed: Callable[[Typed], Fields], stored: Callable[[str], Any]) -> Fields:
    return {
        "ns": found.ns,
        "id": found.id,
        "parent": found.parent,
        "created_at": found.created_at,
        "checkpoint": typed(found.typed),
        "metadata": stored(found.metadata),
        "versions": stored(found.versions),
        "writes": [
            {"task": write.task, "path": write.path, "idx": write.idx, "channel": write.channel, **typed(write.typed)}
            for write in found.writes
        ],
    }


def _exact_value(text: str) -> Any:
    """With integers of any size; None where `as_json` is."""
    try:
        return strict_json(text)
    except (ValueError, RecursionError):
        return None


def _value_pieces(value: Value) -> tuple[bytes, ...]:
    named = {"ns": value.ns, "channel": value.channel, "version": value.version, "type": value.typed.type}
    return orjson.dumps(named)[:-1], b',"base64":"', pybase64.b64encode(value.typed.data), b'"}'


def _with_base64(typed: Typed) -> Fields:
    return {"type": typed.type, "base64": pybase64.b64encode_as_string(typed.data)}


def _with_bytes(typed: Typed) -> Fields:
    return {"type": typed.type, "data": bytes(typed.data)}
