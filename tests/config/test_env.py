"""Settings from the environment: an invalid value stops the start with one clear line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env

# Each of another kind: brackets, port, password, and what begins with nothing after it.
BROKEN = ["http://[::1", "https://h:99999", "https://h:x", "https://u:p@h", "https://h?", "https://h#"]
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "value", ["https://chat.example.org", "http://127.0.0.1:8000/", "http://[::1]:8000", "http://[2001:db8::1]"]
)
def test_a_public_address_is_scheme_and_host(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("STILLHERE_PUBLIC_URL", value)
    assert env.origin("PUBLIC_URL") == value.rstrip("/")


@pytest.mark.parametrize(
    "value", ["chat.example.org", "https://", "https://example.org/chat", "https://example.org?a=b", "ftp://x", *BROKEN]
)
def test_a_public_address_of_another_kind_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("STILLHERE_PUBLIC_URL", value)
    with pytest.raises(ImproperlyConfigured, match="STILLHERE_PUBLIC_URL must"):
        env.origin("PUBLIC_URL")


def told_by_a_start(**settings: str) -> tuple[str, str]:
    """Where a server with these settings would be and by which names, and what it says against them."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("STILLHERE_")}
    variables = {f"STILLHERE_{name}": value for name, value in settings.items()}
    code = "from django.conf import settings; print(settings.PUBLIC_URL, *settings.ALLOWED_HOSTS)"
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", code]
    done = subprocess.run(command, cwd=ROOT, env={**inherited, **variables}, capture_output=True, text=True, check=False)
    return done.stdout.strip(), done.stderr


def test_an_ipv6_address_is_put_in_brackets(tmp_path: Path) -> None:
    for host in ("2001:db8::1", "[2001:db8::1]"):
        address, said = told_by_a_start(HOST=host, PORT="8123", DATA_DIR=str(tmp_path))
        assert (address.split()[0], said) == ("http://[2001:db8::1]:8123", "")
        assert "[2001:db8::1]" in address.split()[1:]


def test_a_setting_that_cannot_be_is_told_in_a_line(tmp_path: Path) -> None:
    address, said = told_by_a_start(LOG_LEVEL="loud", DATA_DIR=str(tmp_path))
    assert address == ""
    assert "STILLHERE_LOG_LEVEL must be one of critical, debug, error, fatal, info, warn, warning, not 'loud'." in said
    assert "Traceback" not in said
