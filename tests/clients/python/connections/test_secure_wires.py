"""Connections of the client over TLS: the server's certificate is checked."""

import asyncio
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from stillhere import AsyncClient, Client, NoAnswer
from stillhere.http.answers import Answer
from stillhere.http.wires import AsyncWires, Server, Wires

LONG = b"x" * 300_000
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + LONG


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of 127.0.0.1, with its key, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "stillhere.example")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    named = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    signed = builder.add_extension(named, critical=False).sign(key, hashes.SHA256())
    secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = tmp_path_factory.mktemp("tls") / "certificate.pem"
    file.write_bytes(secret + signed.public_bytes(serialization.Encoding.PEM))
    return file


@pytest.fixture
def url(certificate: Path) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    listening = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_accept, args=(listening, context), daemon=True).start()
    yield f"https://127.0.0.1:{listening.getsockname()[1]}"
    listening.close()


def _accept(listening: socket.socket, context: ssl.SSLContext) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        threading.Thread(target=_serve, args=(connection, context), daemon=True).start()


def _serve(connection: socket.socket, context: ssl.SSLContext) -> None:
    try:
        with context.wrap_socket(connection, server_side=True) as secure:
            while secure.recv(65_536):
                secure.sendall(ANSWER)
    except OSError:
        """The client refused the certificate, or has closed the connection."""


def asked(url: str, kind: str) -> list[Answer]:
    """Two answers by one client."""
    server = Server(url)
    if kind == "threads":
        wires = Wires(server, 10)
        try:
            return [wires.send("GET", "/x", {}, None) for _ in range(2)]
        finally:
            wires.close()

    async def run() -> list[Answer]:
        wires = AsyncWires(server, 10)
        try:
            return [await wires.send("GET", "/x", {}, None) for _ in range(2)]
        finally:
            await wires.close()

    return asyncio.run(run())


both = pytest.mark.parametrize("kind", ["threads", "coroutines"])


@both
def test_answers_over_tls(url: str, certificate: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert [each.content for each in asked(url, kind)] == [LONG] * 2


@both
def test_a_certificate_that_nobody_trusts_is_refused(url: str, kind: str) -> None:
    with pytest.raises(httpx.ConnectError, match="certificate verify failed"):
        asked(url, kind)


@both
def test_a_certificate_that_nobody_trusts_is_not_waited_for(url: str, kind: str) -> None:
    """It does not become another one."""

    def ask() -> None:
        if kind == "threads":
            Client(url, "sh_x", "/p", retry_seconds=8).list_projects()
        else:
            asyncio.run(AsyncClient(url, "sh_x", "/p", retry_seconds=8).list_projects())

    begun = time.monotonic()
    with pytest.raises(NoAnswer, match="certificate verify failed"):
        ask()
    assert time.monotonic() - begun < 4
