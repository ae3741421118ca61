"""Answers that the real server makes, of an endpoint on loopback: whole, or with all that came; nobody has to watch."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.generation.generations.asked import Asked
from tests.generation.generations.model_endpoint import ModelEndpoint, words
from tests.generation.stream_readers import StreamReader
from tests.support.machine_speed import allowed
from tests.support.server_process import Api, ServerProcess
from tests.support.stores import Store
from tests.support.suite import is_patient

# Starting a server takes a while on a machine that is busy.
pytestmark = pytest.mark.timeout(300)
# More than one owner may have at once, so that the others of ana's wait.
GENERATIONS = 4


@pytest.fixture(scope="module")
def model() -> Iterator[ModelEndpoint]:
    with ModelEndpoint() as model:
        yield model


@pytest.fixture(scope="module")
def server(first_store: Store, model: ModelEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    settings = {"CHAT_URL": model.url, "CHAT_KEY": "secret-of-the-endpoint", "GENERATIONS": str(GENERATIONS)}
    with first_store.copied(tmp_path_factory.mktemp("runner")) as store, ServerProcess(store, **settings) as server:
        yield server


@pytest.fixture
def api(server: ServerProcess) -> Iterator[Api]:
    api = server.api(server.key("ana"))
    yield api
    api.close()


def reader_of(server: ServerProcess, asked: Asked) -> StreamReader:
    return StreamReader(server.url, server.key("ana"), f"/streams/{asked.now['stream']}")


def test_an_answer_is_streamed_and_saved(server: ServerProcess, api: Api, model: ModelEndpoint, path: str) -> None:
    asked = Asked(api, path, "say 30 slow", model="large")
    with reader_of(server, asked) as reader:
        reader.wait_for_chunks(5)
        # At least every two seconds, while it goes on.
        asked.wait(lambda: 0 < len(asked.read()["text"]) < len(words(30)))
        assert asked.read()["status"] == "streaming"
        assert reader.wait_for_end() == "complete"
    assert "".join(reader.chunks) == words(30)
    message = asked.read()
    assert (message["text"], message["status"], message["metadata"]) == (words(30), "complete", {"model": "large"})
    assert asked.ended() == "complete"
    (body,) = model.asked_about("say 30 slow")
    assert (body["model"], body["path"], body["key"]) == ("large", "/v1/chat/completions", "Bearer secret-of-the-endpoint")


def test_a_stopped_one_keeps_what_came(server: ServerProcess, api: Api, path: str) -> None:
    asked = Asked(api, path, "say 300")
    with reader_of(server, asked) as one, reader_of(server, asked) as other:
        one.wait_for_chunks(10)
        asked.step("stop")
        assert (one.wait_for_end(), other.wait_for_end()) == ("interrupted", "interrupted")
    assert asked.ended() == "stopped"
    assert asked.read()["status"] == "interrupted"
    assert asked.read()["text"] == "".join(one.chunks) == "".join(other.chunks)


def test_a_stream_that_somebody_ended_does_not_end_its_answer(server: ServerProcess, api: Api, path: str) -> None:
    asked = Asked(api, path, "say 40")
    with reader_of(server, asked) as reader:
        reader.wait_for_chunks(3)
        api.call("POST", f"/streams/{asked.now['stream']}/end", {"interrupted": True})
        assert reader.wait_for_end() == "interrupted"
    assert (asked.ended(), asked.read()["text"], asked.read()["status"]) == ("complete", words(40), "complete")


def test_what_broke_off_is_not_asked_twice_and_can_be_continued(
    server: ServerProcess, api: Api, model: ModelEndpoint, path: str
) -> None:
    asked = Asked(api, path, "say 20 break 5")
    assert asked.ended() == "interrupted"
    assert (asked.read()["text"], asked.now["error"]) == (words(5), "The answer broke off.")
    assert len(model.asked_about("say 20 break 5")) == 1
    asked.step("continue")
    with reader_of(server, asked) as reader:
        assert reader.wait_for_end() == "complete"
    assert "".join(reader.chunks) == asked.read()["text"] == words(20)
    assert asked.ended() == "complete"


def test_a_busy_endpoint_is_asked_again(api: Api, model: ModelEndpoint, path: str) -> None:
    asked = Asked(api, path, "busy 1")
    assert asked.ended() == "complete"
    assert (asked.read()["text"], len(model.asked_about("busy 1"))) == (words(3), 2)


@pytest.mark.parametrize(("question", "status"), [("refuse 500", 500), ("refuse 400", 400), ("redirect", 307)])
def test_a_refusal_is_a_failure_that_says_so(api: Api, model: ModelEndpoint, path: str, question: str, status: int) -> None:
    asked = Asked(api, path, question)
    assert (asked.ended(), asked.now["error"]) == ("failed", f"The endpoint answered with HTTP {status}.")
    assert [body["path"] for body in model.asked_about(question)] == ["/v1/chat/completions"]


def test_calls_of_tools_are_kept_and_not_run(server: ServerProcess, api: Api, path: str) -> None:
    asked = Asked(api, path, "call")
    assert asked.ended() == "complete"
    call = {"type": "tool_call", "id": "c1", "name": "find", "input": {"q": "cat"}}
    assert asked.read()["parts"] == [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": words(3)}, call]
    with reader_of(server, asked) as reader:
        assert reader.wait_for_chunks(5)[-2:] == [{"type": "reasoning", "text": "hm"}, call]


def test_characters_that_no_database_holds_end_nothing(server: ServerProcess, api: Api, path: str) -> None:
    asked = Asked(api, path, "odd")
    with reader_of(server, asked) as reader:
        assert reader.wait_for_end() == "complete"
    assert asked.ended() == "complete"
    assert asked.read()["text"] == "".join(reader.chunks) == f"{words(3)}a\ufffdb \ufffd."


@pytest.mark.slow
def test_a_cleared_session_ends_its_answer(server: ServerProcess, api: Api, path: str) -> None:
    asked = Asked(api, path, "say 300")
    with reader_of(server, asked) as reader:
        reader.wait_for_chunks(3)
        api.call("POST", f"/sessions/{asked.session}/clear", {})
        assert reader.wait_for_end() == "interrupted"
    assert (asked.ended(), asked.now["error"]) == ("interrupted", "The session was cleared while its answer was made.")


@pytest.mark.timed
def test_many_of_one_do_not_delay_another(server: ServerProcess, api: Api, path: str) -> None:
    asked = [Asked(api, f"{path}/{number}", "say 2000") for number in range(50 if is_patient() else 20)]
    theirs = server.api(server.key("ben"))
    began = time.monotonic()
    quick = Asked(theirs, path, "say 3")
    with StreamReader(server.url, server.key("ben"), f"/streams/{quick.now['stream']}") as reader:
        reader.wait_for_chunks(1)
    took = time.monotonic() - began
    theirs.close()
    for one in asked:
        one.step("stop")
    assert {(one.ended(), one.now["error"]) for one in asked} == {("stopped", None)}
    assert took < allowed(1), took


@pytest.mark.scale
@pytest.mark.parametrize("times", [1, pytest.param(20, marks=pytest.mark.prove)])
def test_a_killed_server_loses_a_quarter_of_a_second_at_most(
    server: ServerProcess, model: ModelEndpoint, path: str, times: int
) -> None:
    for number in range(times):
        api = server.api(server.key("ana"))
        question = f"say {200 + number} slow"
        before = len(model.asked_about(question))
        asked = Asked(api, f"{path}/{number}", question)
        with reader_of(server, asked) as reader:
            reader.wait_for_chunks(5 + 7 * number % 20)
            server.kill()
            reader.wait(reader.ended.is_set)
        api.close()
        server.start(GENERATIONS="2")
        asked.api = api = server.api(server.key("ana"))
        assert asked.ended() == "interrupted"
        kept = asked.read()["text"]
        assert kept.startswith("".join(reader.chunks))
        assert words(200).startswith(kept)
        assert len(model.asked_about(question)) == before + 1, "asked twice"
        asked.step("continue")
        with reader_of(server, asked) as again:
            again.wait_for_chunks(2)
        asked.step("stop")
        assert asked.ended() == "stopped"
        assert asked.read()["text"].startswith(kept)
        assert words(220).startswith(asked.read()["text"])
        api.close()
    _is_handed_over_in_order(server, path)


def _is_handed_over_in_order(server: ServerProcess, path: str) -> None:
    """A server that is told to stop marks what it makes; what only waited is made by the next one. Of two places each owner has
    one."""
    api = server.api(server.key("ana"))
    running, waiting = (Asked(api, f"{path}/{name}", f"say {count}") for name, count in (("running", 300), ("waiting", 7)))
    running.wait(lambda: running.read()["text"] != "")
    server.stop()
    api.close()
    server.start(GENERATIONS=str(GENERATIONS))
    running.api = waiting.api = api = server.api(server.key("ana"))
    assert (running.ended(), running.now["error"]) == ("interrupted", "The server that made it ended.")
    assert running.read()["text"] != ""
    assert (waiting.ended(), waiting.read()["text"]) == ("complete", words(7))
    api.close()


def test_the_log_names_no_key(server: ServerProcess) -> None:
    assert "secret-of-the-endpoint" not in Path(server._log).read_text()
