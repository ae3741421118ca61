"""The chat page: which project it opens, and who answers there."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client


@pytest.fixture
def alice_client(alice: User) -> Client:
    client = Client()
    client.force_login(alice)
    return client


def test_the_page_says_who_answers(alice_client: Client, settings: Any) -> None:
    assert "built-in stand-in" in alice_client.get("/chat/?project=shop").content.decode()
    settings.CHAT_URL, settings.CHAT_MODEL = "http://127.0.0.1:1/v1", "small"
    assert "small" in alice_client.get("/chat/?project=shop").content.decode()


def test_without_an_address_the_last_project_opens(alice_client: Client) -> None:
    assert b"Name a project" in alice_client.get("/chat/").content
    alice_client.post("/api/v1/projects", {"path": "/home/alice/a&b"}, content_type="application/json")
    assert b'href="/chat/?project=%2Fhome%2Falice%2Fa%26b"' in alice_client.get("/chat/").content
    body = {"selected_project": "/home/alice/maps"}
    alice_client.put("/api/v1/app-state?client=chat", body, content_type="application/json")
    assert b'data-project="/home/alice/maps"' in alice_client.get("/chat/").content


def test_a_project_s_path_that_is_too_long_opens_no_other_project(alice_client: Client) -> None:
    page = alice_client.get("/chat/", {"project": "p" * 513})
    assert page.status_code == 422
    assert "A project&#x27;s path has 1 to 512 characters." in page.content.decode()
    assert f'data-project="{"p" * 512}"' in alice_client.get("/chat/", {"project": "p" * 512}).content.decode()
