"""An index of trigrams of rows that are no messages: of memory entries, handoffs and errors.

It only says which rows may have a text; who searches compares them. Triggers queue the rows that are written (`word_tables.py`),
and they are indexed in the background. Until then a search takes them as ones that may match, so it never waits for the index.

What is indexed is folded as it is compared, so the index has every trigram of every match, punctuation and spaces too. SQLite
keeps trigrams in FTS5, PostgreSQL in a GIN index of numbers. A long text is indexed in pieces, each in a transaction of its own.
"""

import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from sessions_app.chats.search.trigrams import (
    OVERLAP,
    PIECE,
    PIECES,
    TRIGRAM,
    hashed,
    hashes,
    in_overlapping_pieces,
    quoted,
    spread_trigrams,
)
from sessions_app.core.storage.paced_writes import run_paced
from sessions_app.core.storage.sql import execute, fetch_row, fetch_rows, on_postgresql
from sessions_app.core.storage.text_comparison import SIGMA, fold, letters_folded, spellings
from sessions_app.core.storage.time_limit import TimeIsUp, time_limit
from sessions_app.core.storage.transactions import write

# Rows of one step, which together are no longer than a piece.
AT_ONCE = 100
# Seconds that the index may take for a search.
INDEX_SECONDS = 0.08

# A row's number and its `changed`; a row's number, and the number and the text of a piece of it.
type Waiting = tuple[int, int]
type Piece = tuple[int, int, str]


class WordIndex:
    """`name`: what its tables begin with. `rows`: the join of the rows to the queue `q`, with a number for each row. `size`: how
    long a row's text is, about. `columns`: what `text_of` makes its text of; the first of them is null if there is no such row.
    """

    def __init__(self, name: str, *, rows: str, size: str, columns: str, text_of: Callable[..., str]) -> None:
        self.name, self._text_of = name, text_of
        queued = f"FROM {name}queue q LEFT JOIN {rows}"
        self._waiting = f"SELECT q.id, q.changed, COALESCE({size}, 0) {queued} WHERE q.id > %s ORDER BY q.id LIMIT %s"
        self._texts = f"SELECT q.id, {columns} {queued} WHERE q.id IN ({{marks}})"
        self._after = 0

    def index_some(self) -> bool:
        """Index a few of the waiting rows; returns whether more wait. Rows that are written again and again are indexed once a
        round: it goes from the first to the last row, then it ends."""
        waiting = fetch_rows(self._waiting, [self._after, AT_ONCE + 1])
        some, room = list[Waiting](), PIECE
        for row_id, changed, size in waiting[:AT_ONCE]:
            room -= size
            if room < 0 and some:
                break
            some.append((row_id, changed))
        pieces = self._pieces([row_id for row_id, _ in some])
        if len(some) == 1:
            run_paced(self._write_in_steps(some[0], pieces))
        elif some and not write(partial(self._write, some, pieces)):
            some = []
        self._after = some[-1][0] if some and len(some) < len(waiting) else 0
        return self._after > 0

    def _pieces(self, ids: list[int]) -> list[Piece]:
        if not ids:
            return []
        rows = fetch_rows(self._texts.format(marks=", ".join(["%s"] * len(ids))), ids)
        texts = [(row_id, self._text(columns)) for row_id, *columns in rows if columns[0] is not None]
        return [(row_id, number, piece) for row_id, text in texts for number, piece in enumerate(in_overlapping_pieces(text))]

    def _text(self, columns: Sequence[Any]) -> str:
        """Nothing of a damaged row, which no search can show either: the others must not wait for it."""
        try:
            return fold(self._text_of(*columns))
        except (AttributeError, KeyError, TypeError):
            return ""

    def _write_in_steps(self, row: Waiting, pieces: list[Piece]) -> Iterator[bool]:
        """Ends early if the row is written meanwhile: it still waits then."""
        last = max(0, len(pieces) - 1)
        for number in range(last + 1):
            some = pieces[number : number + 1]
            if not write(partial(self._write, [row], some, first=number == 0, last=number == last)):
                return
            yield True

    def _write(self, rows: list[Waiting], pieces: list[Piece], *, first: bool = True, last: bool = True) -> int:
        """Of rows that were not written since their texts were read. Returns how many those are; 0 also if another process
        indexes. What is written meanwhile waits on, and is not waited for."""
        if on_postgresql() and not fetch_row("SELECT pg_try_advisory_xact_lock(%s)", [zlib.crc32(self.name.encode())])[0]:
            return 0
        marks = ", ".join(["%s"] * len(rows))
        current = fetch_rows(f"SELECT id, changed FROM {self.name}queue WHERE id IN ({marks})", [row_id for row_id, _ in rows])  # noqa: S608
        unchanged = [*set(rows).intersection(current)]
        ids = [row_id for row_id, _ in unchanged]
        # Each in one statement: FTS5 flushes between statements, which costs as much as indexing.
        if first:
            self._remove(ids)
        self._add([piece for piece in pieces if piece[0] in ids])
        if last and ids:
            self._dequeue(unchanged)
        return len(ids)

    def _dequeue(self, rows: list[Waiting]) -> None:
        """Only at the end, and not rows that are being written: a write would wait for this transaction, or this for it."""
        marks, skip = ", ".join(["%s"] * len(rows)), " FOR UPDATE SKIP LOCKED" if on_postgresql() else ""
        done = f"SELECT id FROM {self.name}queue WHERE id IN ({marks}) AND changed IN ({marks}){skip}"  # noqa: S608
        execute(f"DELETE FROM {self.name}queue WHERE id IN ({done})", [*(row[0] for row in rows), *(row[1] for row in rows)])  # noqa: S608

    def _remove(self, ids: list[int]) -> None:
        words = f"{self.name}words"
        if on_postgresql():
            execute(f"DELETE FROM {words} WHERE id = ANY(%s)", [ids])  # noqa: S608
            return
        between = f"w.rowid BETWEEN value * {PIECES} AND value * {PIECES} + {PIECES - 1}"
        old = f"SELECT w.rowid FROM json_each(%s) CROSS JOIN {words} w WHERE {between}"  # noqa: S608
        execute(f"DELETE FROM {words} WHERE rowid IN ({old})", [json.dumps(ids)])  # noqa: S608

    def _add(self, pieces: list[Piece]) -> None:
        if not pieces:
            return
        rows: list[Sequence[Any]]
        if on_postgresql():
            into, rows = "(id, piece, trigrams)", [(row_id, number, hashes(text)) for row_id, number, text in pieces]
        else:
            into, rows = "(rowid, text)", [(row_id * PIECES + number, text) for row_id, number, text in pieces]
        marks = ", ".join([f"({', '.join(['%s'] * len(rows[0]))})"] * len(rows))
        execute(f"INSERT INTO {self.name}words {into} VALUES {marks}", [value for row in rows for value in row])  # noqa: S608

    def candidates(self, texts: Sequence[str], own: tuple[str, Sequence[Any]], most: int) -> list[Any] | None:
        """Rows that may have one of these texts, and those that wait; None: more than `most`, or the index is no help.

        `own`: a SELECT of one column, from a table `found` of the rows' numbers `id` and the tables joined to it.
        """
        sql = self.candidates_sql(texts, own, most)
        if sql is None:
            return None
        with suppress(TimeIsUp), time_limit(INDEX_SECONDS, by_index=True):
            found = [row_id for (row_id,) in fetch_rows(*sql)]
            return found if len(found) <= most else None
        return None

    def candidates_sql(self, texts: Sequence[str], own: tuple[str, Sequence[Any]], most: int) -> tuple[str, list[Any]] | None:
        # Rows that were indexed by earlier versions have İ as two letters.
        every = [spelling for text in texts for spelling in spellings(text)]
        folded = list(dict.fromkeys([*map(fold, every), *map(letters_folded, every)]))
        # FTS5 reads an expression to its first NUL.
        if any(not TRIGRAM <= len(text) <= OVERLAP or "\0" in text for text in folded):
            return None
        if on_postgresql():
            # Rows that were indexed by earlier versions have the final sigma as another letter.
            trigrams = [{hashed(part) for part in spread_trigrams(text) if SIGMA not in part} for text in folded]
            if not all(trigrams):
                return None
            contain = " OR ".join(["trigrams @> %s::smallint[]"] * len(folded))
            having = f"SELECT id FROM {self.name}words WHERE {contain}"  # noqa: S608
            parameters: list[Any] = [sorted(each) for each in trigrams]
        else:
            having = f"SELECT rowid / {PIECES} AS id FROM {self.name}words WHERE {self.name}words MATCH %s"  # noqa: S608
            parameters = [" OR ".join(f"({' AND '.join(map(quoted, spread_trigrams(text)))})" for text in folded)]
        found = f"WITH found AS MATERIALIZED ({having} UNION SELECT id FROM {self.name}queue)"  # noqa: S608
        return f"{found} {own[0]} LIMIT %s", [*parameters, *own[1], most + 1]
