"""Imports in small pieces."""

from typing import Any

import pytest

from sessions_app.core.storage.paced_writes import Pace
from sessions_app.portability.imports import staging


@pytest.fixture
def short_pieces(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Any) -> None:
    """So that a small file is many pieces, whatever the machine does."""
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(Pace, "begin", lambda self: setattr(self, "rows", 5))
    monkeypatch.setattr(Pace, "end", lambda self: None)
    monkeypatch.setattr(staging, "Pace", lambda: Pace(5))
