"""One page with all screenshots of a folder: a line for each page, with its widths and schemes beside each other."""

from html import escape
from itertools import groupby
from pathlib import Path

_STYLE = """
body { font: 14px system-ui, sans-serif; margin: 16px; background: #808080; color: #fff; }
section { margin-bottom: 24px; }
section div { display: flex; gap: 8px; align-items: start; overflow-x: auto; }
figure { margin: 0; flex: none; }
img { height: 420px; object-fit: cover; object-position: top; display: block; background: #fff; }
"""


def write_contact_sheet(folder: Path) -> Path:
    """Returns the page. A picture is named after its page, width and scheme; a click opens it in full."""
    taken = sorted((*picture.stem.rsplit("-", 2), picture.name) for picture in folder.glob("*-*-*.png"))
    sections = []
    for name, pictures in groupby(taken, key=lambda one: one[0]):
        shown = sorted(pictures, key=lambda one: (int(one[1]), one[2] == "dark"))
        figures = "".join(
            f"<figure><figcaption>{escape(width)} {escape(scheme)}</figcaption>"
            f'<a href="{escape(file)}"><img src="{escape(file)}" alt="" loading="lazy"></a></figure>'
            for _, width, scheme, file in shown
        )
        sections.append(f'<section id="{escape(name)}"><h2>{escape(name)}</h2><div>{figures}</div></section>')
    page = folder / "index.html"
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Contact sheet</title><style>{_STYLE}</style>'
    page.write_text(head + "".join(sections))
    return page
