"""Which text is rendered next: one thread and one child process, shared fairly between accounts."""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from django.utils.safestring import SafeString

from sessions_app.core.rendering.markdown_client import MarkdownProcess, Source

# The child is ended after this idle time.
IDLE_SECONDS = 300.0
# Half-life of an account's use.
HALF_LIFE_SECONDS = 10.0


@dataclass(eq=False, slots=True)
class Budget:
    """What a page has left: CPU seconds of the child, and time to wait."""

    account: int
    cpu: float
    until: float


@dataclass(eq=False, slots=True)
class _Page:
    """A page waiting for texts."""

    budget: Budget
    open: int = 0
    found: dict[Source, SafeString] = field(default_factory=dict)
    finished: threading.Event = field(default_factory=threading.Event)


@dataclass(eq=False, slots=True)
class _Job:
    """A text and the pages waiting for it. The first page is charged."""

    text: Source
    account: int
    pages: list[_Page]


class RenderQueue:
    """`done` receives a text's final HTML (None: it takes too long) and returns what is shown."""

    def __init__(self, *, pages: int, done: Callable[[Source, str | None], SafeString]) -> None:
        self._most_pages, self._done = pages, done
        self._changed = threading.Condition()
        self._jobs: dict[Source, _Job] = {}
        self._waiting: dict[int, deque[_Job]] = {}
        self._pages: Counter[int] = Counter()
        # Microseconds.
        self._spent: Counter[int] = Counter()
        self._halved_at = 0.0
        self._worker: threading.Thread | None = None
        self._process = MarkdownProcess()

    def render(self, texts: Sequence[Source], budget: Budget) -> dict[Source, SafeString]:
        """What could be rendered within the budget. Returns at once if too many pages already wait."""
        page = _Page(budget)
        with self._changed:
            if budget.cpu <= 0 or not self._has_room(budget.account):
                return {}
            self._pages[budget.account] += 1
            for text in texts:
                self._ask(text, page)
            self._changed.notify_all()
        page.finished.wait(max(0.0, budget.until - time.monotonic()))
        with self._changed:
            self._leave(page, texts)
            return dict(page.found)

    def _has_room(self, account: int) -> bool:
        """An account may hold at most three quarters of the places."""
        own = max(1, self._most_pages * 3 // 4)
        return self._pages.total() < self._most_pages and self._pages[account] < own

    def _ask(self, text: Source, page: _Page) -> None:
        page.open += 1
        if text in self._jobs:
            self._jobs[text].pages.append(page)
            return
        job = self._jobs[text] = _Job(text, page.budget.account, [page])
        self._waiting.setdefault(job.account, deque()).append(job)
        if self._worker is None:
            self._worker = threading.Thread(target=self._run, name="markdown", daemon=True)
            self._worker.start()

    def _leave(self, page: _Page, texts: Sequence[Source]) -> None:
        self._pages[page.budget.account] -= 1
        for text in texts:
            if (job := self._jobs.get(text)) is not None and page in job.pages:
                job.pages.remove(page)

    def _run(self) -> None:
        """Render until idle for a while."""
        with self._changed:
            try:
                while self._changed.wait_for(lambda: self._waiting, IDLE_SECONDS):
                    if (job := self._next()) is not None:
                        self._render(job)
            finally:
                self._worker = None
                self._process.stop()

    def _next(self) -> _Job | None:
        """The first text of the account with the lowest use that a page still waits for and can pay for."""
        self._forget_old()
        while self._waiting:
            account = min(self._waiting, key=lambda number: self._spent[number])
            job = self._waiting[account].popleft()
            if not self._waiting[account]:
                del self._waiting[account]
            if any(page.budget.cpu > 0 for page in job.pages):
                return job
            self._finish(job, None)
        return None

    def _forget_old(self) -> None:
        if (now := time.monotonic()) - self._halved_at > HALF_LIFE_SECONDS:
            self._halved_at = now
            self._spent = Counter({account: cpu // 2 for account, cpu in self._spent.items() if cpu > 1})

    def _render(self, job: _Job) -> None:
        self._changed.release()
        try:
            answer = self._process.render(job.text)
            html = self._done(job.text, answer.html) if answer.final else None
        finally:
            self._changed.acquire()
        self._spent[job.account] += round(answer.cpu * 1_000_000)
        for page in job.pages[:1]:
            page.budget.cpu -= answer.cpu
        self._finish(job, html)

    def _finish(self, job: _Job, html: SafeString | None) -> None:
        self._jobs.pop(job.text, None)
        for page in job.pages:
            if html is not None:
                page.found[job.text] = html
            page.open -= 1
            if page.open == 0:
                page.finished.set()
