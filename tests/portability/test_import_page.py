"""Importing by hand: the page starts a job in the background, says how far it is and what is in it, stops and undoes it."""

import io
import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings

from sessions_app.models import ChatSession, ImportJob, Message, Project
from sessions_app.portability.imports.background_runner import ImportRunner
from tests.support.chat import Chat
from tests.support.export_files import download


@pytest.fixture(autouse=True)
def own_folder(settings: Any, tmp_path: Any) -> None:
    settings.DATA_DIR = tmp_path


@pytest.fixture
def page(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def content(api: Callable[..., Any], alice: User) -> bytes:
    """An export of two projects, of which one is gone since."""
    client = api(alice)
    for name, words in (("shop", ["one", "two"]), ("<blog>", ["three"])):
        chat = Chat(client, project=f"/home/alice/{name}")
        for number, text in enumerate(words):
            chat.say(f"m{number}", text)
    whole = download(client)
    client.delete(f"/projects/{Project.objects.get(path='/home/alice/<blog>').id}?purge=1")
    return whole


def send(page: Client, content: bytes, act: str = "import") -> ImportJob:
    """As a browser without scripts does."""
    file = io.BytesIO(content)
    file.name = "export.ndjson"
    reply = page.post("/import/", {"file": file, "act": act})
    assert (reply.status_code, reply["Location"]) == (302, "/import/")
    return ImportJob.objects.latest("created_at")


def work() -> None:
    runner = ImportRunner()
    while runner.work():
        pass


def shown(page: Client, job: ImportJob) -> str:
    html = page.get("/import/").content.decode()
    start = html.index(f'id="import-{job.id}"')
    return html[start : html.index("</article>", start)]


def title(html: str) -> str:
    return unescape(html[html.index("<h3") :].partition(">")[2].partition("<")[0])


def table(html: str) -> dict[str, list[int]]:
    rows = re.findall(r'<tr><th scope="row">([^<]*)</th>(.*?)</tr>', html)
    return {what: [int(number) for number in re.findall(r">(\d+)</td>", cells)] for what, cells in rows}


def test_a_look_inside_tells_what_is_in_the_file_and_changes_nothing(page: Client, content: bytes) -> None:
    job = send(page, content, "look")
    assert (title(shown(page, job)), "data-active" in page.get("/import/").content.decode()) == ("Queued", True)
    work()
    html = shown(page, job)
    told = [" ".join(re.sub(r"<[^>]+>", "", line).split()) for line in re.findall(r"<li>(.*?)</li>", html)]
    assert [unescape(line) for line in told] == [
        "/home/alice/shop 1 session, 2 messages",
        "/home/alice/<blog> 1 session, 1 message",
    ]
    assert (title(html), table(html)["Message"]) == ("Dry run: nothing was imported", [3, 1, 2])
    assert (Project.objects.count(), Message.objects.count()) == (1, 2)
    assert ("Undo" in html, "data-active" in page.get("/import/").content.decode()) == (False, False)


def test_an_import_tells_what_was_added_and_can_be_undone(page: Client, content: bytes) -> None:
    job = send(page, content)
    work()
    html = shown(page, job)
    assert title(html) == "Imported"
    assert {what: table(html)[what] for what in ("Project", "Session", "Message")} == {
        "Project": [2, 1, 1],
        "Session": [2, 1, 1],
        "Message": [3, 1, 2],
    }
    again = send(page, content)
    work()
    html = shown(page, again)
    assert (title(html), table(html)["Message"], "Undo" in html) == ("Nothing was missing", [3, 0, 3], False)
    assert ChatSession.objects.filter(project__path="/home/alice/<blog>").count() == 1
    assert page.post(f"/import/{job.id}/undo/").status_code == 302
    work()
    assert (title(shown(page, job)), ChatSession.objects.count()) == ("Undone", 1)


def test_an_import_that_runs_says_how_far_it_is_and_can_be_stopped(page: Client, content: bytes) -> None:
    job = send(page, content)
    ImportJob.objects.filter(pk=job.pk).update(state="running", counts={"read": {"message": 3_000}, "added": {"message": 1_200}})
    html = shown(page, job)
    assert (title(html), 'max="3000" value="1200"' in html, "1\u202f200 of 3\u202f000" in html) == ("Importing", True, True)
    reply = page.post(f"/import/{job.id}/stop/", headers={"HX-Request": "true"})
    assert (reply.status_code, "Stopped" in reply["HX-Trigger"]) == (204, True)
    work()
    assert (title(shown(page, job)), Project.objects.count()) == ("Stopped: nothing was imported", 1)
    late = page.post(f"/import/{job.id}/stop/")
    assert (late.status_code, "finished" in late.content.decode()) == (409, True)


@pytest.mark.parametrize("act", ["look", "import"])
def test_a_file_that_is_damaged_or_none_is_refused_in_words(page: Client, content: bytes, act: str) -> None:
    told = {"look": "This file cannot be imported", "import": "Failed: nothing was imported"}[act]
    others = ((other, "this is no export of Stillhere") for other in (b"hello\n", b'[\n{"title": "Hi"}]', b'[{"title": "Hi"}]'))
    for broken, said in ((content[:-20], "Line"), *others, (content.replace(b"three", b"threx"), "checksum")):
        job = send(page, broken, act)
        work()
        html = shown(page, job)
        assert (title(html), said in html, "Nothing was imported" in html) == (told, True, True)
    reply = page.post("/import/", {"act": act})
    assert (reply.status_code, "Choose a file" in reply.content.decode()) == (422, True)
    assert Project.objects.count() == 1


def test_somebody_else_s_file_says_why_it_cannot_come_in_and_nobody_else_sees_it(
    client: Client, alice: User, bob: User, content: bytes
) -> None:
    client.force_login(bob)
    job = send(client, content)
    work()
    assert "Nothing was imported" in shown(client, job)
    assert not Project.objects.filter(owner=bob).exists()
    client.force_login(alice)
    assert str(job.id) not in client.get("/import/").content.decode()
    assert [client.post(f"/import/{job.id}/{act}/").status_code for act in ("stop", "undo", "read")] == [404] * 3


@override_settings(MAX_BODY_BYTES=2_000_000, MAX_IMPORT_BYTES=3_000_000_000)
def test_the_page_says_how_large_a_file_may_be(page: Client) -> None:
    html = page.get("/import/").content.decode()
    assert "Up to 3.0 GB" in html
    assert "without JavaScript up to 2.0 MB" in html
