"""What no address has: dialogs, the palette, a menu, ticked rows, no connection. Accessible in both schemes and narrow."""

from collections.abc import Iterator

import pytest
from axe_selenium_python import Axe

from scripts.screenshots.page_states import STATES
from scripts.screenshots.photographer import Photographer
from scripts.screenshots.sample_store import fill
from tests.browser.pages.test_every_page import PAGE_WIDTH, PHONE, RULES
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.timeout(300)]


@pytest.fixture
def photographer(server: LiveServer) -> Iterator[Photographer]:
    with Photographer(server.url, fill()) as photographer:
        photographer.chat()
        yield photographer


@pytest.mark.slow
def test_every_state(photographer: Photographer) -> None:
    """Of the sample store, as screenshots show them."""
    for name in STATES:
        photographer.show(name, width=1280, height=900, scheme="light")
        axe = Axe(photographer.browser.driver)
        axe.inject()
        for scheme, options in RULES.items():
            photographer.prefer(scheme)
            violations = axe.run(options=options)["violations"]
            assert violations == [], (name, scheme, axe.report(violations))
        photographer.leave()
        photographer.show(name, width=PHONE, height=700, scheme="light")
        assert photographer.browser.run(PAGE_WIDTH) <= PHONE, name
        photographer.leave()
