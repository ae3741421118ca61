"""How a request is identified, so that a retry gets the stored answer: a writer's `seq`, or the header `Idempotency-Key`."""

import hashlib
import uuid
from typing import Any

from django.http import HttpRequest

from sessions_app.chats.saving.receipts import KEYED, Request
from sessions_app.chats.saving.schemas import WriterIn
from sessions_app.core.errors import Invalid
from sessions_app.core.serialization.json_text import fingerprint
from sessions_app.core.web.schemas import In
from sessions_app.models.message import WRITER_ID_LENGTH

HEADER, LONGEST_KEY = "Idempotency-Key", 255
NOT_PART_OF_THE_BODY = frozenset({"csrf", "flush_token"})


class NoWriter(Invalid):
    message = f"Send `epoch`, `writer_id` and `seq`, or the header `{HEADER}` instead."


class BadKey(Invalid):
    code, message = "bad_idempotency_key", f"`{HEADER}` has 1 to {LONGEST_KEY} characters. Use a new key for every new request."


def step_of(request: HttpRequest, payload: WriterIn, *, replace: bool = False, must_be_named: bool = True) -> dict[str, Any]:
    """`epoch`, `writer_id`, `seq` and `body_sha256` of a Step. `must_be_named=False`: without either, it cannot be retried."""
    body_sha256 = identity_of(request, payload, replace=replace)
    if payload.writer_id is None and payload.seq is None:
        keyed = _keyed_writer(request)
        if keyed is None and not must_be_named:
            keyed = f"{KEYED}{uuid.uuid4()}"
        if keyed is not None:
            return {"epoch": payload.epoch, "writer_id": keyed, "seq": 1, "body_sha256": body_sha256}
    numbers = {"epoch": payload.epoch, "writer_id": payload.writer_id, "seq": payload.seq}
    missing = [name for name, value in numbers.items() if value is None]
    if missing:
        raise NoWriter(details={"fields": [{"field": name, "reason": "Field required"} for name in missing]})
    return {**numbers, "body_sha256": body_sha256}


def same_request(request: HttpRequest, session_id: uuid.UUID, payload: WriterIn) -> Request | None:
    """None if the request has neither: then it cannot be retried."""
    if payload.writer_id is not None and payload.seq is not None:
        return Request(session_id, payload.writer_id, payload.seq, identity_of(request, payload))
    keyed = _keyed_writer(request)
    return None if keyed is None else Request(session_id, keyed, 1, identity_of(request, payload))


def identity_of(request: HttpRequest, payload: In, *, replace: bool = False) -> str:
    """A hash of the whole request except credentials.

    It includes the defaults, which differ between operations with the same body.
    """
    sent: dict[str, Any] = getattr(request, "sent", {})
    whole = {**payload.model_dump(exclude=set(sent)), **sent, "replace": replace}
    return fingerprint({name: value for name, value in whole.items() if name not in NOT_PART_OF_THE_BODY})


def _keyed_writer(request: HttpRequest) -> str | None:
    """Each key is its own writer with one request, so threads that share a client need no shared counter."""
    key = getattr(request, "headers", {}).get(HEADER)
    if key is None:
        return None
    if not 1 <= len(key) <= LONGEST_KEY:
        raise BadKey
    return (KEYED + hashlib.sha256(key.encode()).hexdigest())[:WRITER_ID_LENGTH]
