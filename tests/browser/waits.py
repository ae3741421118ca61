"""Pages that wait for less long than the module says, so that a test need not."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tests.browser.driving import Browser

SHORTER = """
    const wait = setTimeout;
    const shorter = {waits};
    window.setTimeout = (act, milliseconds, ...rest) => wait(act, shorter[milliseconds] ?? milliseconds, ...rest);
"""


@contextmanager
def short_waits(browser: Browser, waits: dict[int, int]) -> Iterator[None]:
    """For pages that the present tab opens in this block: other milliseconds for some."""
    cdp = browser.driver.execute_cdp_cmd
    source = SHORTER.replace("{waits}", json.dumps(waits))
    added = cdp("Page.addScriptToEvaluateOnNewDocument", {"source": source})
    try:
        yield
    finally:
        cdp("Page.removeScriptToEvaluateOnNewDocument", added)
