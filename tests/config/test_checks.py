"""Settings that would endanger what is stored are named when the server starts."""

from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import connection

from config import sqlite

pytestmark = pytest.mark.django_db


def found() -> set[str | None]:
    return {message.id for message in run_checks()}


def test_nothing_is_wrong_as_it_is_shipped() -> None:
    assert not found() & {"stillhere.E001", "stillhere.E002"}


@pytest.mark.parametrize(
    ("policy", "named"),
    [
        ({}, "stillhere.E001"),
        ({"script-src": ["'self'", "'unsafe-inline'"]}, "stillhere.E002"),
        ({"style-src": ["'unsafe-eval'"]}, "stillhere.E002"),
    ],
)
def test_a_missing_or_unsafe_content_security_policy_is_named(settings: Any, policy: dict[str, Any], named: str) -> None:
    settings.SECURE_CSP = policy
    assert named in found()


@pytest.mark.parametrize(("version", "named"), [((3, 51, 2), True), ((3, 40, 1), True), ((3, 51, 3), False), ((3, 53, 0), False)])
def test_a_sqlite_that_can_damage_its_log_is_named(monkeypatch: pytest.MonkeyPatch, version: Any, named: bool) -> None:
    monkeypatch.setattr(sqlite, "version", lambda: version)
    assert ("stillhere.W001" in found()) == (named and connection.vendor == "sqlite")
