"""Every search compares letters alike, whatever it searches, however short it is, and on both databases."""

import unicodedata
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User

from memory_app.errors.queries import list_errors
from sessions_app.agents.transfer.transfer_targets import list_targets
from sessions_app.chats.search import text_matching, word_index
from sessions_app.core.callers import caller_of_user
from sessions_app.models import Project
from tests.chats.search.indexed_rows import entries_found, index_all, put
from tests.conftest import Alone
from tests.support.chat import Chat

PLACES = ("titles", "memory", "handoff", "errors")


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    chat = Chat(api(alice), project="/home/alice/Büro")
    chat.api.patch(f"/sessions/{chat.id}", {"title": "Ärger im Büro"})
    return chat


def count(chat: Chat, address: str, **query: str) -> int:
    answer = chat.api.get(f"{address}?{urlencode(query)}")
    assert answer.status_code == 200, answer.content
    return len(answer.json()["items"])


def test_titles_and_names_fold_more_than_ascii(chat: Chat, alice: User, alone: Alone) -> None:
    project = Project.objects.get()
    for words in ("är", "ÄR", "Är", "ärg", "ÄRGER", "BÜRO", "ü", "Ü"):
        with alone(words):
            assert count(chat, "/search", q=words, **{"in": "titles"}) == 1
            assert count(chat, f"/projects/{project.id}/sessions", q=words) == 1
            assert count(chat, "/projects", q=words) == (words.lower() in "/home/alice/büro")
            targets = list_targets(caller=caller_of_user(alice), source_id=project.id, text=words)
            assert [str(target.id) for target in targets] == [chat.id]


@pytest.mark.parametrize("words", ["É", "éCH", "ÉCHEC"])
def test_errors_fold_more_than_ascii(chat: Chat, alice: User, words: str) -> None:
    project = Project.objects.get()
    chat.api.post(f"/projects/{project.id}/errors", {"errors": [{"message": "un échec", "kind": "E"}]})
    assert len(list_errors(caller=caller_of_user(alice), project_id=project.id, text=words, limit=9)) == 1


def test_the_three_forms_of_sigma_are_one_letter(chat: Chat, alone: Alone) -> None:
    text = "ο σοφος άνθρωπος που ξέρει πολλά πράγματα και λέει λίγα"
    chat.say("m1", text)
    chat.say("m2", "ο _οφό_ άνθρωπο_")
    chat.api.patch(f"/sessions/{chat.id}", {"title": text})
    project = str(Project.objects.get().id)
    long = "ΟΦΟΣ ΆΝΘΡΩΠΟΣ ΠΟΥ ΞΈΡΕΙ ΠΟΛΛΆ ΠΡΆΓΜΑΤΑ ΚΑΙ ΛΈΕΙ ΛΊΓΑ"
    for words in ("ΣΟΦΟΣ", "σοφος", "σοφοσ", "ΦΟΣ ΆΝ", "ος", "Σ", long):
        with alone(words):
            for filters in ({}, {"project": chat.project}, {"role": "user"}):
                assert count(chat, "/search", q=words, **filters, **{"in": "messages"}) == 1, filters
            assert count(chat, "/search", q=words, **{"in": "titles"}) == 1
            assert count(chat, f"/projects/{project}/sessions", q=words) == 1


COMPOSED, DECOMPOSED = "Größe im Café", unicodedata.normalize("NFD", "Größe im Café")


@pytest.mark.usefixtures("index_asked_first")
@pytest.mark.parametrize(
    ("text", "words", "hit"),
    [
        (COMPOSED, unicodedata.normalize("NFD", "GRÖSSE IM CAFÉ").replace("SS", "ß"), COMPOSED),
        (DECOMPOSED, "größe im café", DECOMPOSED),
        ("İstanbul", "istanbul", "İstanbul"),
        ("İstanbul", "is", "İs"),
        pytest.param(DECOMPOSED, "fé", unicodedata.normalize("NFD", "fé"), marks=pytest.mark.slow),
        pytest.param("istanbul", "İSTANBUL", "istanbul", marks=pytest.mark.slow),
        pytest.param("İİİ", "iii", "İİİ", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("first", [0, text_matching.FIRST_ROWS])
def test_every_spelling_of_a_letter_is_found(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, text: str, words: str, hit: str, first: int
) -> None:
    """Composed or decomposed, and with the capital i that has a dot; by the index, and by reading."""
    monkeypatch.setattr(text_matching, "FIRST_ROWS", first)
    project = Project.objects.get()
    chat.say("m1", text)
    chat.say("m2", "something else")
    chat.api.patch(f"/sessions/{chat.id}", {"title": text})
    put(project, "k", f"{text}, {text}")
    chat.api.post(f"/projects/{project.id}/errors", {"errors": [{"message": text}]})
    chat.api.post(f"/projects/{project.id}/handoff/decisions", {"text": text})
    index_all()
    for filters in ({"in": "messages"}, {"in": "messages", "role": "user"}, *({"in": name} for name in PLACES)):
        answer = chat.api.get(f"/search?{urlencode({'q': words, **filters})}").json()
        assert [item["hit"] for item in answer["items"]] == [hit], filters
    assert count(chat, f"/projects/{project.id}/sessions", q=words) == 1


@pytest.mark.usefixtures("index_asked_first")
@pytest.mark.parametrize("words", ["ΣΟΦΟΣ", "σοφος", "σοφοσ ", "σοσ"])
def test_what_an_earlier_version_indexed_is_found(projects: list[Project], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It indexed the final sigma as another letter."""
    monkeypatch.setattr(word_index, "fold", lambda text: text.replace("Σ", "σ").lower())
    entry = put(projects[0], "k", "ο σοφος άνθρωπος, σος")
    put(projects[0], "other", "ο _οφό_ άνθρωπο_")
    index_all()
    monkeypatch.undo()
    assert entries_found(projects, words) == [str(entry.pk)]
