"""A browser has one login cookie for all its pages: a page may say which account it is of."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

RESUME = "/api/v1/resume?project=shop&optional=1"
CREATION = "/api/v1/sessions/11111111-1111-4111-8111-111111111111"


@pytest.fixture
def browser(alice: User) -> Client:
    client = Client()
    client.force_login(alice)
    return client


def test_an_answer_says_whose_login_it_was(browser: Client, alice: User, api: Callable[..., Any]) -> None:
    assert browser.get(RESUME)["Stillhere-Account"] == str(alice.pk)
    assert "Stillhere-Account" not in api(alice).get(RESUME.removeprefix("/api/v1"))
    assert "Stillhere-Account" not in Client().get(RESUME)


def test_what_is_for_somebody_else_is_neither_read_nor_written(browser: Client, alice: User, bob: User) -> None:
    own, other = ({"Stillhere-Account": str(user.pk)} for user in (alice, bob))
    assert browser.get(RESUME, headers=own).status_code == 204
    for answer in (
        browser.get(RESUME, headers=other),
        browser.put(CREATION, {"project": "shop"}, content_type="application/json", headers=other),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "somebody_else")
    assert not alice.projects.exists()
