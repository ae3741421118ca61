"""A browser that a test has closed is gone: a suite of hundreds would fill the memory."""

from pathlib import Path

import pytest

from tests.browser.driving import start_shell, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.once]


def running(profile: str) -> list[str]:
    """Ids of processes that have this folder among their arguments."""
    found = []
    for arguments in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if profile.encode() in arguments.read_bytes():
                found.append(arguments.parent.name)
        except OSError:  # It has ended meanwhile.
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="There is no /proc here.")
def test_a_browser_that_is_closed_leaves_no_process() -> None:
    chrome = start_shell()
    profile: str = chrome.capabilities["chrome"]["userDataDir"]
    assert running(profile)
    chrome.quit()
    wait_for(lambda: not running(profile), what="the end of the browser")
