"""A plain HTTP client for the JSON API: one persistent connection, retries, and deliberately dropped connections."""

import http.client
import json
import socket
import struct
import time
from dataclasses import dataclass
from enum import Enum
from typing import Any
from urllib.parse import urlencode, urlsplit

Json = dict[str, Any]
TIMEOUT_SECONDS = 30
TRIES = 6
MOST_WAIT_SECONDS = 5.0
TRY_AGAIN = frozenset({429, 502, 503, 504})
NO_ADDRESS = "{} is not a server address. Give one such as http://127.0.0.1:8000."
# With this option, closing a socket resets the connection at once instead of closing it gracefully.
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class ReplayError(Exception):
    """The replay cannot continue; the message says why."""


class Cut(Enum):
    """How a connection is lost: closed or reset after the request, or reset in the middle of it."""

    CLOSED = "closed before the answer"
    RESET = "reset before the answer"
    HALF_SENT = "reset in mid-request"


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: Json

    def expect(self, *statuses: int) -> Json:
        if self.status in statuses:
            return self.body
        error = self.body.get("error")
        told = f"{error.get('code')}: {error.get('message')}" if isinstance(error, dict) else "without a reason"
        raise ReplayError(f"The server answered {self.status}, {told}")


class Api:
    """All requests are idempotent, so they are retried after a lost connection or if the server is busy."""

    def __init__(self, *, url: str, key: str) -> None:
        try:
            parts = urlsplit(url)
        except ValueError:
            raise ReplayError(NO_ADDRESS.format(url)) from None
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ReplayError(NO_ADDRESS.format(url))
        if not key.isascii() or not key.isprintable():
            raise ReplayError("The key has invalid characters.")
        self.url = url
        self._base = parts.path.rstrip("/") + "/api/v1"
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname, _port(url), timeout=TIMEOUT_SECONDS)
        self._headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"}

    def get(self, path: str, **query: str | int) -> Reply:
        return self._repeat("GET", f"{path}?{urlencode(query)}" if query else path, None, {})

    def post(self, path: str, body: Json) -> Reply:
        return self._repeat("POST", path, body, {})

    def put(self, path: str, body: Json, **headers: str) -> Reply:
        return self._repeat("PUT", path, body, headers)

    def post_and_drop(self, path: str, body: Json, cut: Cut) -> None:
        """Send a request and drop the connection without learning whether it arrived."""
        data = _encode(body)
        sent = data[: len(data) // 2] if cut is Cut.HALF_SENT else data
        connection = self._connection
        try:
            connection.putrequest("POST", self._base + path)
            for name, value in {**self._headers, "Content-Type": "application/json", "Content-Length": str(len(data))}.items():
                connection.putheader(name, value)
            connection.endheaders(sent)
            if cut is not Cut.CLOSED and isinstance(connection.sock, socket.socket):
                connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        except (OSError, http.client.HTTPException):
            pass  # The connection is already lost, as intended.
        finally:
            connection.close()

    def close(self) -> None:
        self._connection.close()

    def _repeat(self, method: str, path: str, body: Json | None, headers: dict[str, str]) -> Reply:
        data = None if body is None else _encode(body)
        for number in range(1, TRIES + 1):
            try:
                reply, wait = self._once(method, path, data, headers)
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                if number == TRIES:
                    raise ReplayError(
                        f"Cannot reach {self.url} ({error or type(error).__name__}). Is the server running?"
                    ) from None
                wait = 0.0
            else:
                if reply.status not in TRY_AGAIN or number == TRIES:
                    return reply
            time.sleep(max(wait, 0.05 * 2**number))
        raise AssertionError

    def _once(self, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> tuple[Reply, float]:
        sent = {**self._headers, **headers, **({} if data is None else {"Content-Type": "application/json"})}
        self._connection.request(method, self._base + path, data, sent)
        answer = self._connection.getresponse()
        reply = Reply(answer.status, _decode(answer.read()))
        return reply, _wait_seconds(answer.getheader("Retry-After"))


def _port(url: str) -> int | None:
    try:
        return urlsplit(url).port
    except ValueError:
        raise ReplayError(f"{url} has an invalid port.") from None


def _encode(body: Json) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()


def _decode(raw: bytes) -> Json:
    """Empty if the body is not a JSON object: then it comes from a proxy or the like, and the status is enough."""
    try:
        value = json.loads(raw)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _wait_seconds(retry_after: str | None) -> float:
    return min(float(retry_after), MOST_WAIT_SECONDS) if retry_after and retry_after.isdigit() else 0.0
