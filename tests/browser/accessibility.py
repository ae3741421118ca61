"""What a page is looked over for."""

from axe_selenium_python import Axe

from tests.browser.driving import Browser

# As a script: does the page follow what happens?
LIVE = "return document.getElementById('live-state').textContent === 'Live';"


def assert_accessible(browser: Browser) -> None:
    axe = Axe(browser.driver)
    axe.inject()
    violations = axe.run()["violations"]
    assert violations == [], axe.report(violations)
