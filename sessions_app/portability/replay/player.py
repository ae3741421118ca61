"""Plays a conversation: each turn of the user at once, each answer growing in steps, and with dropped connections on request."""

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle

from sessions_app.portability.replay.comparison import differences, lost_after_reload
from sessions_app.portability.replay.conversation import Conversation, Turn
from sessions_app.portability.replay.http_client import Api, Cut, Json, ReplayError
from sessions_app.portability.replay.save_client import Writer

STREAMING, COMPLETE = "streaming", "complete"


@dataclass(frozen=True, slots=True)
class Manner:
    """How to play: the number of steps per answer, the pause after each, and whether connections are dropped."""

    steps: int = 8
    pause_seconds: float = 0.0
    cut: bool = False


@dataclass(slots=True)
class Played:
    """The result of one conversation; a success if there are no problems."""

    title: str
    turns: int
    skipped: int
    session_id: str = ""
    saves: int = 0
    cuts: int = 0
    problems: list[str] = field(default_factory=list)


class Player:
    """Plays into one project, one conversation after the other. `on_save` is called after each save."""

    def __init__(self, api: Api, project: str, manner: Manner, on_save: Callable[[], object]) -> None:
        self._api, self._project, self._manner, self._on_save = api, project, manner, on_save
        self._cuts = cycle(Cut)

    def play(self, conversation: Conversation) -> Played:
        """Plays into a new session; then compares `resume` and the older pages with what was sent."""
        played = Played(conversation.title, len(conversation.turns), conversation.skipped.total())
        if not conversation.turns:
            return played
        try:
            _Play(self._api, self._project, self._manner, self._on_save, self._cuts, played).run(conversation)
        except ReplayError as error:
            played.problems.append(str(error))
        except (KeyError, TypeError) as error:
            played.problems.append(f"The server's response does not match the API's schema: {error}")
        return played


@dataclass(slots=True)
class _Play:
    """One conversation being played. `acknowledged`: each message's text that the server last acknowledged."""

    api: Api
    project: str
    manner: Manner
    on_save: Callable[[], object]
    cuts: Iterator[Cut]
    played: Played
    acknowledged: dict[str, str] = field(default_factory=dict)

    def run(self, conversation: Conversation) -> None:
        page = self.start(conversation.title)
        for turn in conversation.turns:
            if turn.role == "user":
                self.save(page, turn, turn.text, COMPLETE)
            else:
                page = self.stream(page, turn)
        resumed, older = read_back(self.api, self.project)
        self.played.problems += differences(conversation.turns, resumed, older, session_id=self.played.session_id)

    def start(self, title: str) -> Writer:
        """Creates the session under a client-made id, so that a retry is safe: 412 then means that the first try arrived."""
        self.played.session_id = str(uuid.uuid4())
        body: Json = {"project": self.project, "title": title}
        self.api.put(f"/sessions/{self.played.session_id}", body, **{"If-None-Match": "*"}).expect(201, 412)
        return Writer.of_page(self.api, self.reload())

    def reload(self) -> Json:
        """The resume bundle of a page load. If another session became current meanwhile, it must not be written to."""
        resumed = resume(self.api, self.project)
        if resumed["session"]["id"] != self.played.session_id:
            raise ReplayError(f"Another session resumes in this project: {resumed['session']['id']}")
        return resumed

    def stream(self, page: Writer, turn: Turn) -> Writer:
        growing = growth(turn.text, self.manner.steps)
        cut_at = len(growing) // 2 if self.manner.cut else -1
        for number, text in enumerate(growing):
            if number == cut_at:
                page = self.cut(page, turn, text)
            else:
                self.save(page, turn, text, STREAMING)
        self.save(page, turn, turn.text, COMPLETE)
        return page

    def save(self, page: Writer, turn: Turn, text: str, status: str) -> None:
        page.save(turn, text, status)
        self.count(turn, text)
        time.sleep(self.manner.pause_seconds)

    def cut(self, page: Writer, turn: Turn, text: str) -> Writer:
        """Drops the connection during a save and reloads the page: read, resend the pending save, continue with a new writer."""
        cut = next(self.cuts)
        page.save_and_drop(turn, text, STREAMING, cut)
        resumed = self.reload()
        self.played.cuts += 1
        lost = lost_after_reload(self.acknowledged, resumed)
        self.played.problems += [f"after a connection {cut.value}: {what}" for what in lost]
        reloaded = Writer.of_page(self.api, resumed)
        reloaded.resend_of(page)
        self.count(turn, text)
        return reloaded

    def count(self, turn: Turn, text: str) -> None:
        self.acknowledged[turn.id] = text
        self.played.saves += 1
        self.on_save()


def growth(text: str, steps: int) -> list[str]:
    """`text` as it grows in at most `steps` steps of about the same length; the last one is all of it."""
    ends = sorted({len(text) * number // steps for number in range(1, steps + 1)} - {0})
    return [text[:end] for end in ends]


def count_saves(conversation: Conversation, manner: Manner) -> int:
    """How many saves playing this takes; an answer's last one says that it is complete."""
    return sum(1 if turn.role == "user" else len(growth(turn.text, manner.steps)) + 1 for turn in conversation.turns)


def resume(api: Api, project: str) -> Json:
    return api.get("/resume", project=project).expect(200)


def read_back(api: Api, project: str) -> tuple[Json, list[Json]]:
    """What a frontend reads on resume and on scrolling to the beginning: the bundle, and all older messages."""
    resumed = resume(api, project)
    older: list[Json] = []
    first = resumed["messages"][0]["id"] if resumed["messages"] else None
    seen: set[str] = set()
    while first is not None and first not in seen:
        seen.add(first)
        page = api.get(f"/sessions/{resumed['session']['id']}/messages", before=first, limit=100).expect(200)
        older = page["items"] + older
        first = page["next"]
    return resumed, older
