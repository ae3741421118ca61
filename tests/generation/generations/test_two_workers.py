"""Two workers make answers, and one of them is killed: those of the other go on, and none is asked for twice."""

from collections.abc import Iterator

import pytest

from tests.generation.generations.asked import Asked
from tests.generation.generations.model_endpoint import ModelEndpoint, words
from tests.support.databases import ON_POSTGRESQL
from tests.support.server_process import ServerProcess
from tests.support.stores import Store

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.scale,
    pytest.mark.skipif(not ON_POSTGRESQL, reason="Several workers need PostgreSQL."),
]
COUNT = 90


@pytest.fixture
def model() -> Iterator[ModelEndpoint]:
    with ModelEndpoint() as model:
        yield model


@pytest.mark.slow
def test_the_other_worker_s_answers_go_on(store: Store, model: ModelEndpoint, path: str) -> None:
    settings = {"CHAT_URL": model.url, "GENERATIONS": "4"}
    with ServerProcess(store, **settings) as killed, ServerProcess(store, **settings) as other:
        apis = [server.api(server.key("ana")) for server in (killed, other)]
        # A worker takes what it is asked for itself first.
        asked = [Asked(apis[number % 2], f"{path}/{number}", f"say {COUNT + number} slow") for number in range(4)]
        for one in asked:
            one.wait(lambda one=one: one.read()["text"] != "")  # type: ignore[misc]
        killed.kill()
        for one in asked:
            one.api = apis[1]
        ends = [one.ended() for one in asked]
        assert sorted(set(ends)) == ["complete", "interrupted"], ends
        for number, (one, end) in enumerate(zip(asked, ends, strict=True)):
            whole, text = words(COUNT + number), one.read()["text"]
            assert text == whole if end == "complete" else text and whole.startswith(text)
            assert len(model.asked_about(f"say {COUNT + number} slow")) == 1
        for api in apis:
            api.close()
