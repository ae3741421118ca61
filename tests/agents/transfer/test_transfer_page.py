"""Transfer by hand: the form, its preview, and that the result equals the preview."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from sessions_app.models import ChatSession, Event
from tests.support.chat import Chat

PLAN = {"title": "Ship", "steps": [{"id": "s1", "title": "Build", "status": "completed"}]}
TODOS = [{"content": "Read", "status": "completed"}, {"content": "Mend", "status": "pending"}]


@pytest.fixture
def page(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def source(chat: Chat) -> Chat:
    chat.api.patch(f"/sessions/{chat.id}", {"title": "The <source>"})
    chat.say("m1", "one", opening_step="brainstorm")
    chat.api.put(f"/sessions/{chat.id}/ai-states/claude", {"todos": TODOS, "working_notes": "mind"})
    chat.api.put(f"/sessions/{chat.id}/ai-states/gemini", {"working_notes": "hers"})
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"plan": PLAN})
    return chat


@pytest.fixture
def target(source: Chat) -> Chat:
    target = Chat(source.api, project="/home/alice/other")
    target.api.patch(f"/sessions/{target.id}", {"title": "A target"})
    return target


def fresh(page: Client, source: Chat) -> dict[str, Any]:
    """The form as it opens, with all that is checked."""
    shown = page.get(f"/sessions/{source.id}/transfer/").content.decode()
    hidden = dict(re.findall(r'name="(epoch|token)" value="([^"]*)"', shown))
    radios = dict(re.findall(r'type="radio" name="(\w+)" value="([^"]*)" checked', shown))
    return {**hidden, **radios, "ai": re.findall(r'name="ai" value="([^"]*)" checked', shown)}


def send(page: Client, source: Chat, form: dict[str, Any], act: str = "transfer", **headers: str) -> Any:
    return page.post(f"/sessions/{source.id}/transfer/", {**form, "act": act}, headers=headers)


def rows(reply: Any) -> dict[str, tuple[str, str, str]]:
    """The preview: what it is about → how, now, then."""
    found = re.findall(r'<th scope="row">(.*?) <span class="chip \w*">(.*?)</span></th><td>(.*?)</td><td>(.*?)</td>', text(reply))
    return {what: (how, now, then) for what, how, now, then in found}


def text(reply: Any) -> str:
    return unescape(reply.content.decode())


def ai(chat: Chat, ai_id: str = "claude") -> Any:
    return chat.api.get(f"/sessions/{chat.id}/ai-states/{ai_id}").json()


def everything(*chats: Chat) -> list[Any]:
    read = [chat.get(path).json() for chat in chats for path in ("ai-states", "agent-state")]
    return [*read, *(chat.texts() for chat in chats), ChatSession.objects.count(), Event.objects.count()]


def test_the_form_opens_with_all_ais_to_be_copied(page: Client, source: Chat) -> None:
    form = fresh(page, source)
    assert (form["ai"], form["mode"], form["on_conflict"]) == (["claude", "gemini"], "copy", "refuse")
    assert "“<bdi>The <source></bdi>”" in text(page.get(f"/sessions/{source.id}/transfer/"))


def test_places_are_found_by_words_and_what_is_chosen_stays(page: Client, source: Chat, target: Chat) -> None:
    form = fresh(page, source)
    found = text(send(page, source, {**form, "q": "a TARGET"}, "find"))
    assert f'value="session {target.id}"' in found
    assert source.id not in re.findall(r'value="session ([^"]+)"', found)
    project = target.read()["session"]["project_id"]
    assert f'value="project {project}"' in text(send(page, source, {**form, "q": "other"}, "find"))
    for chosen in (f"session {target.id}", f"project {project}"):
        nothing = text(send(page, source, {**form, "q": "nowhere", "to": chosen}, "find"))
        assert f'value="{chosen}" checked' in nothing
    assert "Nothing is called that" in text(send(page, source, {**form, "q": "nowhere"}, "find"))


def test_a_preview_tells_now_and_then_and_changes_nothing(page: Client, source: Chat, target: Chat) -> None:
    target.api.put(f"/sessions/{target.id}/ai-states/claude", {"todos": [{"content": "Tell", "status": "pending"}]})
    before = everything(source, target)
    form = {**fresh(page, source), "to": f"session {target.id}", "agent_state": "on", "messages": "on", "opening_step": "on"}
    shown = rows(send(page, source, {**form, "on_conflict": "merge"}, "preview"))
    assert shown["claude"] == ("merged", "1 todo (0 done)", "3 todos (1 done), notes")
    assert shown["gemini"] == ("new there", "nothing", "notes")
    assert shown["Agent state"] == ("new there", "nothing", "plan of 1 step (1 done)")
    assert shown["Messages"] == ("new there", "nothing", "1 message")
    assert shown["Opening step"] == ("new there", "nothing", "brainstorm")
    assert everything(source, target)[:-1] == before[:-1]
    target.say("own", "words of its own")
    behind = rows(send(page, source, {**form, "on_conflict": "merge"}, "preview"))["Messages"]
    assert behind == ("added behind its own", "1 message", "2 messages")


def test_what_was_previewed_happens(page: Client, source: Chat, target: Chat) -> None:
    form = {**fresh(page, source), "to": f"session {target.id}", "ai": ["claude"], "messages": "on"}
    done = send(page, source, form)
    assert (done.status_code, done["Location"]) == (302, f"/sessions/{target.id}/")
    assert ai(target)["todos"] == TODOS
    assert target.texts() == ["one"]
    assert target.api.get(f"/sessions/{target.id}/ai-states/gemini").status_code == 404
    shown = page.get(f"/sessions/{target.id}/").content.decode()
    assert "Carried over." in shown
    assert "The &lt;source&gt;</a>" in shown


def test_a_new_session_in_any_project(page: Client, source: Chat, target: Chat) -> None:
    form = {**fresh(page, source), "to": f"project {target.read()['session']['project_id']}"}
    made = send(page, source, form)["Location"].split("/")[2]
    assert made not in {source.id, target.id}
    assert source.api.get(f"/sessions/{made}").json()["session"]["project"] == "/home/alice/other"
    assert source.api.get(f"/sessions/{made}/ai-states/claude").json()["todos"] == TODOS


def test_a_move_leaves_nothing_behind_and_the_same_form_moves_once(page: Client, source: Chat, target: Chat) -> None:
    form = {**fresh(page, source), "to": f"session {target.id}", "messages": "on", "mode": "move"}
    assert "It leaves this session" in text(send(page, source, form, "preview"))
    first, again = send(page, source, form), send(page, source, form)
    assert (first.status_code, again["Location"]) == (302, first["Location"])
    assert (source.texts(), target.texts()) == ([], ["one"])
    assert source.get("ai-states").json()["items"] == []
    assert ai(target)["rev"] == 1


def test_a_form_of_a_session_that_was_started_over_does_nothing(page: Client, source: Chat, target: Chat) -> None:
    form = {**fresh(page, source), "to": f"session {target.id}", "mode": "move"}
    source.clear()
    late = send(page, source, form)
    assert (late.status_code, "was cleared" in text(late)) == (409, True)
    assert target.get("ai-states").json()["items"] == []


def test_what_stands_in_the_way_is_named_and_nothing_happens(page: Client, source: Chat, target: Chat) -> None:
    target.api.put(f"/sessions/{target.id}/ai-states/claude", {"working_notes": "theirs"})
    form = {**fresh(page, source), "to": f"session {target.id}"}
    for act, status in (("preview", 200), ("transfer", 409)):
        reply = send(page, source, form, act)
        assert (reply.status_code, "In the way: claude." in text(reply)) == (status, True)
    assert [item["ai_id"] for item in target.get("ai-states").json()["items"]] == ["claude"]
    send(page, source, {**form, "on_conflict": "overwrite"})
    assert ai(target)["todos"] == TODOS
    assert "is in the history" in text(page.get(f"/sessions/{target.id}/"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"to": ""}, "Choose a target"),
        ({"to": "moon 1"}, "Choose a target"),
        ({"ai": []}, "Choose what"),
        ({"on_conflict": "explode"}, "Choose what happens"),
        ({"ai": ["nobody"]}, "no state of these AIs"),
    ],
)
def test_what_is_not_filled_in_is_asked_for(page: Client, source: Chat, target: Chat, change: Any, said: str) -> None:
    form = {**fresh(page, source), "to": f"session {target.id}", **change}
    previewed, refused = (send(page, source, form, act) for act in ("preview", "transfer"))
    assert (previewed.status_code, said in text(previewed)) == (200, True)
    assert (refused.status_code, said in text(refused)) == (422, True)


def test_a_dialog_gets_the_form_alone(page: Client, source: Chat) -> None:
    shown = page.get(f"/sessions/{source.id}/transfer/", headers={"HX-Request": "true"}).content.decode()
    assert 'id="transfer"' in shown
    assert "<html" not in shown


def test_nothing_is_carried_to_or_named_of_somebody_else(
    page: Client, api: Callable[..., Any], bob: User, source: Chat, target: Chat
) -> None:
    his = Chat(api(bob), project="/home/bob/x")
    his.api.patch(f"/sessions/{his.id}", {"title": "his own"})
    form = fresh(page, source)
    assert his.id not in text(send(page, source, {**form, "q": "his own"}, "find"))
    for chosen in (f"session {his.id}", f"project {his.read()['session']['project_id']}", "session x"):
        reply = send(page, source, {**form, "to": chosen})
        assert reply.status_code == 404
        assert "his own" not in text(reply)
    assert his.get("ai-states").json()["items"] == []


@pytest.mark.parametrize("act", ["transfer", "preview", "find"])
def test_a_target_that_was_deleted_meanwhile_is_told_in_the_form(page: Client, source: Chat, target: Chat, act: str) -> None:
    project = target.read()["session"]["project_id"]
    form = fresh(page, source)
    for chosen, address in ((f"session {target.id}", f"/sessions/{target.id}"), (f"project {project}", f"/projects/{project}")):
        source.api.delete(address)
        reply = send(page, source, {**form, "to": chosen}, act)
        assert reply.status_code == (409 if act == "transfer" else 200)
        assert "This target was deleted meanwhile." in text(reply)
        assert "a target to see a preview" not in text(reply)
    source.api.delete(f"/sessions/{source.id}")
    assert send(page, source, {**form, "to": f"session {target.id}"}, act).status_code == 410


def test_the_form_costs_the_same_however_much_there_is(page: Client, source: Chat, target: Chat) -> None:
    form = {**fresh(page, source), "to": f"session {target.id}", "q": "a", "ai": ["claude"]}

    def statements() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert send(page, source, form, "preview").status_code == 200
        return len(seen)

    Chat(source.api, project="/home/alice/untitled")  # Names of sessions without a title are one statement more.
    few = statements()
    for number in range(20):
        Chat(source.api, project=f"/home/alice/{number}")
        source.api.put(f"/sessions/{source.id}/ai-states/ai-{number}", {"working_notes": "x"})
    assert statements() == few
