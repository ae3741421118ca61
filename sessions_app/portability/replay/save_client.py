"""One page load as a writer: numbers its saves, retries one until it is answered, and follows the session's revisions."""

import uuid
from dataclasses import dataclass, field
from typing import Self

from sessions_app.portability.replay.conversation import Turn
from sessions_app.portability.replay.http_client import Api, Cut, Json, ReplayError


@dataclass(slots=True)
class Writer:
    """`stored`: the unanswered save, as a frontend keeps it in the browser's storage."""

    api: Api
    session_id: str
    epoch: int
    base_rev: int
    vers: dict[str, int] = field(default_factory=dict)
    writer_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    seq: int = 0
    stored: Json | None = None

    @classmethod
    def of_page(cls, api: Api, resumed: Json) -> Self:
        """The writer of a page that was just rendered from a resume bundle."""
        session = resumed["session"]
        vers = {message["id"]: message["ver"] for message in resumed["messages"]}
        return cls(api, session["id"], session["epoch"], session["rev"], vers)

    @property
    def path(self) -> str:
        return f"/sessions/{self.session_id}"

    def save(self, turn: Turn, text: str, status: str) -> None:
        self._store(turn, text, status)
        self._send_stored()

    def save_and_drop(self, turn: Turn, text: str, status: str, cut: Cut) -> None:
        """The page is closed during this save: the save stays in the storage."""
        self.api.post_and_drop(f"{self.path}/changes", self._store(turn, text, status), cut)

    def resend_of(self, former: "Writer") -> None:
        """Resends the former page's unanswered save unchanged: with the old writer and its number."""
        self.stored, former.stored = former.stored, None
        self._send_stored()

    def _store(self, turn: Turn, text: str, status: str) -> Json:
        self.seq += 1
        said = {"id": turn.id, "role": turn.role, "text": text, "status": status}
        op = {"op": "upsert", **said, "if_ver": self.vers.get(turn.id, 0)}
        self.stored = {"epoch": self.epoch, "writer_id": self.writer_id, "seq": self.seq, "base_rev": self.base_rev, "ops": [op]}
        return self.stored

    def _send_stored(self) -> None:
        if self.stored is None:
            return
        answer = self.api.post(f"{self.path}/changes", self.stored).expect(200)
        self._take(answer)
        self.stored = None

    def _take(self, answer: Json) -> None:
        # Nobody else should write to this session, so each of these is a fault of the server or another client's write;
        # a save may be ignored only because the server already has it.
        for refused in (*answer["rejected"], *answer["conflicts"]):
            raise ReplayError(f"The server did not take message {refused['id']}: {refused.get('reason', 'conflict')}")
        for applied in answer["applied"]:
            self.vers[applied["id"]] = applied["ver"]
        for ignored in answer["ignored"]:
            if ignored["reason"] not in {"same", "stale"}:
                raise ReplayError(f"The server ignored message {ignored['id']}: {ignored['reason']}")
            self.vers[ignored["id"]] = (ignored.get("server") or {}).get("ver", self.vers.get(ignored["id"], 0))
        self._follow(answer)

    def _follow(self, answer: Json) -> None:
        """Updates `base_rev`, which must cover only seen revisions: a missed revision is read first."""
        if answer["prev_rev"] == self.base_rev:
            self.base_rev = answer["rev"]
        elif answer["rev"] > self.base_rev:
            self._read_changes()

    def _read_changes(self) -> None:
        more = True
        while more:
            changes = self.api.get(f"{self.path}/messages", since_rev=self.base_rev).expect(200)
            self.vers |= {message["id"]: message["ver"] for message in changes["items"]}
            more = bool(changes.get("more")) and changes["rev"] > self.base_rev
            self.base_rev = changes["rev"]
