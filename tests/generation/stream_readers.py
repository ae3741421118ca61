"""Readers of streams on a real server: each in a thread of its own, which notes when each event came."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx
import orjson

PATIENCE_SECONDS = 40.0


@dataclass(frozen=True, slots=True)
class Event:
    """`number`: None for what is no chunk. `data`: read as JSON."""

    number: int | None
    name: str
    data: Any
    at: float


class StreamReader:
    """`with StreamReader(url, key, "/streams/…") as reader:` reads until the stream or the block ends."""

    def __init__(self, url: str, key: str, path: str, **headers: str) -> None:
        self._url, self._headers = f"{url}/api/v1{path}", {"Authorization": f"Bearer {key}", **headers}
        self.events: list[Event] = []
        self.status = 0
        # The response ended as HTTP ends it, and not with its connection.
        self.whole = False
        self.ended = threading.Event()
        self._leaving = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.wait(lambda: self.status != 0)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._leaving = True

    @property
    def chunks(self) -> list[Any]:
        return [event.data for event in self.events if event.number is not None]

    @property
    def numbers(self) -> list[int]:
        return [event.number for event in self.events if event.number is not None]

    def wait(self, condition: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, seconds), self.events

    def wait_for_chunks(self, count: int) -> list[Any]:
        self.wait(lambda: len(self.chunks) >= count)
        return self.chunks

    def wait_for_end(self) -> str:
        """The state of which the end tells; empty if the response just ended."""
        self.wait(self.ended.is_set)
        return next((event.data["state"] for event in self.events if event.name == "end"), "")

    def _read(self) -> None:
        try:
            with httpx.stream("GET", self._url, headers=self._headers, timeout=60) as answer:
                self._note(status=answer.status_code)
                fields: dict[str, str] = {}
                for line in answer.iter_lines():
                    if self._leaving:
                        return
                    name, _, value = line.partition(": ")
                    if line:
                        fields[name] = value
                    elif "data" in fields:
                        self._note(event=_event(fields))
                        fields = {}
                self.whole = True
        except httpx.TransportError:
            self.status = self.status or -1
        finally:
            with self._changed:
                self.ended.set()
                self._changed.notify_all()

    def _note(self, *, event: Event | None = None, status: int = 0) -> None:
        with self._changed:
            self.status = status or self.status
            if event is not None:
                self.events.append(event)
            self._changed.notify_all()


def _event(fields: dict[str, str]) -> Event:
    number = int(fields["id"].rpartition(":")[2]) if "id" in fields else None
    data = fields["data"] if fields["data"] == "[DONE]" else orjson.loads(fields["data"])
    return Event(number, fields.get("event", ""), data, time.monotonic())
