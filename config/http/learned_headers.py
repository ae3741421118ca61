"""Requests with a key that bypass Django and Ninja, whose overhead is larger than the work itself.

Django's responses to requests of one kind share most headers; these are learned from its last response.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

from cachetools import LRUCache
from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpResponse
from pydantic import ValidationError

from config.http.request_log import Message, RequestRecord
from sessions_app.accounts.authentication import caller_of_header
from sessions_app.core.errors import AppError
from sessions_app.core.limits.request_limits import check
from sessions_app.core.web.file_response import FileBody
from sessions_app.models import Caller
from sessions_app.models.credentials import WRITE

Headers = list[tuple[bytes, bytes]]
# Status, headers, content; None: it was sent already.
Answered = tuple[int, Headers, bytes | FileBody | None]
KEY, KNOWN = b"idempotency-key", b"if-none-match"
# A request with one of these headers is left to Django.
_NOT_QUICK = frozenset({b"cookie", KNOWN, KEY, b"origin", b"content-encoding", b"transfer-encoding", b"expect"})
# Request headers that Django's middleware reads before it sets response headers.
_LOOKED_AT = frozenset({b"host", b"x-forwarded-proto"})
_OF_THIS_ANSWER = frozenset({b"content-type", b"content-length", b"cache-control", b"etag", b"idempotent-replayed"})
_KINDS_KEPT = 64


class Kind(NamedTuple):
    """What all responses to requests of one kind have in common."""

    headers: Headers
    route: str


@dataclass(slots=True)
class QuickRequest:
    """A complete request. `counted`: against its key's rates and its account's quota. `kind`: of a write that was read."""

    scope: Message
    body: bytes
    exchange: RequestRecord
    counted: bool = False
    kind: Kind | None = None


class Kinds:
    """The kinds of one operation. `reads`: headers that it reads itself; any other operation leaves them to Django."""

    def __init__(self, reads: Collection[bytes] = ()) -> None:
        self._left = _NOT_QUICK.difference(reads)
        self._kept: LRUCache[Any, Kind] = LRUCache(_KINDS_KEPT)
        self._lock = Lock()

    def learn(self, request: QuickRequest, answered: Answered) -> None:
        """Learns from a request that Django has answered."""
        status, headers, _ = answered
        name = _name_of(request.scope, self._left)
        if status in {200, 201, 204} and name is not None and all(header != b"set-cookie" for header, _ in headers):
            common = [(header, value) for header, value in headers if header not in _OF_THIS_ANSWER]
            with self._lock:
                self._kept[name] = Kind(common, request.exchange.route())

    def of(self, request: QuickRequest) -> Kind | None:
        """None: leave the request to Django."""
        name = _name_of(request.scope, self._left)
        with self._lock:
            return None if name is None else self._kept.get(name)

    def unknown(self, request: QuickRequest) -> Any:
        """The name of a kind that can be learned, but is not yet; None: it is known, or Django always has to answer."""
        name = _name_of(request.scope, self._left)
        with self._lock:
            return None if name in self._kept else name


def answered_as(kind: Kind, request: QuickRequest, caller: Caller, reply: HttpResponse) -> Answered:
    return answered_with(kind, request, caller, reply.status_code, reply.items(), reply.content)


def answered_with(
    kind: Kind, request: QuickRequest, caller: Caller, status: int, own: Iterable[tuple[str, str]], content: bytes
) -> Answered:
    request.exchange.known(kind.route, caller.user_id)
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in own]
    if status not in {204, 304}:  # A response without a body must not name its length.
        headers.append((b"content-length", b"%d" % len(content)))
    return status, [*headers, *kind.headers], content


def authorization_of(scope: Message) -> str:
    header: str
    [header] = [value.decode("latin-1") for name, value in scope["headers"] if name == b"authorization"]
    return header


def caller_of(scope: Message) -> Caller | None:
    return caller_of_header(authorization_of(scope))


class Callers:
    """Of requests that are run together. Each key is looked up once for all of them, after they arrived: so a key that was
    revoked before its request is refused."""

    def __init__(self) -> None:
        self._known: dict[str, Caller | None] = {}

    def of(self, scope: Message) -> Caller | None:
        header = authorization_of(scope)
        if header not in self._known:
            self._known[header] = caller_of_header(header)
        return self._known[header]


def read_write[T](request: QuickRequest, kinds: Kinds, callers: Callers, parse: Callable[[Caller], T]) -> T | None:
    """What `parse` makes of a write with a key, after the checks that each has; None: leave the request to Django."""
    scope = request.scope
    request.kind = kinds.of(request)
    if scope["query_string"] or request.kind is None:
        return None
    try:
        caller = callers.of(scope)
        if caller is None or WRITE not in caller.scopes:
            return None
        check(caller, method=scope["method"], size=len(request.body))
        request.counted = True
        return parse(caller)
    except (AppError, ValidationError):
        return None
    except DatabaseError:
        connection.close()
        return None


def _name_of(scope: Message, left: frozenset[bytes]) -> Any:
    headers: Headers = scope["headers"]
    names = {name for name, _ in headers}
    if len(names) < len(headers) or names & left or b"authorization" not in names:
        return None
    return (scope.get("scheme"), *sorted((name, value) for name, value in headers if name in _LOOKED_AT))
