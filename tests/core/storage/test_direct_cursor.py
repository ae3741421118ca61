"""Statements that go straight to the driver behave as Django's do."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import Error, IntegrityError, OperationalError, ProgrammingError, connection, transaction
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext

from sessions_app.core.storage.direct_cursor import DirectCursor
from sessions_app.core.storage.sql import execute, fetch_row, fetch_rows, fresh_cursor, write_later
from tests.support.databases import ON_POSTGRESQL

pytestmark = pytest.mark.django_db

_NAMES = "SELECT username FROM auth_user WHERE username LIKE %s ORDER BY username"


@pytest.fixture(params=[fresh_cursor, connection.cursor], ids=["ours", "Django's"])
def cursor(request: pytest.FixtureRequest, db: None) -> Iterator[Any]:
    make: Callable[[], Any] = request.param
    with make() as opened:
        yield opened


def test_it_is_in_use(cursor: Any) -> None:
    if ON_POSTGRESQL and not isinstance(cursor, DirectCursor):
        pytest.skip("there Django's own statements keep Django's cursor")
    assert type(cursor) is DirectCursor


@pytest.mark.parametrize("parameters", [["50%", 7], ("50%", 7)], ids=["list", "tuple"])
def test_parameters_of_lists_and_tuples(cursor: Any, parameters: Any) -> None:
    cursor.execute("SELECT %s || '%%', %s" if not ON_POSTGRESQL else "SELECT %s::text || '%%', %s::int", parameters)
    assert [tuple(row) for row in cursor.fetchall()] == [("50%%", 7)]


def test_parameters_by_name_and_none_at_all(cursor: Any) -> None:
    cursor.execute("SELECT %(word)s" if not ON_POSTGRESQL else "SELECT %(word)s::text", {"word": "a"})
    assert cursor.fetchone() == ("a",)
    assert cursor.fetchone() is None
    cursor.execute("SELECT '50%'")
    assert cursor.fetchone() == ("50%",)


def test_many_rows_from_a_list_and_from_a_generator(cursor: Any, alice: User) -> None:
    statement = "UPDATE auth_user SET first_name = %s WHERE id = %s"
    for rows in ([["a", 0], ["b", alice.id]], [("c", alice.id)], [], ((name, alice.id) for name in "de")):
        cursor.executemany(statement, rows)
    alice.refresh_from_db()
    assert alice.first_name == "e"


def test_errors_are_those_of_django(cursor: Any, alice: User) -> None:
    taken = "INSERT INTO auth_user (id) VALUES (%s)"
    wrong: list[tuple[Callable[..., Any], str, Any, tuple[type[Exception], ...]]] = [
        (cursor.execute, taken, [alice.id], (IntegrityError,)),
        (cursor.executemany, taken, [[alice.id]], (IntegrityError,)),
        (cursor.execute, "SELECT nothing FROM nowhere WHERE a = %s", [1], (OperationalError, ProgrammingError)),
        (cursor.executemany, "UPDATE nowhere SET a = %s", [[1]], (OperationalError, ProgrammingError)),
    ]
    for run, statement, parameters, errors in wrong:
        with pytest.raises(errors) as raised, transaction.atomic():
            run(statement, parameters)
        assert raised.value.__cause__ is not None


@pytest.mark.parametrize("read", ["fetchone", "fetchall"])
def test_errors_while_rows_are_read_are_those_of_django(cursor: Any, read: str) -> None:
    cursor.execute("SELECT 1")
    cursor.close()
    with pytest.raises(Error) as raised:
        getattr(cursor, read)()
    assert raised.value.__cause__ is not None


def test_nothing_runs_in_a_transaction_that_has_failed(cursor: Any) -> None:
    with transaction.atomic():
        transaction.set_rollback(True)
        with pytest.raises(TransactionManagementError):
            cursor.execute("SELECT 1", [])
        with pytest.raises(TransactionManagementError):
            cursor.executemany("SELECT %s", [[1]])


def test_who_counts_statements_sees_all_of_them(alice: User) -> None:
    """Also where the cursor is one that is kept."""
    fetch_rows(_NAMES, ["al%"])
    with CaptureQueriesContext(connection) as seen:
        assert [tuple(row) for row in fetch_rows(_NAMES, ["al%"])] == [("alice",)]
        execute("UPDATE auth_user SET first_name = %s WHERE id = %s", ["a", alice.id])
        write_later("UPDATE auth_user SET last_name = %s WHERE id = %s", [["b", alice.id]])
    assert len(seen) == 3


def test_what_is_hung_into_the_connection_sees_them_too(alice: User) -> None:
    seen: list[tuple[str, bool]] = []

    def note(run: Callable[..., Any], statement: str, parameters: Any, many: bool, context: Any) -> Any:
        seen.append((statement.split()[0], many))
        return run(statement, parameters, many, context)

    with connection.execute_wrapper(note):
        assert fetch_row(_NAMES, ["al%"])[0] == "alice"
        write_later("UPDATE auth_user SET last_name = %s WHERE id = %s", [["b", alice.id]])
    fetch_row(_NAMES, ["al%"])
    assert seen == [("SELECT", False), ("UPDATE", True)]
