import pytest

from sessions_app.chats.search import message_search, session_search, sources, text_matching


@pytest.fixture(autouse=True)
def _time_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that runs out of its time finds less, which on a busy machine can happen to any. Tests of that set their own."""
    for module, names in (
        (session_search, ("SEARCH_SECONDS", "INDEX_SECONDS")),
        (text_matching, ("SEARCH_SECONDS", "INDEX_SECONDS")),
        (message_search, ("HITS_SECONDS",)),
        (sources, ("SOURCE_SECONDS",)),
    ):
        for name in names:
            monkeypatch.setattr(module, name, 30.0)
