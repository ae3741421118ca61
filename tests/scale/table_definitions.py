"""What a database consists of, in a form in which two of them can be compared: the order of columns does not matter."""

import re
from typing import Any

from tests.support.databases import ON_POSTGRESQL

_POSTGRESQL = (
    """SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, column_default, is_identity,
    collation_name FROM information_schema.columns WHERE table_schema = 'public'""",
    "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
    """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(c.oid) FROM pg_constraint c
    JOIN pg_namespace n ON n.oid = connamespace WHERE nspname = 'public' AND contype <> 'n'""",
    "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
    """SELECT pg_get_functiondef(p.oid) FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace
    JOIN pg_language l ON l.oid = prolang WHERE nspname = 'public' AND lanname = 'plpgsql'""",
)


def definitions_in(connection: Any) -> set[Any]:
    """Of an open connection of the database's own driver."""
    if ON_POSTGRESQL:
        return {tuple(row) for statement in _POSTGRESQL for row in connection.execute(statement).fetchall()}
    found: set[Any] = set()
    for kind, name, table, text in connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall():
        if kind == "table":
            found |= {(name, part) for part in _parts(text)}
        elif text:  # An index of a constraint has none.
            found.add((kind, table, _plain(text)))
    return found


def _parts(text: str) -> list[str]:
    """The columns and constraints of a table."""
    parts, depth, begin = [], 0, text.index("(") + 1
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if (character == "," and depth == 1) or (character == ")" and depth == 0):
            parts.append(_plain(text[begin:at]))
            begin = at + 1
    return [*parts, _plain(text[begin:])]


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace('"', "")).strip()
