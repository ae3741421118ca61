"""Markdown as safe HTML for pages, within a CPU time budget for each text and page.

`PageRenderer` renders the texts of a page; a text over a limit is shown as plain text. One child process with its own
limits (`markdown_client.py`) does the work, text by text: the account with the lowest recent use is next, so that
nobody waits for more than the text in progress. Results are cached.
"""

import sys
import threading
import time
from collections.abc import Iterable
from html import escape

from cachetools import LRUCache
from django.conf import settings
from django.utils.safestring import SafeString, mark_safe

from sessions_app.core.rendering.markdown_client import Source, UserText
from sessions_app.core.rendering.render_queue import Budget, RenderQueue

# Characters. Longer text is shown as it is.
LONGEST = 50_000
# A page's budget of the child's CPU time, and how long it waits.
PAGE_CPU_SECONDS, PAGE_WAIT_SECONDS = 0.5, 2.0
# Each waiting page occupies a thread. Further pages are shown without waiting.
PAGES_AT_ONCE = max(1, settings.THREADS // 2)
# Cache size in bytes: of HTML, and about as much of the source texts.
KEPT_BYTES = 16_000_000


class _Kept:
    """Cache of recent results."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._html: LRUCache[Source, SafeString] = LRUCache(KEPT_BYTES, getsizeof=lambda html: 2 * sys.getsizeof(html))

    def get(self, text: Source) -> SafeString | None:
        with self._lock:
            return self._html.get(text)

    def keep(self, text: Source, html: str | None) -> SafeString:
        shown = plain(text) if html is None else mark_safe(html)  # noqa: S308 - sanitized
        with self._lock:
            if 2 * sys.getsizeof(shown) <= KEPT_BYTES:
                self._html[text] = shown
        return shown


_kept = _Kept()
_queue = RenderQueue(pages=PAGES_AT_ONCE, done=_kept.keep)


def plain(text: Source) -> SafeString:
    return mark_safe(f'<div class="plain">{escape(_words(text))}</div>')  # noqa: S308 - escaped


def _words(source: Source) -> str:
    return source.text if isinstance(source, UserText) else source


class PageRenderer:
    """Renders for one page of one account. Texts that were prepared together wait together."""

    def __init__(self, account: int) -> None:
        self.account = account
        self._budget = Budget(account, PAGE_CPU_SECONDS, time.monotonic() + PAGE_WAIT_SECONDS)
        self._found: dict[Source, SafeString] = {}

    def prepare(self, texts: Iterable[Source]) -> None:
        """Later texts first: pages begin at the end."""
        wanted = [text for text in dict.fromkeys(texts) if text not in self._found]
        for text in wanted:
            if (kept := plain(text) if len(_words(text)) > LONGEST else _kept.get(text)) is not None:
                self._found[text] = kept
        missing = [text for text in reversed(wanted) if text not in self._found]
        rendered = _queue.render(missing, self._budget) if missing else {}
        self._found |= {text: rendered[text] if text in rendered else plain(text) for text in missing}

    def render(self, text: Source) -> SafeString:
        """Returns HTML that is safe to include in a page."""
        if text not in self._found:
            self.prepare([text])
        return self._found[text]


def render(text: Source, account: int = 0) -> SafeString:
    """Render a single text. A page with several uses one `PageRenderer`."""
    return PageRenderer(account).render(text)
