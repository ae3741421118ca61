"""Answers that the server makes, as any frontend asks for them with the module."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.browser.driving import Browser, wait_for
from tests.browser.frontends import Frontend
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
FOLLOW = "chat.on('changed', ({ messages }) => { window.list = messages; });"
ON_DISK = """
    const database = await new Promise((resolve, reject) => {
      const opening = indexedDB.open("stillhere");
      opening.onsuccess = () => resolve(opening.result);
      opening.onerror = () => reject(opening.error);
    });
    const rows = await new Promise((resolve) => {
      const reading = database.transaction("queue").objectStore("queue").getAll();
      reading.onsuccess = () => resolve(reading.result);
    });
    database.close();
    return rows.map(({ kind }) => kind);
"""


@pytest.fixture
def page(browser: Browser, server: LiveServer, alice: User, settings: Any) -> Iterator[Frontend]:
    settings.CHAT_WORD_MS = 10
    yield Frontend(browser, server, alice)
    browser.leave()


def load(page: Frontend) -> None:
    page.load()
    page.browser.run(FOLLOW)


def asked(page: Frontend) -> list[dict[str, Any]]:
    """The requests for answers since the last look."""
    posts = [sent for sent in page.browser.requests() if sent["method"] == "POST" and sent["url"].endswith("/generations")]
    return [json.loads(sent["body"]) for sent in posts]


def answered(page: Frontend) -> dict[str, Any]:
    wait_for(lambda: page.heard("answered"))
    return page.heard("answered")[-1]


def test_a_question_is_answered_live_and_asked_once(page: Frontend) -> None:
    load(page)
    question = page.browser.run("return chat.ask('count to 60');")
    wait_for(lambda: page.texts()[-1].startswith("1 2 3"))
    shown = page.browser.run("return window.list.at(-1);")
    assert (shown["role"], shown["status"]) == ("assistant", "streaming")
    ended = answered(page)
    assert (ended["state"], ended["question"], ended["own"]) == ("complete", question, True)
    assert page.texts() == ["count to 60", " ".join(str(number) for number in range(1, 61))]
    assert page.browser.run("return chat.answering;") is None
    assert len(asked(page)) == 1
    states = [one["answering"] and one["answering"]["state"] for one in page.heard("answering")]
    assert states == ["waiting", "running", None]


@pytest.mark.slow
def test_a_question_that_an_answer_covers_already_is_not_waited_for(page: Frontend) -> None:
    """It was asked again, or together with a later one."""
    load(page)
    question = page.browser.run("return chat.ask('count to 3');")
    first = answered(page)
    page.browser.run("window.heard = []; chat.answer(args[0]);", question)
    again = answered(page)
    assert (again["question"], again["message"], again["state"]) == (question, first["message"], "complete")
    assert page.browser.run("return chat.answering;") is None
    assert page.texts() == ["count to 3", "1 2 3"]


def test_a_question_during_another_s_answer_leaves_neither_without_its_end(page: Frontend) -> None:
    load(page)
    first = page.browser.run("return chat.ask('count to 60');")
    wait_for(lambda: page.texts()[-1].startswith("1 2 3"))
    second = page.browser.run("return chat.ask('count to 3');")
    wait_for(lambda: len(page.heard("answered")) == 2, 25)
    assert [(one["question"], one["state"]) for one in page.heard("answered")] == [(first, "complete"), (second, "complete")]
    assert page.browser.run("return chat.answering === null;")


def test_offline_the_question_is_on_the_disk_at_once_and_asked_later(page: Frontend) -> None:
    load(page)
    page.say("m1", "Hello")
    page.settle()
    page.browser.offline()
    page.browser.run("chat.ask('count to 3');")
    wait_for(lambda: page.browser.run(ON_DISK) == ["changes", "ask"])
    assert page.browser.run("return chat.answering.state;") == "waiting"
    page.browser.online()
    assert answered(page)["state"] == "complete"
    assert page.texts() == ["Hello", "count to 3", "1 2 3"]
    assert len({body["id"] for body in asked(page)}) == 1


@pytest.mark.slow
def test_what_was_asked_before_there_was_a_session_outlives_its_page(page: Frontend) -> None:
    load(page)
    page.browser.offline()
    page.browser.run("chat.ask('count to 3');")
    wait_for(lambda: page.browser.run(ON_DISK) == ["create", "changes", "ask"])
    page.browser.online()
    load(page)
    wait_for(lambda: page.texts() == ["count to 3", "1 2 3"])


def test_it_is_stopped_and_continued(page: Frontend) -> None:
    load(page)
    page.browser.run("chat.ask('count to 300');")
    wait_for(lambda: page.texts()[-1].startswith("1 2 3"))
    assert page.browser.run("return chat.stop();") is True
    assert answered(page)["state"] == "stopped"
    assert page.browser.run("return window.list.at(-1).status;") == "interrupted"
    former = page.texts()[-1]
    assert page.browser.run("return chat.continueAnswer();") is True
    wait_for(lambda: len(page.texts()[-1]) > len(former))
    assert page.texts()[-1].startswith(former)
    page.browser.run("chat.stop();")
    wait_for(lambda: page.browser.run("return chat.answering === null;"))


def test_another_page_attaches_by_itself(page: Frontend) -> None:
    load(page)
    page.browser.run("chat.ask('count to 300');")
    wait_for(lambda: page.texts()[-1].startswith("1 2 3"))
    load(page)
    wait_for(lambda: page.browser.run("return chat.answering?.state;") == "running")
    shown = page.texts()[-1]
    wait_for(lambda: len(page.texts()[-1]) > len(shown))
    page.browser.run("chat.stop();")
    assert answered(page)["state"] == "stopped"


def test_saving_the_list_meanwhile_leaves_the_answer_alone(page: Frontend) -> None:
    load(page)
    page.browser.run("chat.ask('count to 60');")
    wait_for(lambda: page.texts()[-1].startswith("1 2 3"))
    for number in range(5):
        page.browser.run("chat.save(window.list.map((one) => ({ ...one })));")
        page.browser.run("chat.save(window.list.map((one) => ({ ...one, text: one.text.slice(0, 9) })).slice(-1));", number)
    assert answered(page)["state"] == "complete"
    assert page.texts()[-1] == " ".join(str(number) for number in range(1, 61))


def test_a_frontend_s_own_stream_is_not_taken_for_one(page: Frontend) -> None:
    load(page)
    page.say("m1", "Hello")
    page.say("m2", "Half an ans", role="assistant", streaming=True)
    page.settle()
    load(page)
    assert page.browser.run("return chat.answering;") is None
    assert page.browser.run("return chat.continueAnswer('m2');") is False
    page.say("m2", "Half an answer", role="assistant")
    page.settle()
    assert page.texts() == ["Hello", "Half an answer"]
