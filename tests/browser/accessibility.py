"""What a page is looked over for."""

import json
import random

from axe_selenium_python import Axe

from tests.browser.driving import Browser
from tests.support.suite import is_patient

# As a script: does the page follow what happens?
LIVE = "return document.getElementById('live-state').textContent === 'Live';"


def options() -> str:
    """Of what is in order, axe would write down every element. Contrast takes it most of its time: one look in three."""
    left_out = {} if is_patient() or not random.randrange(3) else {"color-contrast": {"enabled": False}}
    return json.dumps({"resultTypes": ["violations"], "rules": left_out})


def assert_accessible(browser: Browser) -> None:
    axe = Axe(browser.driver)
    axe.inject()
    violations = axe.run(options=options())["violations"]
    assert violations == [], axe.report(violations)
