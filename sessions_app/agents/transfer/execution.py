"""Executes a transfer between two locked sessions, part by part, with one rule for existing content."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

import orjson

from sessions_app.agents.states.agent_state import find_agent_state, keep_version, store_agent_state
from sessions_app.agents.states.ai_states import find_ai_state, store_ai_state
from sessions_app.agents.states.pending_actions import ask_there, check_same, withdraw
from sessions_app.agents.transfer.message_copies import copy_messages
from sessions_app.agents.transfer.state_merging import merged_agent_states, merged_ai_states, provenance, without_provenance
from sessions_app.chats.lifecycle.clearing import begin_epoch
from sessions_app.chats.locking import LockedSession
from sessions_app.core.errors import Conflict, Invalid
from sessions_app.core.limits import quotas
from sessions_app.core.serialization.stored_json import stored_object
from sessions_app.core.storage.sql import rfc3339
from sessions_app.models import AgentState, AiState, Caller, ChatSession
from sessions_app.models.event import EventType
from sessions_app.models.times import now

State = dict[str, Any]


class Part(StrEnum):
    AI_STATES = "ai_states"
    AGENT_STATE = "agent_state"
    MESSAGES = "messages"
    OPENING_STEP = "opening_step"


class OnConflict(StrEnum):
    REFUSE = "refuse"
    OVERWRITE = "overwrite"
    MERGE = "merge"


class How(StrEnum):
    """The outcome for one transferred thing. SAME: the target had it already. KEPT: the target's own stayed."""

    ADDED = "added"
    SAME = "same"
    REPLACED = "replaced"
    MERGED = "merged"
    KEPT = "kept"
    REFUSED = "refused"


UNCHANGED = frozenset({How.SAME, How.KEPT, How.REFUSED})


class InTheWay(Conflict):
    code = "target_has_state"
    message = "The target already has other content: see details. Choose `overwrite` or `merge`, or leave it out."


class UnknownAi(Invalid):
    code, message = "unknown_ai", "The session has no state of these AIs. Leave `ai_ids` out to transfer all."


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What to transfer (`ai_ids` None: every AI's state), whether to remove it from the source, and how to resolve conflicts."""

    include: frozenset[Part] = frozenset({Part.AI_STATES})
    ai_ids: frozenset[str] | None = None
    move: bool = False
    on_conflict: OnConflict = OnConflict.REFUSE


@dataclass(slots=True, kw_only=True)
class TransferExecution:
    """A running transfer. `carried` and `replaced` are the lists of its response."""

    caller: Caller
    source: LockedSession
    target: LockedSession
    choice: Choice
    writer_id: str | None
    # Adds to each entry of `carried` what the target has `now` and would have `then`.
    previews: bool = False
    carried: list[State] = field(default_factory=list)
    replaced: list[State] = field(default_factory=list)
    _at: datetime = field(default_factory=now)
    _in_the_way: list[State] = field(default_factory=list)
    _events: list[tuple[EventType, LockedSession, State | None]] = field(default_factory=list)

    def run(self) -> None:
        """Transfer the chosen parts, notify both sides. Refused, nothing is changed.

        Raises InTheWay, UnknownAi, TooMuchTogether, QuestionTaken, QuotaExceeded.
        """
        include = self.choice.include
        if Part.AI_STATES in include:
            self._ai_states()
        if Part.AGENT_STATE in include:
            self._agent_state()
        if Part.OPENING_STEP in include and self.source.opening_step:
            self._opening_step()
        if Part.MESSAGES in include and self.source.message_count:
            self._messages()
        if self._in_the_way:
            raise InTheWay(details={"in_the_way": self._in_the_way})
        self._tell()

    def _ai_states(self) -> None:
        states = AiState.objects.filter(session_id=self.source.id, content__isnull=False).order_by("ai_id")
        if self.choice.ai_ids is not None:
            states = states.filter(ai_id__in=self.choice.ai_ids)
            if unknown := self.choice.ai_ids - {state.ai_id for state in states}:
                raise UnknownAi(details={"ai_ids": sorted(unknown)})
        for state in states:
            self._ai_state(state)
            if self.choice.move:
                store_ai_state(state, None)

    def _ai_state(self, state: AiState) -> None:
        place = find_ai_state(self.target.id, state.ai_id)
        here, there, before = _read(place), _read(state), place.content
        name: State = {"kind": "ai_state", "ai_id": state.ai_id}
        how = self._how({**name, "rev": place.rev}, before, without_provenance(here) == without_provenance(there))
        content = there
        if how is How.MERGED:
            newer = state.updated_at > place.updated_at
            content = merged_ai_states(here, there, there_is_newer=newer, heading=self._heading())
            how = How.SAME if without_provenance(content) == without_provenance(here) else how
        if how not in UNCHANGED:
            came = provenance(str(self.source.id), rfc3339(self._at), there, *([here] if how is How.MERGED else []))
            store_ai_state(place, {**without_provenance(content), **came})
        self._note({**name, "how": how, "rev": place.rev}, _shown(before), _shown(place.content))

    def _agent_state(self) -> None:
        state, place = find_agent_state(self.source.id), find_agent_state(self.target.id)
        if state.content is None:
            return
        here, there, before = _read(place), _read(state), place.content
        how = self._how({"kind": "agent_state", "rev": place.rev}, before, here == there)
        asked = there.get("pending_action")
        if asked is not None and how is not How.REFUSED:
            if how is How.MERGED:  # One of the two would be lost.
                check_same(here.get("pending_action") or {}, asked)
            there["pending_action"] = ask_there(session_id=self.target.id, action=asked)
        if how is How.MERGED:
            there = merged_agent_states(here, there, there_is_newer=state.saved_at > place.saved_at)
            how = How.SAME if there == here else how
        if how not in UNCHANGED:
            keep_version(place)
            store_agent_state(place, there)
            self._events.append((EventType.AGENT_STATE_SAVED, self.target, {"state_rev": place.rev, "deleted": False}))
        self._note({"kind": "agent_state", "how": how, "rev": place.rev}, _shown(before), _shown(place.content))
        if self.choice.move:
            keep_version(state)
            store_agent_state(state, None)
            if asked is not None:
                withdraw(session_id=self.source.id, action=asked, moved_to=self.target.id)
            self._events.append((EventType.AGENT_STATE_SAVED, self.source, {"state_rev": state.rev, "deleted": True}))

    def _opening_step(self) -> None:
        step, here = self.source.opening_step, self.target.opening_step
        how = self._how({"kind": "opening_step", "value": here}, here or None, here == step)
        how = How.KEPT if how is How.MERGED else how
        if how not in UNCHANGED:
            self.target.opening_step = step
            self._bump(EventType.SESSION_UPDATED, self.target)
        if self.choice.move and how is not How.KEPT:
            self.source.opening_step = ""
            self._bump(EventType.SESSION_UPDATED, self.source)
        self._note({"kind": "opening_step", "how": how}, here or None, self.target.opening_step)

    def _messages(self) -> None:
        """Messages never block a transfer: a taken id makes a conflict copy."""
        before = {"message_count": self.target.message_count}
        copied = copy_messages(self.source, self.target, writer_id=self.writer_id)
        if not self.previews:  # How much the target lacked is only known now. Refused, nothing of it stays.
            quotas.check_bytes(self.caller.user_id, copied.size_bytes)
        if copied.added:
            self.target.write()
            self._events.append((EventType.SESSION_SAVED, self.target, None))
        if self.choice.move:
            cleared = self.source.epoch
            begin_epoch(self.source, self._at)
            self._events.append((EventType.SESSION_CLEARED, self.source, {"of": cleared}))
        how = How.ADDED if copied.added or copied.conflicts else How.SAME
        numbers = {"added": copied.added, "same": copied.same, "conflicts": copied.conflicts, "dropped": copied.dropped}
        self._note({"kind": "messages", "how": how, **numbers}, before, {"message_count": self.target.message_count})

    def _how(self, name: State, before: str | None, same: bool) -> How:
        """Applies the rule for existing content; `name` identifies it."""
        if before is None or same:
            return How.ADDED if before is None else How.SAME
        if self.choice.on_conflict is OnConflict.MERGE:
            return How.MERGED
        if self.choice.on_conflict is OnConflict.REFUSE:
            self._in_the_way.append(name)
            return How.REFUSED
        self.replaced.append(name)
        return How.REPLACED

    def _note(self, item: State, before: Any, then: Any) -> None:
        self.carried.append({**item, "now": before, "then": then} if self.previews else item)

    def _bump(self, type: EventType, session: LockedSession) -> None:
        session.rev += 1
        session.write()
        self._events.append((type, session, None))

    def _heading(self) -> str:
        title = ChatSession.objects.values_list("title", flat=True).get(id=self.source.id)
        named = f"“{' '.join(title.split())}” " if title else ""
        return f"## From session {named}({self.source.id}), {rfc3339(self._at)}"

    def _tell(self) -> None:
        """Publishes each change, and the transfer on both sides; project by project, in lock order."""
        if not self.carried:
            return
        data = {
            "from": str(self.source.id),
            "to": str(self.target.id),
            "mode": "move" if self.choice.move else "copy",
            "kinds": sorted({item["kind"] for item in self.carried}),
            "ai_ids": [item["ai_id"] for item in self.carried if "ai_id" in item],
        }
        both = [(EventType.AI_STATE_TRANSFERRED, session, data) for session in (self.source, self.target)]
        for type, session, about in sorted([*self._events, *both], key=lambda event: event[1].project_id):
            session.publish(type, self.caller, writer_id=self.writer_id, data=about)


def _read(state: AiState | AgentState) -> State:
    return stored_object(state.content)


def _shown(content: str | None) -> orjson.Fragment | None:
    return None if content is None else orjson.Fragment(content)
