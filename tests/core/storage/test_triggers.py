"""Every trigger is in the database after all migrations.

On SQLite a migration that changes a table may build it again (most of `AlterField`, `AddConstraint`): the old table's triggers go
with it, without a word. Such a migration creates them again at its end.
"""

from django.db import connection

from tests.support.databases import ON_POSTGRESQL

NAMES = (
    "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
    if ON_POSTGRESQL
    else "SELECT name FROM sqlite_master WHERE type = 'trigger'"
)
EVENTS = ("made", "changed", "gone")
ON_BOTH = {f"sessions_app_{what}_{event}" for what in ("conflictcopy_files", "message_files", "tags") for event in EVENTS} | {
    f"{index}_words_{event}" for index in ("memory_app_entry", "memory_app_error", "sessions_app_handoff") for event in EVENTS
}
HERE = (
    {"snapshot_stays", "snapshots_stay"}
    if ON_POSTGRESQL
    else {"snapshot_stays", "snapshot_never_changes", "snapshot_is_not_replaced"}
    | {f"sessions_app_{indexed}_{event}" for indexed in ("text", "title") for event in EVENTS}
)


def test_no_migration_loses_a_trigger(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(NAMES)
        found = {name for (name,) in cursor.fetchall()}
    assert found == ON_BOTH | HERE
