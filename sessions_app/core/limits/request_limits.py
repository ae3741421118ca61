"""Limits for every authenticated request: its key's rate limits and its account's quota of bytes."""

import re
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest

from sessions_app.core.limits import quotas, rate_limits
from sessions_app.models import Caller

READS = {"GET", "HEAD", "OPTIONS"}
# Ends of routes. These store almost nothing, free space, or keep an agent alive: a full account must still be able to call them.
ALWAYS_ALLOWED = re.compile(
    r"/(?:clear|undo-clear|undelete|settle|resolve|restore|heartbeat|takeover|end|ws-tickets|flush-tokens|keys)$"
)
# What a key's bytes count as. Imports by themselves: one may be larger than a whole minute's limit, and then it must neither be
# refused for the saves before it nor have those after it refused.
WRITTEN, IMPORTED = "bytes written", "bytes imported"
# Key in `request.META` of a request that was counted before it reached Django.
COUNTED = "stillhere.counted"
# Key in `request.META` of an upload: its `Announced`.
ANNOUNCED = "stillhere.announced"


@dataclass(slots=True)
class Announced:
    """An upload that is asked for, by a read, before its body is taken: a sender who may not send it learns that first.

    `size_bytes`: as its sender declares it, 0 if unknown. `counted`: `WRITTEN` or `IMPORTED`. `user_id`: whose it is; None until
    it was asked for.
    """

    size_bytes: int
    counted: str = WRITTEN
    user_id: int | None = None


def announced_by(request: HttpRequest) -> Announced | None:
    """The upload that this read asks for."""
    announced: Announced | None = request.META.get(ANNOUNCED)
    return announced if announced is not None and announced.user_id is None else None


def check_request(request: HttpRequest, caller: Caller) -> None:
    """Raises RateExceeded (429) or QuotaExceeded (507), before anything is read from the body or the store."""
    if (asked := announced_by(request)) is not None:
        check(caller, method="POST", size=asked.size_bytes, counted=asked.counted)
        asked.user_id = caller.user_id
    elif (announced := request.META.get(ANNOUNCED)) is not None:
        more = max(0, int(request.META.get("CONTENT_LENGTH") or 0) - announced.size_bytes)
        check_write(caller, size=more, counted=announced.counted)
    elif COUNTED not in request.META:
        size = int(request.META.get("CONTENT_LENGTH") or 0)
        # Not of the path: names of clients may end it.
        route = request.resolver_match.route if request.resolver_match else ""
        adds = request.method != "POST" or not ALWAYS_ALLOWED.search(route)
        check(caller, method=str(request.method), size=size, adds=adds)


def check(caller: Caller, *, method: str, size: int, adds: bool = True, counted: str = WRITTEN) -> None:
    """As `check_request`; `size`: bytes of the body; `adds`, `counted`: as for `check_write`."""
    rate_limits.spend(caller=caller, what="requests", limit=settings.RATE_REQUESTS)
    if method in READS:
        return
    check_write(caller, size=size, adds=adds and method != "DELETE", counted=counted)


def check_write(caller: Caller, *, size: int, adds: bool = True, counted: str = WRITTEN) -> None:
    """Limits of a write whose request was counted. `adds`: false for one that stores almost nothing, or frees space. `counted`:
    what its bytes count as."""
    rate_limits.spend(caller=caller, what=counted, limit=settings.RATE_WRITE_BYTES, cost=size)
    if adds:
        quotas.check_bytes(caller.user_id, size)
