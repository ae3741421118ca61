"""Code in colours: an allow-list of languages, and a limit on the CPU time that a text's blocks take together.

Most lexers match regular expressions that can be made to backtrack, and no list of good ones stays true. So the time is
limited, not the patterns: a block that takes too long is shown without colours.
"""

import time
from collections.abc import Iterable
from functools import cache

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_all_lexers, get_lexer_by_name

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
FORMATTER = HtmlFormatter(nowrap=True)


@cache
def known_names() -> frozenset[str]:
    return frozenset(
        alias for _, aliases, *_ in get_all_lexers(plugins=False) for alias in aliases if not LANGUAGES.isdisjoint(aliases)
    )


@cache
def _lexer(name: str) -> Lexer:
    # Markdown's lexer would load whatever language its own code blocks name.
    return get_lexer_by_name(name, stripnl=False, handlecodeblocks=False)


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
