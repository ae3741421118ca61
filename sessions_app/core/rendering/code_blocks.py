"""Blocks of code as Markdown writes them: with their language, and the number of lines of a long one, which pages fold."""

import re
from collections.abc import MutableMapping, Sequence
from html import escape
from typing import Any

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from sessions_app.core.rendering.folding import folded_lines

# A fence's first word, if it looks like a name.
LANGUAGE = re.compile(r"[A-Za-z][\w+#.-]{0,19}", re.ASCII)


def _told(content: str) -> str:
    """The attribute of a long block."""
    lines = folded_lines(content)
    return f' data-lines="{lines}"' if lines else ""


def fence(_renderer: RendererHTML, tokens: Sequence[Token], at: int, _options: Any, environment: MutableMapping[str, Any]) -> str:
    token = tokens[at]
    name = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
    language = f' data-language="{name}"' if LANGUAGE.fullmatch(name) else ""
    code = environment.get("code", {}).get((token.content, name)) or escape(token.content)
    return f"<pre{language}{_told(token.content)}><code>{code}</code></pre>\n"


def indented(_renderer: RendererHTML, tokens: Sequence[Token], at: int, _options: Any, _env: MutableMapping[str, Any]) -> str:
    content = tokens[at].content
    return f"<pre{_told(content)}><code>{escape(content)}</code></pre>\n"
