import pytest
from django.contrib.auth.models import User

from memory_app.core import search_sources
from sessions_app.models import Project


@pytest.fixture(autouse=True)
def _time_enough(patient_searches: None) -> None:
    """Tests of the time limits set their own."""


@pytest.fixture
def projects(alice: User) -> list[Project]:
    return [Project.objects.create(owner=alice, path=f"/p/{number}") for number in range(3)]


@pytest.fixture
def index_asked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """As few entries as a test has would be read without the index."""
    monkeypatch.setattr(search_sources, "FIRST_ENTRIES", 0)
