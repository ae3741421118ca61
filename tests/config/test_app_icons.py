"""The icons of the installed app: each is there in the size and form that browsers are told."""

import json
import re
import struct

import pytest
from django.conf import settings
from django.test import Client

STATIC = settings.BASE_DIR / "static"
MANIFEST = json.loads((STATIC / "manifest.webmanifest").read_text(encoding="utf-8"))
SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Red, green and blue, without transparency: iOS shows transparent pixels black.
OPAQUE = 2


def png(name: str) -> tuple[int, int, int]:
    """Width, height and kind of colour."""
    content = (STATIC / name).read_bytes()
    assert content.startswith(SIGNATURE)
    width, height, _, colour = struct.unpack(">IIBB", content[16:26])
    return width, height, colour


def test_pages_name_an_icon_that_ios_takes_for_the_home_screen(client: Client, db: None) -> None:
    page = client.get("/login/").content.decode()
    found = re.search(r'<link rel="apple-touch-icon" href="/static/([^"]+)">', page)
    assert found
    assert png(re.sub(r"\.[0-9a-f]{12}\.", ".", found[1])) == (180, 180, OPAQUE)


@pytest.mark.parametrize(
    "icon", [icon for icon in MANIFEST["icons"] if icon["type"] == "image/png"], ids=lambda icon: icon["src"]
)
def test_icons_have_the_size_that_the_manifest_says(icon: dict[str, str]) -> None:
    width, height, colour = png(icon["src"])
    assert f"{width}x{height}" == icon["sizes"]
    assert colour == OPAQUE


def test_the_manifest_has_what_browsers_ask_of_an_app_that_is_installed() -> None:
    """A PNG of 192 and one of 512 pixels, and one that may be cut to any shape."""
    pngs = [(icon["sizes"], icon["purpose"]) for icon in MANIFEST["icons"] if icon["type"] == "image/png"]
    assert {("192x192", "any"), ("512x512", "any"), ("512x512", "maskable")} <= set(pngs)
