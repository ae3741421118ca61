"""Every response has the security headers: no foreign scripts, no framing."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client

from config.http.middleware import PERMISSIONS_POLICY
from tests.support.example_objects import world_of
from tests.support.files import closed_at_last
from tests.support.routes import API, PAGES

ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": PERMISSIONS_POLICY,
}
FORBIDDEN = ("unsafe-inline", "unsafe-eval", "*", "http:", "https:", "blob:")
OTHERS = ("/nowhere/", "/api/v1/nowhere", "/api/v1/docs", "/api/v1/openapi.json", "/healthz", "/readyz", "/login/", "/robots.txt")


def addresses() -> Iterator[str]:
    yield from OTHERS
    yield from ("/admin/", "/admin/login/", "/admin/password_change/")
    for model in admin.site._registry:
        yield f"/admin/{model._meta.app_label}/{model._meta.model_name}/"


def assert_guarded(answer: Any, address: str) -> None:
    for name, value in ALWAYS.items():
        assert answer.get(name) == value, f"{address}: {name}"
    policy = dict(part.strip().partition(" ")[::2] for part in answer["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'", address
    assert policy["form-action"] == "'self'", address
    for directive, sources in policy.items():
        for source in sources.split():
            assert not any(word in source for word in FORBIDDEN), f"{address}: {directive} {source}"
            assert source in {"'self'", "'none'", "data:"} or source.startswith("'nonce-"), f"{address}: {directive} {source}"


@pytest.fixture
def signed_in(alice: User) -> Client:
    User.objects.filter(pk=alice.pk).update(is_staff=True, is_superuser=True)
    client = Client()
    client.force_login(User.objects.get(pk=alice.pk))
    return client


def test_every_answer_is_guarded(signed_in: Client, api: Callable[..., Any], alice: User) -> None:
    world = world_of(api, alice)
    rows = [row for row in API.values() if row.method == "GET"] + [row for row in PAGES.values() if row and row.method == "GET"]
    for row, prefix in [(row, "/api/v1" if row in API.values() else "") for row in rows]:
        address = prefix + world.address(row)
        for client in (signed_in, Client()):
            with closed_at_last(client.get(address)) as answer:
                assert_guarded(answer, address)
    for address in addresses():
        assert_guarded(signed_in.get(address), address)


def test_refused_writes_are_guarded(signed_in: Client) -> None:
    refusing = Client(enforce_csrf_checks=True)
    refusing.cookies = signed_in.cookies
    for address in ("/api/v1/projects", "/keys/", "/admin/login/", "/login/"):
        answer = refusing.post(address, {})
        assert answer.status_code == 403
        assert_guarded(answer, address)


def test_an_answer_without_content_names_no_type(api: Callable[..., Any], alice: User) -> None:
    """By Django's own it would count as a page. Deletes last, and what others are in at the end."""
    world, client = world_of(api, alice), api(alice).client
    reads = ["/api/v1" + world.address(row) for row in API.values() if row.method == "GET"]
    deletes = ["/api/v1" + world.address(row) for row in reversed(API.values()) if row.method == "DELETE"]
    seen = set[tuple[int, str]]()

    def ask(method: str, address: str, **headers: str) -> str:
        with closed_at_last(client.generic(method, address, headers=headers)) as answer:
            if answer.status_code in {204, 304}:
                assert "Content-Type" not in answer, (method, address)
                seen.add((answer.status_code, address))
            return str(answer.get("ETag", ""))

    for address in reads:
        if etag := ask("GET", address):
            ask("GET", address, **{"If-None-Match": etag})
    for address in deletes:
        ask("DELETE", address)
    found = Counter(status for status, _ in seen)
    assert found[304] >= 8, seen
    assert found[204] >= 5, seen
