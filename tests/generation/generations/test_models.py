"""The list of models: what the endpoint says, kept for a while; an endpoint that says nothing costs nothing."""

import http.server
import threading
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
from django.contrib.auth.models import User

from generation_app.generations.model import model_list


class Endpoint(http.server.BaseHTTPRequestHandler):
    """`says`: the body, or a status."""

    says: Any = None
    asked: list[tuple[str, str | None]] = []

    def do_GET(self) -> None:
        Endpoint.asked.append((self.path, self.headers["Authorization"]))
        body = b"" if isinstance(self.says, int) else orjson.dumps(self.says)
        self.send_response(self.says if isinstance(self.says, int) else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def models(settings: Any, api: Callable[..., Any], alice: User) -> Iterator[Callable[[], Any]]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as site:
        thread = threading.Thread(target=site.serve_forever)
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
