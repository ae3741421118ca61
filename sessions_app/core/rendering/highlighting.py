"""Code in colours: an allow-list of languages, and a limit on the CPU time that a text's blocks take together.

Most lexers match regular expressions that can be made to backtrack, and no list of good ones stays true. So the time is
limited, not the patterns: a block that takes too long is shown without colours.
"""

import time
from collections.abc import Iterable, Iterator
from functools import cache

from pygments import highlight
from pygments.filter import Filter
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_all_lexers, get_lexer_by_name
from pygments.token import STANDARD_TYPES, Text, _TokenType

from sessions_app.core.rendering.cpu_limits import OutOfTime, cpu_limit

LONGEST_CODE = 20_000
# CPU seconds of all blocks and formulas of one text.
HIGHLIGHT_SECONDS = 0.05
# The first use of a language compiles its patterns, once in a process.
LOAD_SECONDS = 0.2
# By one of a lexer's names; its other names (`py`, `yml`) work too. A language that is rare in chats, or whose
# lexer takes more than 0.1 s to load (Scala, Julia) or chooses other lexers by itself (HTTP), is not worth its memory.
LANGUAGES = {
    *("awk", "bash", "batch", "c", "clojure", "cmake", "console", "cpp", "csharp", "css", "dart", "diff", "docker", "elixir"),
    *("erlang", "fsharp", "go", "graphql", "groovy", "haskell", "html", "ini", "java", "javascript", "json", "jsx", "kotlin"),
    *("lua", "make", "markdown", "mysql", "nginx", "objective-c", "ocaml", "perl", "php", "postgresql", "powershell"),
    *("protobuf", "pycon", "python", "ruby", "rust", "scss", "solidity", "splus", "sql", "swift", "terraform", "tex", "toml"),
    *("tsx", "typescript", "vue", "xml", "yaml", "zig"),
}
# The classes that static/css/parts.css gives a colour. Punctuation and plain names would be half of all elements of code.
COLOURED = {
    *("k", "kc", "kd", "kn", "kr", "kt", "ow"),
    *("s", "sa", "sb", "sc", "sd", "s1", "s2", "sh", "si", "se", "sx", "sr", "ss", "dl"),
    *("c", "c1", "cm", "ch", "cs", "cp", "cpf", "m", "mi", "mf", "mh", "mo", "mb", "il", "nf", "fm"),
    *("nc", "nd", "nt", "ne", "nb", "bp", "na", "nn", "nv", "vi", "vm", "gd", "gi"),
}
FORMATTER = HtmlFormatter(nowrap=True)


class _OnlyColoured(Filter):  # type: ignore[misc] # pygments has no types
    """What would look like the text around it is text."""

    def filter(self, lexer: Lexer, stream: Iterator[tuple[_TokenType, str]]) -> Iterator[tuple[_TokenType, str]]:
        for kind, value in stream:
            yield kind if _is_coloured(kind) else Text, value


@cache
def _is_coloured(kind: _TokenType) -> bool:
    standard: _TokenType | None = kind
    while standard is not None and standard not in STANDARD_TYPES:
        standard = standard.parent
    return standard is not None and STANDARD_TYPES[standard] in COLOURED


@cache
def known_names() -> frozenset[str]:
    return frozenset(
        alias for _, aliases, *_ in get_all_lexers(plugins=False) for alias in aliases if not LANGUAGES.isdisjoint(aliases)
    )


@cache
def _lexer(name: str) -> Lexer:
    # Markdown's lexer would load whatever language its own code blocks name.
    lexer = get_lexer_by_name(name, stripnl=False, handlecodeblocks=False)
    lexer.add_filter(_OnlyColoured())
    return lexer


def highlighted(blocks: Iterable[tuple[str, str]], seconds: float = HIGHLIGHT_SECONDS) -> dict[tuple[str, str], str]:
    """HTML by (code, language), for as many blocks of one text as the time allows. The language is a fence's first word."""
    left, found = seconds, dict[tuple[str, str], str]()
    for code, info in blocks:
        name = info.split(maxsplit=1)[0] if info.strip() else ""
        if left > 0 and len(code) <= LONGEST_CODE and name.lower() in known_names():
            began = time.process_time()
            try:
                lexer = _loaded(name.lower())
                began = time.process_time()
                with cpu_limit(left):
                    found[code, name] = highlight(code, lexer, FORMATTER)
            except OutOfTime:
                pass
            left -= time.process_time() - began
    return found


def _loaded(name: str) -> Lexer:
    with cpu_limit(LOAD_SECONDS):
        return _lexer(name)
