"""The list of models: what the endpoint says, kept for a while; an endpoint that says nothing costs nothing."""

import http.server
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import orjson
import pytest
from django.contrib.auth.models import User

from generation_app.generations.model import model_list


class Endpoint(http.server.BaseHTTPRequestHandler):
    """`says`: the body, or a status, or pieces of a body without a length. `sent`: their bytes so far."""

    says: Any = None
    sent = 0
    asked: list[tuple[str, str | None]] = []

    def do_GET(self) -> None:
        Endpoint.asked.append((self.path, self.headers["Authorization"]))
        if isinstance(self.says, Iterator):
            self._send_pieces()
            return
        body = b"" if isinstance(self.says, int) else orjson.dumps(self.says)
        self.send_response(self.says if isinstance(self.says, int) else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(body)

    def _send_pieces(self) -> None:
        self.send_response(200)
        self.end_headers()
        with suppress(OSError):  # The one that asked has left.
            for piece in self.says:
                self.wfile.write(piece)
                Endpoint.sent += len(piece)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def models(settings: Any, api: Callable[..., Any], alice: User) -> Iterator[Callable[[], Any]]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as site:
        thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        settings.CHAT_URL, settings.CHAT_KEY = f"http://127.0.0.1:{site.server_address[1]}/v1", "k"
        settings.CHAT_MODEL = "small"
        Endpoint.asked.clear()
        model_list.forget()
        client = api(alice)
        yield lambda: client.get("/models").json()
        site.shutdown()
        thread.join()
        model_list.forget()


@pytest.mark.django_db
def test_models_are_asked_for_once(models: Callable[[], Any]) -> None:
    Endpoint.says = {"object": "list", "data": [{"id": "small"}, {"id": "large"}, {"id": "large"}, {"id": 7}, {"id": "x" * 200}]}
    wanted = {"items": [{"id": "small"}, {"id": "large"}], "default": "small"}
    assert [models(), models()] == [wanted, wanted]
    assert Endpoint.asked == [("/v1/models", "Bearer k")]


@pytest.mark.django_db
@pytest.mark.parametrize("says", [404, 302, 500, [], {"data": "none"}, "text", None])
def test_an_endpoint_that_lists_none_costs_nothing(models: Callable[[], Any], says: Any) -> None:
    Endpoint.says = says
    assert [models(), models()] == [{"items": [], "default": "small"}] * 2
    assert len(Endpoint.asked) == 1


@pytest.mark.django_db
def test_a_list_outlives_a_failure(models: Callable[[], Any], settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    Endpoint.says = {"data": [{"id": "small"}]}
    first = models()
    monkeypatch.setattr(model_list, "_known", {settings.CHAT_URL: (0.0, ["small"])})
    Endpoint.says = 500
    assert models() == first


@pytest.mark.django_db
def test_without_an_endpoint_there_is_no_choice(api: Callable[..., Any], alice: User, settings: Any) -> None:
    settings.CHAT_URL = ""
    assert api(alice).get("/models").json()["items"] == []


@pytest.mark.django_db
def test_of_a_list_without_an_end_only_so_much_is_read(models: Callable[[], Any]) -> None:
    Endpoint.says, Endpoint.sent = (b"[" * 100_000 for _ in range(1_000)), 0
    assert models()["items"] == []
    assert Endpoint.sent < 20 * model_list.LONGEST_ANSWER_BYTES, "the network holds some"


@pytest.mark.django_db
def test_a_list_that_comes_too_slowly_is_not_waited_for(models: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_list, "READ_SECONDS", 0.5)
    Endpoint.says = (time.sleep(0.2) or b" " for _ in range(100))  # type: ignore[func-returns-value]
    began = time.monotonic()
    assert models()["items"] == []
    assert time.monotonic() - began < 10


@pytest.mark.django_db
def test_a_list_that_is_nested_too_deeply_is_none(models: Callable[[], Any]) -> None:
    Endpoint.says = iter([b"[" * 100_000])
    assert models()["items"] == []
