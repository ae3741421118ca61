from typing import Any

import pytest

from tests.chat import Chat


@pytest.fixture
def chat(api: Any, alice: Any) -> Chat:
    """A new session of alice's."""
    return Chat(api(alice))
