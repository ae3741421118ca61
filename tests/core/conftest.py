import threading

import pytest
from django.db.backends.base.base import BaseDatabaseWrapper


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The threads that committed, as they do."""
    found: list[str] = []
    commit = BaseDatabaseWrapper.commit

    def counted(self: BaseDatabaseWrapper) -> None:
        found.append(threading.current_thread().name)
        commit(self)

    monkeypatch.setattr(BaseDatabaseWrapper, "commit", counted)
    return found
