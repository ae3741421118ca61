"""A server starts without the libraries that only some stores use: each takes megabytes, and a part of a second."""

import subprocess
import sys

import pytest

LOADED = """
import config.http.asgi, sys
from django.urls import get_resolver

get_resolver().url_patterns
print(*{name.split(".")[0] for name in sys.modules})
"""
FOR_SOME = {"boto3", "httpx", "jwt", "markdown_it", "mcp", "mcp_types", "minify", "cryptography"}


@pytest.mark.usefixtures("db")
def test_a_server_starts_without_what_only_some_stores_use() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "ninja" in loaded
    assert loaded & FOR_SOME == set()
