"""Case-insensitive comparison of texts, alike on both databases: SQLite's LIKE folds only ASCII, PostgreSQL's no final sigma.

A letter with a mark is the same letter whether it is one character (NFC) or two (NFD, as file names of macOS have it).
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.db.models import CharField, Lookup, Q, TextField

# PostgreSQL's LIKE compares every position of a text with the whole pattern: it gets pieces, and the rest is compared once.
PIECE, PIECES = 24, 4
# Three forms of one letter. At the end of a word it is written differently, except in capitals.
SIGMA = "σ"
_SIGMAS = re.compile("[Σσς]")


def fold(text: str) -> str:
    """Fold case as the database does, letter by letter: what is folded of a part is in what is folded of the whole."""
    return letters_folded(text.replace("İ", "i"))


def letters_folded(text: str) -> str:
    """Python's `lower`, which chooses the sigma by its place and makes two letters of İ, with every sigma as one letter."""
    return text.replace("Σ", SIGMA).lower().replace("ς", SIGMA)


def spellings(text: str) -> list[str]:
    """The text with its letters composed, decomposed and as it is, without repetition: most texts have one spelling."""
    return list(dict.fromkeys([unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text), text]))


@lru_cache(maxsize=64)
def folded_spellings(text: str) -> tuple[str, ...]:
    """What is searched for if this text is; kept, because every row is compared with it."""
    return tuple(dict.fromkeys(map(fold, spellings(text))))


def has_any(wanted: Sequence[str], text: str) -> bool:
    """Whether a text contains one of these folded spellings."""
    folded = fold(text)
    return any(spelling in folded for spelling in wanted)


def contains(text: str, *fields: str) -> Q:
    """One of these fields contains the text, in any case."""
    found = Q(**{f"{fields[0]}__has_words": text})
    for field in fields[1:]:
        found |= Q(**{f"{field}__has_words": text})
    return found


@CharField.register_lookup
@TextField.register_lookup
class HasWords(Lookup):
    """`…__has_words`. Not Django's `icontains`: on PostgreSQL it is `UPPER(…) LIKE`, for which no trigrams are used."""

    lookup_name, prepare_rhs = "has_words", False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        column, parameters = self.process_lhs(compiler, connection)
        if connection.vendor != "postgresql":
            return f"{column} REGEXP %s", (*parameters, regular(self.rhs))
        matches, patterns = like(column, self.rhs)
        return matches, (*tuple(parameters) * len(patterns), *patterns)


def regular(text: str) -> str:
    """SQLite's condition: what `column REGEXP` compares with. Python runs it, and takes the three forms of sigma as one."""
    return f"(?i){'|'.join(map(re.escape, spellings(text)))}"


def like(column: str, text: str) -> tuple[str, list[str]]:
    """PostgreSQL's condition for a case-insensitive match, written so that it uses the trigram index."""
    found = [_like(column, spelling) for spelling in spellings(text)]
    if len(found) == 1:
        return found[0]
    return f"({' OR '.join(sql for sql, _ in found)})", [pattern for _, patterns in found for pattern in patterns]


def _like(column: str, text: str) -> tuple[str, list[str]]:
    sigma = _SIGMAS.search(text) is not None
    if len(text) <= PIECE and not sigma:
        return f"{column} ILIKE %s", [_pattern(text)]
    step = max(0, len(text) - PIECE) / (PIECES - 1)
    pieces = dict.fromkeys(text[round(number * step) :][:PIECE] for number in range(PIECES))
    folded = "translate(lower({}), 'ς', 'σ')" if sigma else "lower({})"
    compared = f"strpos({folded.format(column)}, {folded.format('%s')}) > 0"
    return f"({' AND '.join([*[f'{column} ILIKE %s'] * len(pieces), compared])})", [*map(_pattern, pieces), text]


def _pattern(text: str) -> str:
    """Any letter for a sigma: the index has it as it was written."""
    escaped = text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    return f"%{_SIGMAS.sub('_', escaped)}%"
