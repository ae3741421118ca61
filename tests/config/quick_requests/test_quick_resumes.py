"""Resumes that do not go through Django get the answer that Django would have given, and every refusal is Django's."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from config.http.quick.resumes import QuickResumes
from sessions_app.accounts import api_keys
from sessions_app.core.callers import caller_of_user
from sessions_app.frontends.resume import api as resume_api
from sessions_app.models import ApiKey
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

OF_THIS_ANSWER = {"x-request-id", "date"}
COOKIE = {"Cookie": "a=b"}
PLACE = "/home/alice/Läden & Söhne"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each resume: was it answered without Django?"""
    told: list[bool] = []
    run = QuickResumes.run

    def watched(self: QuickResumes, request: Any) -> Any:
        answered = run(self, request)
        told.append(answered is not None)
        return answered

    monkeypatch.setattr(QuickResumes, "run", watched)
    return told


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    chat = Chat(api(alice), project=PLACE)
    chat.say("m1", "words")
    return chat


@pytest.fixture
def client(server: LiveServer, chat: Chat, alice: User, quick: list[bool]) -> Iterator[httpx.Client]:
    """Which the server has seen resume once."""
    secret = api_keys.create_key(caller=caller_of_user(alice)).secret
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {secret}"}, timeout=30) as client:
        assert resume(client).status_code == 200
        quick.clear()
        yield client


def resume(by: httpx.Client, project: str = PLACE, *, headers: dict[str, str] | None = None, **more: str) -> httpx.Response:
    return by.get("/api/v1/resume", params={"project": project, **more}, headers=headers)


def headers_of(answer: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name not in OF_THIS_ANSWER}


def with_key(alice: User, **key: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {api_keys.create_key(caller=caller_of_user(alice), **key).secret}"}


def test_the_answer_is_the_one_that_django_gives(
    client: httpx.Client, chat: Chat, quick: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    announced: list[Any] = []
    monkeypatch.setattr(resume_api, "announce_restored", lambda **told: announced.append(told["resume"].session.id))
    first, by_django = resume(client), resume(client, headers=COOKIE)
    chat.say("m2", "more words")
    second = resume(client)
    assert quick == [True, False, True]
    assert (first.content, headers_of(first)) == (by_django.content, headers_of(by_django))
    assert [message["text"] for message in second.json()["messages"]] == ["words", "more words"]
    assert second.headers["etag"] != first.headers["etag"]
    assert [str(session) for session in announced] == [chat.id] * 3


def test_conditions_and_parameters_are_django_s(client: httpx.Client, quick: list[bool]) -> None:
    etag = resume(client).headers["etag"]
    assert resume(client, headers={"If-None-Match": etag}).status_code == 304
    assert resume(client, client="tablet").json()["app_state"]["client"] == "tablet"
    assert resume(client, unknown="1").status_code == 422
    assert resume(client, "x" * 513).status_code == 422
    assert client.get("/api/v1/resume").status_code == 422
    assert quick == [True] + [False] * 5


def test_refusals_are_django_s(client: httpx.Client, alice: User, quick: list[bool]) -> None:
    nowhere = resume(client, "/nowhere\0")
    assert (nowhere.status_code, nowhere.json()["error"]["code"]) == (404, "nothing_saved")
    assert resume(client, headers=with_key(alice, scopes=["write"])).status_code == 403
    limited = resume(client, headers=with_key(alice, project_path="/other"))
    assert (limited.status_code, limited.json()) == (404, resume(client, "/nowhere").json())
    ApiKey.objects.update(revoked_at=timezone.now())
    assert resume(client).status_code == 401
    assert not any(quick)


def test_each_counts_once(client: httpx.Client, settings: Any, quick: list[bool]) -> None:
    """One that Django has to refuse, too. The first one was counted before."""
    settings.RATE_REQUESTS = 4
    answers = [resume(client), resume(client, "/nowhere"), resume(client), resume(client)]
    assert [answer.status_code for answer in answers] == [200, 404, 200, 429]
    assert quick == [True, False, True, False]
