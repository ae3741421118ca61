"""Starting, stopping and continuing generations, as far as no runner is needed: what is saved, and what is refused."""

from datetime import timedelta
from typing import Any

import orjson
import pytest

from generation_app.generations.claims import LeaseWatch, claim, end_abandoned, renew
from generation_app.generations.queries import Question, question_of
from generation_app.models import Generation, Stream
from generation_app.streams.services import append_chunks
from generation_app.streams.silent_streams import interrupt_silent
from sessions_app.core.public_names import now
from sessions_app.models import Caller
from tests.generation.generations.steps import Looking, ask, claimed, started, step
from tests.support.chat import Chat
from tests.support.saves import refusal

pytestmark = pytest.mark.django_db


def asked(question: Question) -> Any:
    """The messages as the endpoint reads them."""
    return orjson.loads(orjson.dumps(question.messages))


def test_the_question_and_an_empty_answer_are_saved(chat: Chat) -> None:
    made = started(chat)
    question, answer = chat.read()["messages"]
    assert (question["role"], question["text"], question["status"]) == ("user", "why?", "complete")
    assert (answer["id"], answer["role"], answer["text"], answer["status"]) == (made["message"], "assistant", "", "streaming")
    assert (made["state"], made["error"], made["ended_at"]) == ("queued", None, None)
    assert chat.get(f"generations/{made['generation']}").json() == made
    assert chat.post_plain("streams", {"message": made["message"]}).json()["stream"] == made["stream"]


def test_one_at_a_time(chat: Chat) -> None:
    made = started(chat, message={"id": "q1"})
    again = ask(chat, "and?")
    assert refusal(again) == (409, "generation_running")
    assert again.json()["error"]["details"]["generation"] == made["generation"]
    assert started(chat, message={"id": "q1"})["generation"] == made["generation"]
    assert len(chat.read()["messages"]) == 2


def test_the_newest_message_is_answered_if_none_is_sent(chat: Chat) -> None:
    assert refusal(chat.post_plain("generations", {})) == (422, "nothing_to_answer")
    chat.say("q1", "first")
    chat.say("q2", "second")
    assert chat.post_plain("generations", {}).status_code == 202
    assert [message["content"] for message in asked(question_of(claimed()))][1:] == ["first", "second"]


def test_what_the_model_is_told(chat: Chat) -> None:
    chat.say("q1", "first")
    started(chat, "second", model="m", instructions="Be brief.")
    question = question_of(claimed())
    assert question.model == "m"
    assert question.messages[0] == {"role": "system", "content": "Be brief."}
    assert len(question.messages) == 3


def test_what_is_behind_after_is_removed_first(chat: Chat) -> None:
    for number in range(3):
        chat.say(f"q{number}", f"text {number}")
    chat.post_plain("generations", {"after": "q0"})
    assert chat.texts() == ["text 0", ""]
    assert {message["text"] for message in chat.removed()} == {"text 1", "text 2"}
    assert len(question_of(claimed()).messages) == 2


def test_what_cannot_be_saved_is_refused_whole(chat: Chat) -> None:
    chat.say("q1", "first")
    refused: list[dict[str, Any]] = [{"message": {"text": "x" * 100_001}}, {"message": {}}, {"after": "unknown"}]
    for body in refused:
        answer = chat.post_plain("generations", body)
        assert answer.status_code == 422, answer.content
    assert chat.post_plain("generations", {"messages": []}).status_code == 422
    assert (chat.texts(), Generation.objects.count(), Stream.objects.count()) == (["first"], 0, 0)


def test_a_queued_one_stops_at_once(chat: Chat) -> None:
    made = started(chat)
    stopped = step(chat, made, "stop").json()
    assert (stopped["state"], stopped["stream"]) == ("stopped", made["stream"])
    assert chat.read()["messages"][1]["status"] == "interrupted"
    assert step(chat, made, "stop").json() == stopped
    assert claim(worker="w", running={}, share=8) is None


def test_a_running_one_is_asked_to_stop(chat: Chat) -> None:
    made = started(chat)
    generation = claimed()
    assert renew(worker="w", held={generation.id}) == ({generation.id}, set())
    step(chat, made, "stop")
    assert renew(worker="w", held={generation.id}) == ({generation.id}, {generation.id})
    assert renew(worker="other", held={generation.id}) == (set(), set())


def test_what_has_ended_badly_can_be_continued(chat: Chat) -> None:
    made = started(chat, "first")
    assert step(chat, made, "continue").json()["state"] == "queued"
    step(chat, made, "stop")
    chat.ops({"op": "patch", "id": made["message"], "text": "half an"}, base_rev=99)
    again = step(chat, made, "continue").json()
    assert again["stream"] != made["stream"]
    assert chat.get("stream").content.startswith(f'id: {again["stream"]}:0\ndata: "half an"\n'.encode())
    assert chat.read()["messages"][1]["status"] == "streaming"
    question = question_of(claimed())
    assert question.text == "half an"
    assert [message["role"] for message in asked(question)] == ["system", "user", "assistant", "user"]


def test_each_is_claimed_once_and_the_fewest_come_first(api: Any, alice: Any, bob: Any) -> None:
    chats = [Chat(api(alice), project=f"/p{number}") for number in range(3)]
    theirs = Chat(api(bob))
    names = [started(one)["generation"] for one in [*chats, theirs]]
    assert str(claimed().id) == names[0]
    assert str(claimed(running={alice.pk: 1}).id) == names[3]
    assert str(claimed(running={alice.pk: 1, bob.pk: 1}).id) == names[1]
    assert claim(worker="w", running={alice.pk: 2}, share=2) is None
    assert str(claimed(running={alice.pk: 2}, share=3).id) == names[2]
    assert claim(worker="w", running={}, share=8) is None


def test_what_a_dead_worker_left_is_interrupted_with_all_its_text(chat: Chat, alice: Any) -> None:
    made = started(chat)
    generation = claimed(worker="dead")
    assert generation.stream_id is not None
    chunks = ['"half "', '{"type":"reasoning","text":"x"}', '"an"']
    append_chunks(caller=Caller(alice.pk, "alice"), stream_id=generation.stream_id, offset=0, chunks=chunks)
    worker = Looking()
    assert worker.look_for(9) == 0
    assert worker.look_for(1) == 1
    assert worker.look_for() == 0
    told = chat.get(f"generations/{made['generation']}").json()
    assert (told["state"], told["error"]) == ("interrupted", "The server that made it ended.")
    answer = chat.read()["messages"][1]
    assert (answer["text"], answer["status"]) == ("half an", "interrupted")
    assert Stream.objects.get().state == "interrupted"


def test_the_stream_of_one_that_waits_or_thinks_is_not_silent(chat: Chat) -> None:
    started(chat)
    Stream.objects.update(written_at=now() - timedelta(hours=1))
    assert interrupt_silent() == 0
    generation = claimed()
    assert interrupt_silent() == 0
    Generation.objects.filter(id=generation.id).update(ended_at=now())
    assert interrupt_silent() == 1


def test_the_only_worker_need_not_wait_for_a_lease(chat: Chat) -> None:
    started(chat)
    claimed(worker="dead")
    assert end_abandoned(worker="w", watch=LeaseWatch(), only_worker=True) == 1


def test_an_answer_that_was_removed_is_not_continued(chat: Chat) -> None:
    made = started(chat)
    step(chat, made, "stop")
    chat.ops({"op": "delete", "id": made["message"]}, base_rev=chat.read()["session"]["rev"])
    assert refusal(step(chat, made, "continue")) == (409, "nothing_to_continue")
    assert Generation.objects.get().state == "stopped"


def test_an_answer_of_another_branch_is_not_continued(chat: Chat) -> None:
    chat.say("q1", "why?")
    first = chat.post_plain("generations", {"parent_id": "q1"}).json()
    step(chat, first, "stop")
    second = chat.post_plain("generations", {"parent_id": "q1"}).json()
    step(chat, second, "stop")
    assert refusal(step(chat, first, "continue")) == (409, "nothing_to_continue")
    assert step(chat, second, "continue").status_code == 202


@pytest.mark.parametrize("name", ["parent_id", "question"])
def test_a_question_that_was_removed_is_not_answered(chat: Chat, name: str) -> None:
    chat.say("q1", "why?")
    chat.say("q2", "and?")
    chat.ops({"op": "delete", "id": "q1"}, base_rev=2)
    refused = chat.post_plain("generations", {name: "q1"})
    assert refusal(refused) == (422, "nothing_to_answer")
    assert refused.json()["error"]["details"] == {"field": name}
    assert not Generation.objects.exists()


def test_nor_is_one_that_is_sent_and_not_shown(chat: Chat) -> None:
    chat.say("q1", "why?")
    chat.say("q2", "and?")
    chat.ops({"op": "delete", "id": "q1"}, base_rev=2)
    chat.ops({"op": "upsert", "id": "q3", "role": "user", "text": "or?", "parent_id": None})
    for message in ({"id": "q1", "text": "why?"}, {"text": "so?", "parent_id": "q2"}):
        assert refusal(chat.post_plain("generations", {"message": message})) == (422, "nothing_to_answer")
    assert (chat.texts(), Generation.objects.count()) == (["or?"], 0)


def test_a_session_deleted_meanwhile_ends_its_generation(chat: Chat) -> None:
    started(chat)
    claimed(worker="dead")
    chat.api.delete(f"/sessions/{chat.id}")
    assert end_abandoned(worker="w", watch=LeaseWatch(), only_worker=True) == 1
    assert Generation.objects.get().state == "interrupted"


def test_the_same_id_starts_nothing_again(chat: Chat, api: Any, alice: Any) -> None:
    own = {"id": "0b5b5a52-0000-4000-8000-000000000001"}
    made = started(chat, **own)
    step(chat, made, "stop")
    again = started(chat, **own)
    assert (again["generation"], again["state"]) == (made["generation"], "stopped") == (own["id"], "stopped")
    assert len(chat.read()["messages"]) == 2
    assert refusal(ask(Chat(api(alice), project="/other"), **own)) == (409, "id_taken")


def test_another_answer_stands_beside_the_first(chat: Chat) -> None:
    chat.say("q1", "first")
    one = chat.post_plain("generations", {"parent_id": "q1"}).json()
    step(chat, one, "stop")
    chat.say("q2", "second")
    other = chat.post_plain("generations", {"parent_id": "q1"}).json()
    question, answer = chat.read()["messages"]
    assert (question["id"], answer["id"], answer["siblings"]["count"]) == ("q1", other["message"], 2)
    assert [message["content"] for message in asked(question_of(claimed()))][1:] == ["first"]


def test_what_cannot_be_answered_is_refused(chat: Chat) -> None:
    chat.say("q1", "first")
    assert refusal(chat.post_plain("generations", {"parent_id": "q9"})) == (422, "nothing_to_answer")
    assert refusal(ask(chat, parent_id="q1")) == (422, "invalid")
    assert refusal(chat.post_plain("generations", {"question": "q9"})) == (422, "nothing_to_answer")
    assert len(chat.read()["messages"]) == 1


def test_the_session_lists_its_generations(chat: Chat) -> None:
    one = started(chat, "first")
    step(chat, one, "stop")
    two = started(chat, "second")
    listed = [item["generation"] for item in chat.get("generations").json()["items"]]
    assert listed == [two["generation"], one["generation"]]
    (found,) = chat.get(f"generations?message={one['message']}").json()["items"]
    assert (found["generation"], found["state"]) == (one["generation"], "stopped")


def test_the_project_s_instructions_are_told_and_those_of_a_request_replace_them(chat: Chat) -> None:
    chat.say("q0", "zero")
    project = chat.read()["session"]["project_id"]
    for settings in ({"instructions": "Answer in German."}, {"redaction": "off"}):
        assert chat.api.patch(f"/projects/{project}", {"settings": settings}).status_code == 200
    made = started(chat, "first")
    assert question_of(claimed()).messages[0]["content"] == "Answer in German."
    step(chat, made, "stop")
    Generation.objects.update(ended_at=now())
    started(chat, "second", instructions="Be brief.")
    assert question_of(claimed()).messages[0]["content"] == "Be brief."


def test_files_of_a_question_are_told_as_text(chat: Chat) -> None:
    url = "data:text/plain;charset=utf-8,50%25 off"
    parts = [
        {"type": "text", "text": "why?"},
        {"type": "file", "mediaType": "text/plain", "filename": "a.txt", "url": url},
        {"type": "file", "mediaType": "image/png", "filename": "b.png", "file": "sha256:" + "0" * 64},
    ]
    chat.ops({"op": "upsert", "id": "q1", "role": "user", "text": "why?", "parts": parts})
    chat.post_plain("generations", {})
    assert asked(question_of(claimed()))[1]["content"] == "why?\n\na.txt:\n\n50% off\n\n(Attached file: b.png)"


def test_events_say_what_began_and_how_it_ended(chat: Chat) -> None:
    made = started(chat)
    step(chat, made, "stop")
    project = chat.read()["session"]["project_id"]
    events = chat.api.get(f"/projects/{project}/events?since=0").json()["items"]
    told = [event["data"] for event in events if event["type"].startswith("GENERATION_")]
    same = {"generation": made["generation"], "message": made["message"]}
    assert told == [{**same, "state": "queued", "stream": made["stream"]}, {**same, "state": "stopped"}]


def test_a_question_that_an_answer_took_into_account_is_not_answered_again(chat: Chat) -> None:
    chat.say("q1", "first")
    chat.say("q2", "second")
    one = chat.post_plain("generations", {"question": "q1"}).json()
    assert chat.post_plain("generations", {"question": "q2"}).json()["generation"] == one["generation"]
    chat.say("q3", "third")
    assert refusal(chat.post_plain("generations", {"question": "q3"})) == (409, "generation_running")
    Generation.objects.update(ended_at=now(), state="complete")
    assert chat.post_plain("generations", {"question": "q2"}).json()["generation"] == one["generation"]
    two = chat.post_plain("generations", {"question": "q3"}).json()
    assert two["generation"] != one["generation"]
    assert [message["id"] for message in chat.read()["messages"]] == ["q1", "q2", one["message"], "q3", two["message"]]
