import pytest


@pytest.fixture(autouse=True)
def _time_enough(patient_searches: None) -> None:
    """Tests of the time limits set their own."""
