"""A site of somebody else's: a page with React, and a backend that answers with the AI SDK's UI message streams.

The question says what comes: `count to 30`, `tool` (reasoning, a source, a file, data, and a tool that ran at the backend),
`half a tool` (its input stops until the test says more), `wait` (no text comes until then), `think` (nothing does), `half` (so
does half of the text), `ask the page` (a tool of the page), `break` (the connection breaks, once the test says so).
"""

import json
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

HEADERS = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-cache",
    "Transfer-Encoding": "chunked",
    "x-vercel-ai-ui-message-stream": "v1",
}
PAGE = b'<!doctype html><title>Chat</title><body><main></main><script type="module" src="/page.js"></script>'
WORD_SECONDS = 0.02
type Chunk = dict[str, Any]


class Broken(Exception):
    """The connection ends here."""


class Site:
    """`asked`: the bodies of the questions. `go_on`: what an answer waits for in its middle. `keeps`: answers can be resumed.
    `status`: of the response to a question."""

    def __init__(self, script: bytes) -> None:
        site = self
        self.asked: list[Any] = []
        self.go_on = threading.Event()
        self.keeps = False
        self.status: int = HTTPStatus.OK
        self._kept: dict[str, list[Chunk | None]] = {}
        self.script = script

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                site.get(self)

            def do_POST(self) -> None:
                site.post(self)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def get(self, request: BaseHTTPRequestHandler) -> None:
        if request.path == "/page.js":
            _answer(request, "text/javascript", self.script)
        elif request.path.endswith("/stream"):
            chat = request.path.split("/")[-2]
            if chat not in self._kept:
                request.send_response(204)
                request.end_headers()
            else:
                self._stream(request, self._again(chat))
        else:
            _answer(request, "text/html", PAGE)

    def post(self, request: BaseHTTPRequestHandler) -> None:
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        self.asked.append(body)
        if self.status != HTTPStatus.OK:
            request.send_response(self.status)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        chunks = answer(body, self.go_on)
        if self.keeps:
            kept: list[Chunk | None] = []
            self._kept[body["id"]] = kept
            threading.Thread(target=self._make, args=(kept, chunks)).start()
            chunks = self._again(body["id"])
        self._stream(request, chunks)

    def _make(self, kept: list[Chunk | None], chunks: Iterator[Chunk]) -> None:
        """Continues to the end also if nobody reads it."""
        kept.extend(chunks)
        kept.append(None)

    def _again(self, chat: str) -> Iterator[Chunk]:
        kept, at = self._kept[chat], 0
        while True:
            if at == len(kept):
                time.sleep(0.01)
            elif (chunk := kept[at]) is None:
                return
            else:
                at += 1
                yield chunk

    def _stream(self, request: BaseHTTPRequestHandler, chunks: Iterator[Chunk]) -> None:
        request.close_connection = True
        request.send_response(200)
        for name, value in HEADERS.items():
            request.send_header(name, value)
        request.end_headers()
        try:
            for chunk in chunks:
                _send(request, b"data: " + json.dumps(chunk).encode() + b"\n\n")
            _send(request, b"data: [DONE]\n\n")
            _send(request, b"")
        except (Broken, ConnectionError):
            """Without the end of the response: the reader sees that it is cut off."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.go_on.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _answer(request: BaseHTTPRequestHandler, kind: str, content: bytes) -> None:
    request.send_response(200)
    request.send_header("Content-Type", kind)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    request.wfile.write(content)


def _send(request: BaseHTTPRequestHandler, content: bytes) -> None:
    request.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
    request.wfile.flush()


def text_of(message: Any) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


def answer(body: Any, go_on: threading.Event) -> Iterator[Chunk]:
    last = body["messages"][-1]
    asked = text_of(next(message for message in reversed(body["messages"]) if message["role"] == "user"))
    if asked == "think":
        go_on.wait(60)
    yield {"type": "start"}
    yield {"type": "start-step"}
    if last["role"] == "assistant":
        yield from words("The page said so.")
    elif asked.startswith("count to "):
        yield from words(" ".join(str(number) for number in range(1, int(asked.removeprefix("count to ")) + 1)))
    elif asked == "tool":
        yield from whole_tool()
    elif asked == "half a tool":
        yield from half_a_tool(go_on)
    elif asked == "wait":
        go_on.wait(60)
        yield from words("It is done.")
    elif asked == "half":
        yield from words("One half", more=go_on)
    elif asked == "ask the page":
        yield {"type": "tool-input-available", "toolCallId": "c1", "toolName": "colour", "input": {"of": "sky"}}
    elif asked == "break":
        yield from words("It breaks")
        go_on.wait(60)
        raise Broken
    else:
        yield from words(f"You said: {asked}")
    yield {"type": "finish-step"}
    yield {"type": "finish", "finishReason": "stop"}


def words(text: str, *, more: threading.Event | None = None) -> Iterator[Chunk]:
    """`more`: what the second half waits for."""
    yield {"type": "text-start", "id": "t1"}
    for number, word in enumerate(text.split(" ")):
        yield {"type": "text-delta", "id": "t1", "delta": word if number == 0 else f" {word}"}
        time.sleep(WORD_SECONDS)
    if more:
        more.wait(60)
        yield {"type": "text-delta", "id": "t1", "delta": " and the other."}
    yield {"type": "text-end", "id": "t1"}


def whole_tool() -> Iterator[Chunk]:
    yield {"type": "message-metadata", "messageMetadata": {"model": "small", "tokens": 7}}
    yield {"type": "reasoning-start", "id": "r1"}
    yield {"type": "reasoning-delta", "id": "r1", "delta": "The weather is asked for."}
    yield {"type": "reasoning-end", "id": "r1", "providerMetadata": {"anthropic": {"signature": "c2ln"}}}
    yield {"type": "tool-input-start", "toolCallId": "c1", "toolName": "weather"}
    yield {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": '{"city": "Köln"'}
    yield {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": "}"}
    yield {"type": "tool-input-available", "toolCallId": "c1", "toolName": "weather", "input": {"city": "Köln"}}
    yield {"type": "tool-output-available", "toolCallId": "c1", "output": {"degrees": 21.5, "sky": None}}
    yield {"type": "source-url", "sourceId": "s1", "url": "https://weather.example/", "title": "Weather"}
    yield {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,iVBORw0KGgo="}
    yield {"type": "data-chart", "id": "d1", "data": {"points": [1, 2, 3]}}
    yield from words("It is warm.")


def half_a_tool(go_on: threading.Event) -> Iterator[Chunk]:
    yield {"type": "tool-input-start", "toolCallId": "c1", "toolName": "weather"}
    yield {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": '{"city": "Kö'}
    go_on.wait(60)
    yield {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": 'ln"}'}
    yield {"type": "tool-input-available", "toolCallId": "c1", "toolName": "weather", "input": {"city": "Köln"}}
    yield {"type": "tool-output-available", "toolCallId": "c1", "output": {"degrees": 21.5}}
    yield from words("It is warm.")
