"""An upgrade continues from the migrations that a store has. A new store gets at once what comes to an old one step by step."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

type Name = tuple[str, str]


def each_alone() -> dict[Name, set[Name]]:
    """Each migration that replaces no others, with itself and all that it needs. Django records one that replaces others as soon
    as all of these are there."""
    loader = MigrationLoader(None, replace_migrations=False)
    replacing = {name: set(migration.replaces) for name, migration in loader.disk_migrations.items() if migration.replaces}
    needs = {name: set(loader.graph.forwards_plan(name)) for name in loader.disk_migrations.keys() - replacing.keys()}
    return {name: applied | {one for one in replacing if replacing[one] <= applied} for name, applied in needs.items()}


def left_to_do(applied: set[Name], monkeypatch: pytest.MonkeyPatch) -> set[Name]:
    monkeypatch.setattr(MigrationRecorder, "applied_migrations", lambda self: dict.fromkeys(applied))
    executor = MigrationExecutor(connection)
    executor.loader.check_consistent_history(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return {name for migration, _ in plan for name in migration.replaces or [(migration.app_label, migration.name)]}


def test_an_upgrade_that_stopped_anywhere_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = each_alone()
    for name, applied in needs.items():
        assert left_to_do(applied, monkeypatch) == needs.keys() - applied, name


def test_a_new_store_gets_the_tables_of_an_app_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MigrationRecorder, "applied_migrations", lambda self: {})
    executor = MigrationExecutor(connection)
    plan = {(migration.app_label, migration.name) for migration, _ in executor.migration_plan(executor.loader.graph.leaf_nodes())}
    assert {name for app, name in plan if app in {"sessions_app", "memory_app"}} == {
        "0001_squashed_0031_tokens_of_logins", "0001_squashed_0012_words", "0013_run_ends",
    }  # fmt: skip
