"""What search reads: trigrams of texts and titles.

PostgreSQL keeps them by itself (pg_trgm). On SQLite a trigger notes which messages changed, which costs a save next to
nothing, and the index follows (services/indexing.py); titles are short and rare enough to be indexed at once. The
indexes hold no text and, with `detail=none`, no positions: a third of the space, and the text itself is compared anyway.
"""

from django.db import DatabaseError, migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

FTS = "content='', contentless_delete=1, detail=none, tokenize='trigram'"
SQLITE = [
    f"CREATE VIRTUAL TABLE sessions_app_textindex USING fts5(text, {FTS})",
    f"CREATE VIRTUAL TABLE sessions_app_titleindex USING fts5(title, {FTS})",
    "CREATE TABLE sessions_app_textqueue (message_pk integer PRIMARY KEY)",
    "CREATE TABLE sessions_app_titlenumber (id integer PRIMARY KEY AUTOINCREMENT, session_id char(32) NOT NULL UNIQUE)",
    "INSERT INTO sessions_app_textqueue SELECT id FROM sessions_app_message WHERE text <> ''",
    "INSERT INTO sessions_app_titlenumber (session_id) SELECT id FROM sessions_app_chatsession WHERE title <> ''",
    "INSERT INTO sessions_app_titleindex (rowid, title) SELECT n.id, s.title FROM sessions_app_titlenumber n "
    "JOIN sessions_app_chatsession s ON s.id = n.session_id",
    "CREATE TRIGGER sessions_app_text_made AFTER INSERT ON sessions_app_message WHEN new.text <> '' BEGIN "
    "INSERT OR IGNORE INTO sessions_app_textqueue VALUES (new.id); END",
    "CREATE TRIGGER sessions_app_text_changed AFTER UPDATE OF text ON sessions_app_message WHEN new.text IS NOT old.text BEGIN "
    "INSERT OR IGNORE INTO sessions_app_textqueue VALUES (new.id); END",
    "CREATE TRIGGER sessions_app_text_gone AFTER DELETE ON sessions_app_message BEGIN "
    "INSERT OR IGNORE INTO sessions_app_textqueue VALUES (old.id); END",
    "CREATE TRIGGER sessions_app_title_made AFTER INSERT ON sessions_app_chatsession WHEN new.title <> '' BEGIN "
    "INSERT OR IGNORE INTO sessions_app_titlenumber (session_id) VALUES (new.id); "
    "INSERT INTO sessions_app_titleindex (rowid, title) "
    "VALUES ((SELECT id FROM sessions_app_titlenumber WHERE session_id = new.id), new.title); END",
    "CREATE TRIGGER sessions_app_title_changed AFTER UPDATE OF title ON sessions_app_chatsession "
    "WHEN new.title IS NOT old.title BEGIN "
    "INSERT OR IGNORE INTO sessions_app_titlenumber (session_id) VALUES (new.id); "
    "DELETE FROM sessions_app_titleindex WHERE rowid = (SELECT id FROM sessions_app_titlenumber WHERE session_id = new.id); "
    "INSERT INTO sessions_app_titleindex (rowid, title) "
    "VALUES ((SELECT id FROM sessions_app_titlenumber WHERE session_id = new.id), new.title); END",
    "CREATE TRIGGER sessions_app_title_gone AFTER DELETE ON sessions_app_chatsession BEGIN "
    "DELETE FROM sessions_app_titleindex WHERE rowid = (SELECT id FROM sessions_app_titlenumber WHERE session_id = old.id); "
    "DELETE FROM sessions_app_titlenumber WHERE session_id = old.id; END",
]
POSTGRESQL = [
    "CREATE INDEX sessions_app_message_words ON sessions_app_message USING gin (text gin_trgm_ops) WHERE removed = ''",
    "CREATE INDEX sessions_app_session_words ON sessions_app_chatsession USING gin (title gin_trgm_ops)",
]


class NoTrigrams(Exception):
    """The database may not be given what search needs."""


def build(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor != "postgresql":
        for statement in SQLITE:
            schema_editor.execute(statement)
        return
    try:
        schema_editor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    except DatabaseError as error:
        raise NoTrigrams(
            "Search needs PostgreSQL's pg_trgm. Install postgresql-contrib where it is missing, "
            "and let a superuser run CREATE EXTENSION pg_trgm in this database once."
        ) from error
    for statement in POSTGRESQL:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0002_life")]
    operations = [migrations.RunPython(build)]
