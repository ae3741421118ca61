"""`python -m scripts.screenshots.icons` draws the icons of the installed app as PNG from `static/icon-maskable.svg`.

iOS takes no SVG for its home screen, and some launchers take none from a manifest.
"""

import base64
import os
import re
import sys
from pathlib import Path

from selenium.webdriver import Chrome

STATIC = Path(__file__).resolve().parents[2] / "static"
SOURCE = STATIC / "icon-maskable.svg"
FOLDER = STATIC / "icons"
# Launchers cut a maskable icon to their own shape, so its drawing keeps away from the edge; the others are shown as they are.
WHOLE, CLOSE = "0 0 48 48", "7 7 34 34"
# Width and height, and the part of the drawing.
ICONS = {
    "apple-touch-icon.png": (180, CLOSE),
    "icon-192.png": (192, CLOSE),
    "icon-512.png": (512, CLOSE),
    "maskable-512.png": (512, WHOLE),
}


def main() -> int:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from tests.browser.driving import start_chromium

    FOLDER.mkdir(exist_ok=True)
    chrome = start_chromium()
    try:
        for name, (size, part) in ICONS.items():
            (FOLDER / name).write_bytes(_drawn(chrome, size, part))
    finally:
        chrome.quit()
    return 0


def _drawn(chrome: Chrome, size: int, part: str) -> bytes:
    drawing = re.sub(r'viewBox="[^"]+"', f'viewBox="{part}" width="{size}" height="{size}"', SOURCE.read_text(encoding="utf-8"))
    page = f'<body style="margin:0">{drawing.replace("<svg", "<svg style=display:block", 1)}</body>'
    chrome.get(f"data:text/html;base64,{base64.b64encode(page.encode()).decode()}")
    metrics = {"width": size, "height": size, "deviceScaleFactor": 1, "mobile": False}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    return base64.b64decode(chrome.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"])


if __name__ == "__main__":
    sys.exit(main())
