"""A style sheet that was minified says what its source says, as a browser reads it."""

import re

import pytest
from django.conf import settings

from config.http.static_files.storage import minified
from tests.browser.conftest import browser, chromium
from tests.browser.driving import Browser

__all__ = ["browser", "chromium"]

pytestmark = [pytest.mark.browser, pytest.mark.once]
RULES = """
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(args[0]);
    return [...sheet.cssRules].map((rule) => rule.cssText).join("\\n");
"""
# Two ways to say the same.
SAME = {"background:none;": "background:0px0px;", "flex:01auto;": "flex:initial;"}


def rules(browser: Browser, style_sheet: str) -> list[str]:
    """One line for each declaration. Where a value has a variable, Chromium leaves its spaces and zeros as they are."""
    text = re.sub(r"\s+", "", browser.run(RULES, style_sheet))
    text = re.sub(r"(?<![\d.])0(?=\.\d)", "", text)
    for one, other in SAME.items():
        text = text.replace(one, other)
    return re.split(r"(?<=[;{}])", text)


def test_minified_style_sheets_have_the_same_rules(browser: Browser) -> None:
    pytest.importorskip("minify")
    sheets = sorted((settings.BASE_DIR / "static" / "css").rglob("*.css"))
    assert len(sheets) > 10
    for sheet in sheets:
        source = sheet.read_text()
        expected = rules(browser, source)
        assert len(expected) > 3
        assert rules(browser, minified("css/one.css", source)) == expected, sheet.name
