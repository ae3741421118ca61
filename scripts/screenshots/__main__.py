"""Screenshots of the pages, from a store of invented content.

`python -m scripts.screenshots` makes those of README and docs/pages.md in docs/screenshots; `… --every FOLDER` each page at three
widths in both schemes, and FOLDER/index.html, which shows those of a page beside each other.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READMES = ROOT / "docs" / "screenshots"
WIDTHS = (360, 1280, 1920)
SCHEMES = ("light", "dark")
HEIGHT = 800
# Which pages README and docs/pages.md show, and in which scheme.
SHOWN = {
    "projects": "light",
    "session": "light",
    "chat": "dark",
    "session-parts": "light",
    "history": "light",
    "trace": "dark",
    "overview": "light",
    "all-sessions": "dark",
    "error": "light",
    "palette": "dark",
    "contents": "light",
    "import-inside": "light",
    "waiting-list": "dark",
}
TALLEST = 3000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=Path, metavar="FOLDER", help="every page, three widths, both schemes")
    parser.add_argument("--only", default="", help="pages whose name has one of these words in it")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stillhere-") as folder:
        os.environ.update(STILLHERE_DATA_DIR=folder, STILLHERE_LOG_LEVEL="ERROR", STILLHERE_CHAT_WORD_MS="1")
        for name in ("STILLHERE_DATABASE_URL", "STILLHERE_REDIS_URL", "STILLHERE_CHAT_URL"):
            os.environ.pop(name, None)
        _set_up()
        _take(chosen.every, chosen.only)
    return 0


def _set_up() -> None:
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def _take(every: Path | None, only: str) -> None:
    from scripts.screenshots.contact_sheet import write_contact_sheet
    from scripts.screenshots.page_states import STATES
    from scripts.screenshots.photographer import Photographer
    from scripts.screenshots.sample_store import fill
    from tests.support.live_server import LiveServer

    places = fill()
    with LiveServer() as server, Photographer(server.url, places) as photographer:
        if every is None:
            READMES.mkdir(parents=True, exist_ok=True)
            photographer.chat()
            for name, scheme in SHOWN.items():
                if only in name:
                    photographer.take(name, READMES / f"{name}.png", width=1280, height=HEIGHT, scheme=scheme)
            return
        every.mkdir(parents=True, exist_ok=True)
        photographer.chat()
        for name in (*photographer.pages(), *STATES):
            if only and not any(word in name for word in only.split()):
                continue
            for width in WIDTHS:
                for scheme in SCHEMES:
                    photographer.take(name, every / f"{name}-{width}-{scheme}.png", width=width, height=TALLEST, scheme=scheme)
        write_contact_sheet(every)


if __name__ == "__main__":
    sys.exit(main())
