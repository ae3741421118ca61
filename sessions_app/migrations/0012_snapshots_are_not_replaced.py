"""The two ways past the triggers of 0007: SQLite's REPLACE, which deletes unseen by them, and PostgreSQL's TRUNCATE."""

from typing import Any

from django.db import migrations

_SQLITE = (
    "CREATE TRIGGER snapshot_is_not_replaced BEFORE INSERT ON sessions_app_handoffsnapshot "
    "WHEN EXISTS (SELECT 1 FROM sessions_app_handoffsnapshot WHERE id = NEW.id OR (project_id = NEW.project_id AND number = NEW.number)) "
    "BEGIN SELECT RAISE(ABORT, 'a frozen handoff cannot be changed'); END",
)
_POSTGRESQL = (
    "CREATE FUNCTION sessions_app_snapshots_stay() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "IF EXISTS (SELECT 1 FROM sessions_app_handoffsnapshot WHERE project_id NOT IN (SELECT project_id FROM sessions_app_purge)) THEN "
    "RAISE EXCEPTION 'a frozen handoff goes only with its project' USING ERRCODE = 'integrity_constraint_violation'; END IF; "
    "RETURN NULL; END $$",
    "CREATE TRIGGER snapshots_stay BEFORE TRUNCATE ON sessions_app_handoffsnapshot "
    "FOR EACH STATEMENT EXECUTE FUNCTION sessions_app_snapshots_stay()",
)
_UNDO = {
    "sqlite": ("DROP TRIGGER snapshot_is_not_replaced",),
    "postgresql": (
        "DROP TRIGGER snapshots_stay ON sessions_app_handoffsnapshot",
        "DROP FUNCTION sessions_app_snapshots_stay()",
    ),
}


def _guard(apps: Any, schema_editor: Any) -> None:
    for statement in _POSTGRESQL if schema_editor.connection.vendor == "postgresql" else _SQLITE:
        schema_editor.execute(statement)


def _unguard(apps: Any, schema_editor: Any) -> None:
    for statement in _UNDO[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0011_overwritten_agent_states")]
    operations = [migrations.RunPython(_guard, _unguard)]
