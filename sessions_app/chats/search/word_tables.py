"""Makes the tables and triggers of a `WordIndex`, in a migration.

Triggers note the rows that are written, so no writer can forget it. That costs a write some microseconds; the index follows.
Migrations of stores that exist have run this: what it makes never changes.
"""

from collections.abc import Sequence

from django.db.backends.base.schema import BaseDatabaseSchemaEditor

# Without texts and positions, as the index of messages.
_ON_SQLITE = (
    "CREATE VIRTUAL TABLE {name}words USING fts5(text, content='', contentless_delete=1, detail=none, tokenize='trigram')",
    "CREATE TABLE {name}queue (id integer PRIMARY KEY, changed integer NOT NULL)",
    "CREATE TABLE {name}number (id integer PRIMARY KEY AUTOINCREMENT, row_id char(32) NOT NULL UNIQUE)",
)
# Not pg_trgm: its trigrams depend on the locale, have no punctuation, and need a copy of the text.
_ON_POSTGRESQL = (
    "CREATE TABLE {name}words (id bigint, piece smallint, trigrams smallint[] NOT NULL, PRIMARY KEY (id, piece))",
    "ALTER TABLE {name}words ALTER COLUMN trigrams SET STORAGE EXTERNAL",
    "CREATE INDEX {name}words_trigrams ON {name}words USING gin (trigrams)",
    "CREATE TABLE {name}queue (id bigint PRIMARY KEY, changed bigint NOT NULL)",
    "CREATE TABLE {name}number (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, row_id uuid NOT NULL UNIQUE)",
)
_EVENTS = (("made", "INSERT"), ("changed", "UPDATE"), ("gone", "DELETE"))


def make_word_index(
    schema_editor: BaseDatabaseSchemaEditor, *, name: str, table: str, columns: Sequence[str], numbered: bool = False
) -> None:
    """Index the texts of these columns of a table. Rows that are there are queued.

    `numbered`: the table's rows have UUIDs, so that they get numbers, in a table `{name}number`.
    """
    on_postgresql = schema_editor.connection.vendor == "postgresql"
    for statement in _ON_POSTGRESQL if on_postgresql else _ON_SQLITE:
        if numbered or "{name}number" not in statement:
            schema_editor.execute(statement.format(name=name))
    for event, when in _EVENTS:
        work = "; ".join(_marks(name, "old" if event == "gone" else "new", event, on_postgresql, numbered)) + ";"
        make = _trigger_on_postgresql if on_postgresql else _trigger_on_sqlite
        for statement in make(f"{name}_words_{event}", f"AFTER {when}", table, columns if event == "changed" else (), work):
            schema_editor.execute(statement)
    if numbered:
        schema_editor.execute(f"INSERT INTO {name}number (row_id) SELECT id FROM {table}")  # noqa: S608 - our own names
    schema_editor.execute(f"INSERT INTO {name}queue SELECT id, 0 FROM {name + 'number' if numbered else table}")  # noqa: S608


def _trigger_on_postgresql(trigger: str, event: str, table: str, columns: Sequence[str], work: str) -> list[str]:
    """The function compares the columns, because a column that a trigger itself names could not get another type."""
    work = f"IF {_changed(columns)} THEN {work} END IF;" if columns else work
    return [
        f"CREATE FUNCTION {trigger}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {work} RETURN NULL; END $$",
        f"CREATE TRIGGER {trigger} {event} ON {table} FOR EACH ROW EXECUTE FUNCTION {trigger}()",
    ]


def _trigger_on_sqlite(trigger: str, event: str, table: str, columns: Sequence[str], work: str) -> list[str]:
    of, when = (f" OF {', '.join(columns)}", f" WHEN {_changed(columns)}") if columns else ("", "")
    return [f"CREATE TRIGGER {trigger} {event}{of} ON {table}{when} BEGIN {work} END"]


def _changed(columns: Sequence[str]) -> str:
    return " OR ".join(f"new.{column} IS DISTINCT FROM old.{column}" for column in columns)


def _marks(name: str, row: str, event: str, on_postgresql: bool, numbered: bool) -> list[str]:
    """Statements of a trigger. Every write has a random `changed` of its own, by which the index notices one beside it.

    Not `INSERT OR REPLACE`: within a trigger, SQLite replaces that by what the outer statement says.
    """
    change = "(random() * 9e18)::bigint" if on_postgresql else "random()"
    again = "ON CONFLICT (id) DO UPDATE SET changed = excluded.changed"
    if not numbered:
        return [f"INSERT INTO {name}queue VALUES ({row}.id, {change}) {again}"]  # noqa: S608 - our own names
    marked = f"INSERT INTO {name}queue SELECT id, {change} FROM {name}number WHERE row_id = {row}.id {again}"  # noqa: S608
    if event == "gone":
        return [marked, f"DELETE FROM {name}number WHERE row_id = {row}.id"]  # noqa: S608
    return [f"INSERT INTO {name}number (row_id) VALUES ({row}.id) ON CONFLICT (row_id) DO NOTHING", marked]  # noqa: S608
