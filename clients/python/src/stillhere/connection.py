"""Requests to one project of a server, by threads and by coroutines alike.

An operation is a generator: it yields the requests that it needs, gets their answers, and returns its result. So it is written
once, and `run` and `arun` differ only in how they send.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import httpx

from stillhere.errors import NoAnswer, StillhereError
from stillhere.http.answers import Answer, query_of, value_in
from stillhere.http.event_loops import EventLoops
from stillhere.http.given_up import SECONDS, GivenUp
from stillhere.http.json_texts import as_json
from stillhere.http.proxied import AsyncProxied, Proxied, answer_of, is_proxied
from stillhere.http.retries import Attempts, retry_after
from stillhere.http.settings import is_id, project_name, setting
from stillhere.http.shared_wires import SharedWires
from stillhere.http.wires import AsyncWires, Server

TIMEOUT_SECONDS = 60.0
RETRY_SECONDS = 30.0
NO_CONTENT, WRONG_KEY, NO_PROJECT = 204, 401, "no_project"
NOT_STILLHERE = "What answers at {} is no Stillhere server. Check the `url`."


class Request(NamedTuple):
    """`path`: below `/api/v1`; `{project}` in it is the project's id. `repeatable`: doing it twice is the same as once.
    `in_project`: False for what is of the account, for which no project is created."""

    method: str
    path: str
    body: Any = None
    query: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = {}
    repeatable: bool = True
    in_project: bool = True


type Operation[T] = Generator[Request, Any, T]
type Send = Callable[[str, str, Mapping[str, str], bytes | None], Awaitable[Answer]]


class Connection:
    """`project`: its id, or its path, of which `~` and `.` are of this machine; one that does not exist is created. What is left
    out is taken from STILLHERE_URL, STILLHERE_KEY and STILLHERE_PROJECT. `url`: with or without `/api/v1`. A request without an
    answer, or with 429 or 503, is repeated for `retry_seconds`."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        project: str | None = None,
        *,
        timeout: float = TIMEOUT_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self.url = setting("url", url, "STILLHERE_URL").rstrip("/").removesuffix("/api/v1")
        self._server = Server(self.url)
        key = setting("key", key, "STILLHERE_KEY")
        if key.endswith(("…", "...")):
            raise ValueError("`key` is the placeholder. `make run` prints a key, and the page /keys/ makes some.")
        if not (key.isascii() and key.isprintable()):
            raise ValueError("`key` has a line break, or characters that no key has.")
        self._headers = {"Authorization": f"Bearer {key}"}
        self.project = project_name(setting("project", (project or "").strip(), "STILLHERE_PROJECT"))
        self._project_id = self.project if is_id(self.project) else None
        # False: what needs a project that does not exist fails with the code NO_PROJECT.
        self.creates_project = True
        self._preparations: list[Request] = []
        self._timeout, self._retry_seconds = timeout, retry_seconds
        self._is_proxied = is_proxied(self.url)
        self._wires = Proxied(self.url, timeout) if self._is_proxied else SharedWires(self._server, timeout)
        self.event_loops = EventLoops(self._wires_of_a_loop)

    def run[T](self, operation: Operation[T], given_up: GivenUp | None = None) -> T:
        """Raises StillhereError, or NoAnswer, which is one; ValueError, before it is sent, for what JSON does not have. Once
        `given_up` is set nothing is tried again."""
        steps = self._with_project(operation)
        try:
            request = next(steps)
            while True:
                request = _next_request(steps, self._sent(request, given_up or GivenUp()), self.url)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            operation.close()  # What it holds is free, though its caller keeps an error that refers to it.

    async def run_in_thread[T](self, operation: Operation[T]) -> T:
        """`run` for coroutines of many short event loops, whose connections would end with each. If it is cancelled the thread
        goes on as `GivenUp` allows: a loop that ends waits for it."""
        given_up = GivenUp()
        try:
            return await asyncio.to_thread(self.run, operation, given_up)
        except asyncio.CancelledError:
            asyncio.get_running_loop().call_later(SECONDS, given_up.end)
            raise
        finally:
            given_up.set()

    @property
    def wires_of_any_loop(self) -> SharedWires | None:
        """None: `run_in_any_loop` needs a thread."""
        return self._wires if isinstance(self._wires, SharedWires) and self._wires.serve_loops else None

    async def run_in_any_loop[T](self, operation: Operation[T]) -> T:
        """The same, and quicker, for what may end anywhere if it is cancelled: reads, and one change."""
        if (wires := self.wires_of_any_loop) is not None:
            return await self._arun(operation, wires.asend)
        return await self.run_in_thread(operation)

    async def arun[T](self, operation: Operation[T]) -> T:
        """`run` for coroutines of one event loop."""
        return await self._arun(operation, self._send_in_own_loop)

    async def _arun[T](self, operation: Operation[T], send: Send) -> T:
        steps = self._with_project(operation)
        try:
            request = next(steps)
            while True:
                request = _next_request(steps, await self._asent(request, send), self.url)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            operation.close()  # As in `run`; and it is told at once that nobody waits any more.

    def upload(self, path: str, content: Iterable[bytes], query: Mapping[str, Any]) -> Any:
        """Sends a file as a stream, once: it cannot be repeated. Returns the answer; raises StillhereError."""
        headers = {**self._headers, "Content-Type": "application/x-ndjson"}
        try:
            with httpx.Client(timeout=self._timeout) as client:
                sent = client.post(f"{self.url}/api/v1{path}", params=query, content=content, headers=headers)
                return _value_of(answer_of(sent), self.url)
        except httpx.TransportError as error:
            raise NoAnswer(error, self.url) from error

    def raw(self, timeout: httpx.Timeout | None = None) -> httpx.Client:
        """A client of its own for addresses outside of the API. The caller closes it."""
        return httpx.Client(base_url=self.url, headers=self._headers, timeout=timeout or self._timeout)

    def close(self) -> None:
        """Closes the connections of threads."""
        self._wires.close()

    async def aclose(self) -> None:
        """Closes the connections of this event loop; one that ends as `asyncio.run` ends it does so by itself."""
        await self.event_loops.close()

    def _sent(self, request: Request, given_up: GivenUp) -> Answer | StillhereError:
        built, attempts = self._built(request), self._attempts(request)
        while True:
            try:
                if given_up.refuses(request.method):
                    raise httpx.ReadTimeout("nobody waits for it any more")
                answer = self._wires.send(*built, given_up)
                pause = attempts.pause_after(answer)
            except httpx.TransportError as error:
                if given_up.is_set():
                    return NoAnswer(error, self.url)
                try:
                    pause = attempts.pause_after_error(error)
                except StillhereError as no_answer:
                    return no_answer
                if given_up.wait(pause):
                    return NoAnswer(error, self.url)
            else:
                if pause is None or given_up.wait(pause):
                    return answer

    async def _send_in_own_loop(self, method: str, target: str, headers: Mapping[str, str], content: bytes | None) -> Answer:
        return await (await self.event_loops.connections()).send(method, target, headers, content)

    async def _asent(self, request: Request, send: Send) -> Answer | StillhereError:
        built, attempts = self._built(request), self._attempts(request)
        while True:
            try:
                answer = await send(*built)
                pause = attempts.pause_after(answer)
            except httpx.TransportError as error:
                try:
                    pause = attempts.pause_after_error(error)
                except StillhereError as given_up:
                    return given_up
            if pause is None:
                return answer
            await asyncio.sleep(pause)

    def _attempts(self, request: Request) -> Attempts:
        return Attempts(self._retry_seconds, repeatable=request.repeatable, url=self.url)

    def _wires_of_a_loop(self) -> AsyncProxied | AsyncWires:
        return AsyncProxied(self.url, self._timeout) if self._is_proxied else AsyncWires(self._server, self._timeout)

    def prepare(self, request: Request, first: Operation[None]) -> Operation[None]:
        """Does `first` once in the project, and the request in one that is created again."""
        if request not in self._preparations:
            yield from first
            self._preparations.append(request)

    def _with_project[T](self, operation: Operation[T]) -> Operation[T]:
        step: Callable[[], Request] = partial(next, operation)
        while True:
            try:
                request = step()
            except StopIteration as end:
                result: T = end.value
                return result
            if self._project_id is None and self.creates_project and request.in_project:  # Bodies may name it too.
                try:
                    self._project_id = yield from self._found_project()
                except BaseException:
                    operation.close()  # This is no answer to its request, so it is not told.
                    raise
            try:
                answer = yield from self._answer_in_project(request)
            except StillhereError as error:
                step = partial(operation.throw, error)
            else:
                step = partial(operation.send, answer)

    def _answer_in_project(self, request: Request) -> Operation[Any]:
        """If the project was erased meanwhile, that of one that is created again. One that is known by its id only is not."""
        is_of_project = "{project}" in request.path
        if is_of_project and self._project_id is None:
            self._project_id = yield from self._found_project()
        try:
            return (yield request)
        except StillhereError as error:
            is_erased = is_of_project and (error.status, error.details.get("kind")) == (404, "project")
            if not is_erased or is_id(self.project):
                raise
        self._project_id = yield from self._found_project()
        for preparation in self._preparations:  # noqa: UP028 - answers are sent to it
            yield preparation
        return (yield request)

    def _found_project(self) -> Operation[str]:
        """By its path; created if there is none. Raises StillhereError for an answer of something else."""
        found = yield Request("GET", "/projects", query={"path": self.project})
        try:
            if not found["items"] and not self.creates_project:
                raise StillhereError(404, NO_PROJECT, f"there is no project {self.project}.", {})
            made = found["items"][0] if found["items"] else (yield Request("POST", "/projects", {"path": self.project}))
            return str(made["id"])
        except (KeyError, TypeError, IndexError) as error:
            raise StillhereError(200, "unreadable", NOT_STILLHERE.format(self.url), {}) from error

    def _built(self, request: Request) -> tuple[str, str, dict[str, str], bytes | None]:
        target = f"/api/v1{request.path.replace('{project}', self._project_id or '')}{query_of(request.query)}"
        headers = {**self._headers, **request.headers}
        if request.body is None:
            return request.method, target, headers, None
        headers["Content-Type"] = "application/json"
        return request.method, target, headers, as_json(request.body)


def _next_request[T](steps: Operation[T], answer: Answer | StillhereError, url: str) -> Request:
    """Gives an answer to an operation. Raises `StopIteration` with its result."""
    try:
        if isinstance(answer, StillhereError):
            raise answer
        value = _value_of(answer, url)
    except StillhereError as error:
        return steps.throw(error)
    return steps.send(value)


def _value_of(answer: Answer, url: str) -> Any:
    """An object, or None if there is none. Raises StillhereError for a refusal, and for what is no answer of the API, such as the
    sign-in page of a network. Where the address or the key may be wrong, the message names the address."""
    if answer.status == NO_CONTENT:
        return None
    try:
        value = value_in(answer)
        if 200 <= answer.status < 300 and isinstance(value, dict):
            return value
        error = value["error"]
        code, message, details = error["code"], error["message"], error["details"]
    except (ValueError, KeyError, TypeError):
        code, message, details = "unreadable", f"{url} answers: {_shown(answer) or 'nothing'}", {}
    else:
        message = f"{url} refuses the key. {message}" if answer.status == WRONG_KEY else message
    raise StillhereError(answer.status, code, message, details, retry_after(answer))


def _shown(answer: Answer) -> str:
    moved = answer.headers.get("location")
    return f"This address leads to {moved}." if moved else answer.content[:200].decode(errors="replace")
