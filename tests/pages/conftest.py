"""What tests of pages share."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.core.cache import caches
from django.test import Client


@pytest.fixture
def page(client: Client, alice: User) -> Client:
    """Alice is signed in."""
    client.force_login(alice)
    return client


@pytest.fixture
def nothing_counted() -> Iterator[None]:
    """Figures that a process keeps are of earlier tests."""
    caches["process"].clear()
    yield
    caches["process"].clear()
