import uuid

import pytest
from django.core.cache import caches


@pytest.fixture(autouse=True)
def nobody_guessed_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters of this test's own: tests that run beside it share the Redis, so to clear it would clear theirs."""
    for name in ("default", "logins"):
        monkeypatch.setattr(caches[name], "key_prefix", uuid.uuid4().hex)
