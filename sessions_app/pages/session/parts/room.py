"""How much of folded content one page has: characters and values. What goes beyond is cut, and the page says how much."""

import json
from typing import Any

from django.utils.safestring import SafeString

from sessions_app.core.rendering.blocks.json_tree import render_value

LONGEST_FOLD, SHORTEST_FOLD = 20_000, 1_000
# Of a whole page.
MOST_CHARACTERS, MOST_VALUES = 600_000, 6_000
VALUES_A_TREE = 500


class Room:
    """One per page."""

    def __init__(self) -> None:
        self._characters, self.values = MOST_CHARACTERS, MOST_VALUES

    def cut(self, text: str) -> str:
        most = max(SHORTEST_FOLD, min(LONGEST_FOLD, self._characters))
        self._characters -= min(len(text), most)
        return text if len(text) <= most else f"{text[:most]}\n… {len(text) - most:,} more characters"

    def pretty(self, value: Any) -> str:
        return self.cut(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2))

    def tree(self, value: Any) -> SafeString:
        html, shown = render_value(value, most=min(VALUES_A_TREE, self.values))
        self.values -= shown
        return html
