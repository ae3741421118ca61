from tests.browser.conftest import browser, chromium

__all__ = ["browser", "chromium"]
