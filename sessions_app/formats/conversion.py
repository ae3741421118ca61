"""Messages of any formats as those of one: what is in this format already is returned as it is."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sessions_app.formats.neutral import Neutral, OpenCalls, Part, ToolCallPart, ToolResultPart, UnnamedCalls
from sessions_app.formats.registry import FORMATS
from sessions_app.formats.writing import INTERRUPTED, Converted, Format, Loss, Stored, splits

__all__ = ["Converted", "Loss", "Stored", "convert"]


@dataclass(slots=True)
class _Draft:
    """A message that is being converted: its parts, each with its number in the stored one. `changed`: `raw` no longer holds."""

    stored: Stored
    parts: list[tuple[int, Part]]
    changed: bool = False

    @property
    def answers(self) -> bool:
        """True if it is one answer of an assistant, so that its calls are answered after it."""
        return self.stored.neutral.role == "assistant" and not self.several

    @property
    def several(self) -> bool:
        """True if it is written as several messages, so that each call needs its result before the next of them."""
        return any(isinstance(part, ToolResultPart) or splits(self.stored, part) for _, part in self.parts)

    def calls(self) -> list[ToolCallPart]:
        return [part for _, part in self.parts if isinstance(part, ToolCallPart)]

    def leading_results(self) -> Iterator[ToolResultPart]:
        for _, part in self.parts:
            if not isinstance(part, ToolResultPart):
                return
            yield part


def convert(stored: Iterable[Stored], target: str, *, repair: bool = False) -> Converted:
    """The messages in order as the objects of the format `target`, which is one of FORMATS. `stored` is not changed.

    `repair` makes them acceptable as the input of a model call: each tool call has one result, directly after it. A result that
    is missing is made ("interrupted"), a late one is moved, one without a call is dropped and reported.
    """
    form = FORMATS[target]
    made = Converted()
    drafts = [_Draft(each, list(enumerate(each.neutral.parts))) for each in stored]
    _name_calls(drafts, form)
    if form.results_inside:
        _keep_together(drafts)
    if repair:
        drafts = _Repair(drafts, form, made).done()
    _limit_ids(drafts, form)
    run: list[Stored] = []
    for draft in drafts:
        if _stays(draft, form):
            _write(form, run, made)
            made.add(draft.stored.raw, draft.stored.id)
        else:
            run.append(_as_stored(draft))
    _write(form, run, made)
    return made


def _stays(draft: _Draft, form: Format) -> bool:
    return draft.stored.format == form.name and draft.stored.raw is not None and not draft.changed


def _limit_ids(drafts: list[_Draft], form: Format) -> None:
    """Make ids of calls such that the format allows them, except those that a message has which is returned as it is."""
    if form.call_id is None:
        return
    tools = (ToolCallPart, ToolResultPart)
    fixed = {part.id for draft in drafts if _stays(draft, form) for _, part in draft.parts if isinstance(part, tools)}
    for draft in drafts:
        for place, (number, part) in enumerate(draft.parts):
            if isinstance(part, tools) and part.id not in fixed:
                draft.parts[place] = (number, replace(part, id=form.call_id(part.id)))


def _write(form: Format, run: list[Stored], made: Converted) -> None:
    """Write what was collected between two messages that are returned as they are."""
    if run:
        written = form.write(run)
        made.items += written.items
        made.ids += written.ids
        made.losses += written.losses
        run.clear()


def _as_stored(draft: _Draft) -> Stored:
    neutral = replace(draft.stored.neutral, parts=[part for _, part in draft.parts])
    return replace(draft.stored, neutral=neutral, numbers=[number for number, _ in draft.parts])


def _name_calls(drafts: list[_Draft], form: Format) -> None:
    """Give ids to calls without one, and to their results by the name of the tool. Ids that are used twice become different."""
    waiting, opened = UnnamedCalls(), OpenCalls()
    seen: set[str] = set()
    for draft in drafts:
        opened.begin(has_calls=bool(draft.calls()))
        for place, (number, part) in enumerate(draft.parts):
            named: Part = part
            if isinstance(part, ToolCallPart):
                again = part.id in seen and not _stays(draft, form)
                named = replace(part, id=_made_id(part.id, draft.stored.id, number)) if again or not part.id else part
                opened.add(part.id, named)
                if not part.id:
                    waiting.add(named)
                seen.add(part.id)
            elif isinstance(part, ToolResultPart) and part.id:
                call = opened.take(part.id, draft.parts[place - 1][1] if place else None) or opened.last.get(part.id)
                named = part if call is None else replace(part, id=call.id)
                draft.changed = draft.changed or named.id != part.id
            elif isinstance(part, ToolResultPart) and (call := waiting.take(part.name)) is not None:
                named = replace(part, id=call.id, name=call.name)
            draft.parts[place] = (number, named)


def _made_id(own: str, message_id: str, number: int) -> str:
    digest = hashlib.sha256(f"{message_id}:{number}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{own or 'call'}_{digest}"


def _keep_together(drafts: list[_Draft]) -> None:
    """Where results are inside the messages of their calls, those between a call and its result are written together."""
    places: dict[str, int] = {}
    # Where a range of messages begins that is written together, and its end: the furthest of those that begin there.
    ends: dict[int, int] = {}
    for place, draft in enumerate(drafts):
        for _, part in draft.parts:
            if isinstance(part, ToolCallPart):
                places[part.id] = place
            elif isinstance(part, ToolResultPart) and (first := places.pop(part.id, place)) < place:
                ends[first] = place
    last = -1
    for place, draft in enumerate(drafts):
        last = max(last, ends.get(place, -1))
        draft.changed = draft.changed or place <= last


class _Repair:
    """Pairs calls with results, each by the id of the call, and puts each result directly behind its call."""

    def __init__(self, drafts: list[_Draft], form: Format, made: Converted) -> None:
        self.drafts, self.form, self.made = drafts, form, made
        # By the identity of the call's part: its result, and the message that this is in.
        self.answers: dict[int, tuple[_Draft, int, ToolResultPart]] = {}

    def done(self) -> list[_Draft]:
        self._pair()
        for draft in self.drafts:
            if self.form.results_inside or draft.several:
                self._close_inside(draft)
        drafts = self.drafts if self.form.results_inside else self._close_behind()
        self._rename(drafts)
        return drafts

    def _rename(self, drafts: list[_Draft]) -> None:
        """Calls of messages that are written again may have come together with others of the same id."""
        seen: set[str] = set()
        made: dict[int, str] = {}
        for draft in drafts:
            for number, part in draft.parts:
                if isinstance(part, ToolCallPart) and part.id in seen and not _stays(draft, self.form):
                    made[id(part)] = _made_id(part.id, draft.stored.id, number)
                    if (found := self.answers.get(id(part))) is not None:
                        made[id(found[2])] = made[id(part)]
                elif isinstance(part, ToolCallPart):
                    seen.add(part.id)
        for draft in drafts if made else []:
            for place, (number, part) in enumerate(draft.parts):
                if isinstance(part, (ToolCallPart, ToolResultPart)) and id(part) in made:
                    draft.parts[place], draft.changed = (number, replace(part, id=made[id(part)])), True

    def _pair(self) -> None:
        """Drop each result that no open call before it asked for."""
        opened = OpenCalls()
        for draft in self.drafts:
            opened.begin(has_calls=bool(draft.calls()))
            kept: list[tuple[int, Part]] = []
            for number, part in draft.parts:
                if isinstance(part, ToolCallPart) and draft.stored.neutral.role == "assistant":
                    opened.add(part.id, part)
                elif isinstance(part, ToolResultPart):
                    if (call := opened.take(part.id, kept[-1][1] if kept else None)) is None:
                        self.made.lose(draft.stored.id, number, "There is no open tool call that this result belongs to.")
                        continue
                    self.answers[id(call)] = (draft, number, part)
                kept.append((number, part))
            if len(kept) != len(draft.parts):
                draft.parts, draft.changed = kept, True
        self.drafts = [draft for draft in self.drafts if draft.parts or not draft.changed]

    def _close_inside(self, draft: _Draft) -> None:
        """Results that are missing here are put directly behind their calls."""
        closed: list[tuple[int, Part]] = []
        for number, part in draft.parts:
            closed.append((number, part))
            if not isinstance(part, ToolCallPart) or draft.stored.neutral.role != "assistant":
                continue
            found = self.answers.get(id(part))
            if found is None:
                closed.append((number, self._interrupted(draft, number, part)))
            elif found[0] is not draft and not self.form.results_inside:
                closed.append((number, self._taken(found)))
        if len(closed) != len(draft.parts):
            draft.parts, draft.changed = closed, True

    def _interrupted(self, draft: _Draft, number: int, call: ToolCallPart) -> ToolResultPart:
        made = ToolResultPart(call.id, INTERRUPTED, is_error=True, name=call.name)
        self.answers[id(call)] = (draft, number, made)
        return made

    def _taken(self, found: tuple[_Draft, int, ToolResultPart]) -> ToolResultPart:
        """The result, removed from the message that it is in."""
        draft, _, result = found
        draft.parts = [each for each in draft.parts if each[1] is not result]
        draft.changed = True
        return result

    def _close_behind(self) -> list[_Draft]:
        """Results behind the messages of their calls. Calls of one answer that are in several messages are written as one."""
        closed: list[_Draft] = []
        place = 0
        while place < len(self.drafts):
            end = place + 1
            while self.drafts[place].answers and end < len(self.drafts) and self.drafts[end].answers:
                end += 1
            group = self.drafts[place:end]
            closed += group
            if group[0].answers and any(draft.calls() for draft in group):
                if len(group) > 1 and not self.form.calls_apart:
                    for draft in group:
                        draft.changed = True
                closed += self._missing(group, self._behind(end))
            place = end
        return [draft for draft in closed if draft.parts or not draft.changed]

    def _behind(self, place: int) -> set[int]:
        """The identities of the results that come directly behind a group of messages."""
        found: set[int] = set()
        for draft in self.drafts[place:]:
            results = list(draft.leading_results())
            found |= {id(result) for result in results}
            if len(results) < len(draft.parts) or not (draft.parts or draft.changed):
                break
        return found

    def _missing(self, group: list[_Draft], behind: set[int]) -> Iterator[_Draft]:
        for draft in group:
            for number, part in draft.parts:
                if not isinstance(part, ToolCallPart):
                    continue
                found = self.answers.get(id(part))
                if found is None:
                    yield _result_draft(draft.stored, number, self._interrupted(draft, number, part))
                elif id(found[2]) not in behind:
                    yield _result_draft(found[0].stored, found[1], self._taken(found))


def _result_draft(stored: Stored, number: int, result: ToolResultPart) -> _Draft:
    """A message of this result alone. What its stored message leaves out is reported there, not here."""
    return _Draft(replace(stored, role="tool", neutral=Neutral("tool", [])), [(number, result)], changed=True)
