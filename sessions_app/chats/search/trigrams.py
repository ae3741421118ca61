"""The trigrams of a text: every three characters that follow each other."""

import zlib
from itertools import product

from sessions_app.core.storage.text_comparison import spellings

TRIGRAM = 3
MOST_TRIGRAMS = 6
# Characters of a piece. A match lies within one piece: they overlap by more than a searched text has.
PIECE, OVERLAP = 30_000, 3_000
# Pieces of a text; what is longer than all of them is in the last.
PIECES = 64
# For PostgreSQL trigrams are hashed to numbers of 16 bits.
HASHES = 1 << 16


def in_overlapping_pieces(text: str) -> list[str]:
    """None of an empty text."""
    step = PIECE - OVERLAP
    starts = [*range(0, max(1, len(text) - OVERLAP), step)][:PIECES] if text else []
    return [text[start : start + PIECE] if number < PIECES else text[start:] for number, start in enumerate(starts, 1)]


def hashes(folded: str) -> list[int]:
    """The numbers of all trigrams of a text."""
    return sorted({hashed(trigram) for trigram in {folded[at : at + TRIGRAM] for at in range(len(folded) - TRIGRAM + 1)}})


def hashed(trigram: str) -> int:
    """As long as stores exist a trigram has the same number, so it is not Python's own hash."""
    return zlib.crc32(trigram.encode("utf-8", "surrogatepass")) % HASHES - HASHES // 2


def spread_trigrams(text: str) -> list[str]:
    """A few trigrams, spread over the text: each one costs reading a list, and the text is compared anyway."""
    starts = range(0, len(text) - TRIGRAM + 1, max(1, (len(text) - TRIGRAM) // (MOST_TRIGRAMS - 1)))
    return list(dict.fromkeys(text[at : at + TRIGRAM] for at in [*starts, len(text) - TRIGRAM]))


def makes_trigrams(text: str) -> bool:
    """Whether every spelling of the text has one."""
    return min(map(len, spellings(text))) >= TRIGRAM


def match_of(text: str) -> str:
    """FTS5's query for what has all trigrams of a spelling of the text. FTS5 folds case, but leaves İ as it is."""
    return " OR ".join(f"({' AND '.join(map(_in_any_case, spread_trigrams(spelling)))})" for spelling in spellings(text))


def _in_any_case(trigram: str) -> str:
    forms = product(*("iİ" if letter in "iIİ" else letter for letter in trigram))
    return f"({' OR '.join(quoted(''.join(form)) for form in forms)})"


def quoted(trigram: str) -> str:
    """For FTS5, in whose quotes only a quote is special."""
    return '"' + trigram.replace('"', '""') + '"'
