"""Opening connections, by the first of a name's addresses that answers. Errors of sockets as httpx has them."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from ssl import SSLContext

import httpx

from stillhere.http.given_up import GivenUp


@contextmanager
def _as_httpx_has_them(late: type[httpx.TimeoutException], failed: type[httpx.NetworkError]) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise late(str(error)) from error
    except OSError as error:
        raise failed(str(error)) from error


while_connecting = partial(_as_httpx_has_them, httpx.ConnectTimeout, httpx.ConnectError)
# The request may have been done.
while_answered = partial(_as_httpx_has_them, httpx.ReadTimeout, httpx.ReadError)


def connected(host: str, port: int, context: SSLContext | None, timeout: float, given_up: GivenUp) -> socket.socket:
    """Raises httpx.TransportError."""
    with while_connecting():
        connection = _reached(host, port, timeout, given_up)
        if context is None:
            return connection
        secured = context.wrap_socket(connection, server_hostname=host, do_handshake_on_connect=False)
        try:
            with given_up.over(secured):
                secured.do_handshake()
        except BaseException:
            secured.close()
            raise
        return secured


async def aconnected(host: str, port: int, timeout: float) -> socket.socket:
    """The same without TLS, by the event loop: who is cancelled leaves no thread behind that still tries. The socket does not
    block."""
    loop, failure = asyncio.get_running_loop(), OSError(f"{host} has no address.")
    with while_connecting():
        for family, kind, protocol, _, address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            try:
                with _opened(family, kind, protocol) as connection:
                    connection.setblocking(False)
                    async with asyncio.timeout(timeout):
                        await loop.sock_connect(connection, address)
                    return connection
            except OSError as error:
                failure = error
        raise failure


def _reached(host: str, port: int, timeout: float, given_up: GivenUp) -> socket.socket:
    failure = OSError(f"{host} has no address.")
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        try:
            with _opened(family, kind, protocol) as connection:
                connection.settimeout(timeout)
                with given_up.over(connection):
                    connection.connect(address)
                return connection
        except OSError as error:
            failure = error
            if given_up.is_set():
                break
    raise failure


@contextmanager
def _opened(family: int, kind: int, protocol: int) -> Iterator[socket.socket]:
    """Closed if it is not connected."""
    connection = socket.socket(family, kind, protocol)
    try:
        yield connection
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        connection.close()
        raise
