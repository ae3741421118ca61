"""The chat page's answers: honest about what gives them, out of the sent history, never at the cost of a save."""

import http.server
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import orjson
import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.pages.chat.backends import builtin
from sessions_app.pages.chat.backends.turn import Turn
from tests.support.live_server import LiveServer


@pytest.fixture
def alice_client(alice: User) -> Client:
    client = Client()
    client.force_login(alice)
    return client


@pytest.fixture(autouse=True)
def at_once(settings: Any) -> None:
    settings.CHAT_WORD_MS = 0


def ask(client: Client, *texts: str, opening_step: str = "brainstorm") -> Any:
    roles = ("user", "assistant")
    messages = [{"role": roles[index % 2], "text": text} for index, text in enumerate(texts)]
    return client.post("/chat/answer", {"messages": messages, "opening_step": opening_step}, content_type="application/json")


def events(answer: Any) -> list[dict[str, str]]:
    lines = b"".join(answer.streaming_content).split(b"\n\n")
    assert lines[-2:] == [b"data: [DONE]", b""] or b'"error"' in lines[-2]
    return [orjson.loads(line.removeprefix(b"data: ")) for line in lines if line and b"[DONE]" not in line]


def text_of(answer: Any) -> str:
    return "".join(event["delta"] for event in events(answer) if event["type"] == "text-delta")


def test_the_code_is_read_out_of_the_sent_history(alice_client: Client) -> None:
    said = ("My secret code is 777", "Noted.", "And my dog is Rex.", "Noted.", "What is my code?")
    assert text_of(ask(alice_client, *said)) == "Your secret code is 777."
    assert "not told me" in text_of(ask(alice_client, "What is my code?"))


def test_the_stand_in_says_what_it_is(alice_client: Client) -> None:
    assert "no language model" in text_of(ask(alice_client, "A shop for old maps"))
    assert "built-in stand-in" in alice_client.get("/chat/?project=shop").content.decode()


def test_a_plan_is_made_of_what_was_said() -> None:
    turns = [Turn("user", "Maps first"), Turn("assistant", "Why?"), Turn("user", "They sell")]
    assert builtin.reply(turns=turns, opening_step="plan").endswith("1. Maps first\n2. They sell")


def test_facts_are_known_by_names_in_any_letters() -> None:
    said = [Turn("user", "My Straße is Am Kai\nand my 番号 is 7"), Turn("assistant", "Noted.")]
    for asked, answer in (("What is my straße?", "Your Straße is Am Kai."), ("tell me my 番号", "Your 番号 is 7.")):
        assert builtin.reply(turns=[*said, Turn("user", asked)], opening_step="") == answer


@pytest.mark.parametrize("piece", ["my ", " ", "what my ", "my a ", "say", "my\n"])
def test_no_text_holds_the_stand_in_up(piece: str, capfd: pytest.CaptureFixture[str]) -> None:
    """While it looks through a text, nobody else's request goes on."""
    for text in (f"my{piece * (20_000 // len(piece))}", f"what my{piece * (20_000 // len(piece))}!"):
        began = time.thread_time()
        builtin.reply(turns=[Turn("user", text), Turn("user", text)], opening_step="")
        assert time.thread_time() - began < 1
    # RE2 says there when it has too little memory to be fast.
    assert capfd.readouterr().err == ""


def test_answers_are_for_those_who_signed_in(client: Client, alice_client: Client) -> None:
    assert ask(client, "Hello").status_code == 401
    assert ask(alice_client, "Hello").status_code == 200
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = alice_client.cookies
    assert ask(strict, "Hello").status_code == 403


@pytest.mark.parametrize("body", ["[]", "{}", '{"messages": []}', '{"messages": 1}', "no", '{"messages": [NaN]}'])
def test_what_is_no_history_is_refused(alice_client: Client, body: str) -> None:
    assert alice_client.post("/chat/answer", body, content_type="application/json").status_code in {400, 422}


def test_without_an_address_the_last_project_opens(alice_client: Client) -> None:
    assert b"Name a project" in alice_client.get("/chat/").content
    body = {"selected_project": "/home/alice/maps"}
    alice_client.put("/api/v1/app-state?client=chat", body, content_type="application/json")
    assert b'data-project="/home/alice/maps"' in alice_client.get("/chat/").content


class Endpoint(http.server.BaseHTTPRequestHandler):
    """Speaks as an OpenAI-compatible server does."""

    asked: list[Any] = []

    def do_POST(self) -> None:
        body = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, self.headers["Authorization"], body))
        asked = body["messages"][-1]["content"]
        if asked == "elsewhere":
            self.send_response(302)
            self.send_header("Location", f"http://{self.headers['Host']}/stolen")
            self.end_headers()
            return
        self.send_response(500 if asked == "fail" else 200)
        if asked == "break off":
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if asked == "break off":
            line = b'data: {"choices": [{"delta": {"content": "Good "}}]}\n\n'
            self.wfile.write(b"%x\r\n%s\r\nff\r\nhalf of another" % (len(line), line))
            return
        for piece in ("Good ", "morning"):
            self.wfile.write(b"data: " + orjson.dumps({"choices": [{"delta": {"content": piece}}]}) + b"\n\n")
        if asked == "err":
            self.wfile.write(b'data: {"error": {"message": "out of memory"}}\n\n')
            return
        self.wfile.write(b'data: {"choices": []}\n\ndata: {"choices": [{"delta": null}]}\n\ndata: [DONE]\n\n')

    def do_GET(self) -> None:
        """Where a redirect of ours leads."""
        self.asked.append((self.path, self.headers["Authorization"], None))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def endpoint(settings: Any) -> Iterator[list[Any]]:
    server = http.server.HTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    settings.CHAT_URL = f"http://127.0.0.1:{server.server_address[1]}/v1"
    settings.CHAT_MODEL, settings.CHAT_KEY = "small", "k"
    Endpoint.asked.clear()
    yield Endpoint.asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_configured_endpoint_answers(alice_client: Client, endpoint: list[Any]) -> None:
    assert text_of(ask(alice_client, "Hello", "Hi", "And now?")) == "Good morning"
    [(path, authorization, body)] = endpoint
    assert (path, authorization, body["model"], body["stream"]) == ("/v1/chat/completions", "Bearer k", "small", True)
    assert [message["content"] for message in body["messages"][1:]] == ["Hello", "Hi", "And now?"]
    assert "small" in alice_client.get("/chat/?project=shop").content.decode()


def test_an_endpoint_that_fails_is_named(alice_client: Client, endpoint: list[Any]) -> None:
    answer = ask(alice_client, "fail")
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "endpoint_failed")


def test_a_redirect_is_not_followed_with_the_key(alice_client: Client, endpoint: list[Any]) -> None:
    answer = ask(alice_client, "elsewhere")
    assert (answer.status_code, answer.json()["error"]["details"]) == (502, {"reason": "HTTP 302"})
    assert [path for path, _, _ in endpoint] == ["/v1/chat/completions"]


@pytest.mark.parametrize("how", ["break off", "err"])
def test_an_answer_that_breaks_off_says_so(alice_client: Client, endpoint: list[Any], how: str) -> None:
    told = events(ask(alice_client, how))
    assert "".join(event.get("delta", "") for event in told).startswith("Good ")
    assert told[-1]["type"] == "error"
    assert "did not answer" in told[-1]["errorText"]


def test_streams_take_no_thread_from_saves(settings: Any, transactional_db: None, alice: User, api: Callable[..., Any]) -> None:
    settings.CHAT_STREAMS, settings.THREADS, settings.CHAT_WORD_MS = 4, 1, 200
    cookies = {"sessionid": session_of(alice), "csrftoken": "c" * 32}
    body = {"messages": [{"role": "user", "text": "count to 100"}]}
    headers = {"X-CSRFToken": "c" * 32}
    with (
        LiveServer() as server,
        httpx.Client(base_url=server.url, cookies=cookies, headers=headers) as client,
        client.stream("POST", "/chat/answer", json=body) as first,
        client.stream("POST", "/chat/answer", json=body) as second,
    ):
        assert {first.status_code, second.status_code} == {200}
        refused = client.post("/chat/answer", json=body)
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "2")
        created = client.put(f"/api/v1/sessions/{'0' * 31}1", json={"project": "shop"}, headers={"If-None-Match": "*"})
        assert created.status_code == 201


def session_of(user: User) -> str:
    client = Client()
    client.force_login(user)
    return str(client.cookies["sessionid"].value)
