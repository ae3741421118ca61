"""A session's messages as runs, their turns, and the answers and tool calls of each. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby, pairwise

from sessions_app.chats.reading.trace_entries import Entry, Tokens
from sessions_app.core.web.template_tags.formatting import speaker
from sessions_app.pages.session.parts.tools import argument_of, short, short_argument

# A turn may have thousands of calls: these many are drawn.
MOST_SPANS = 200
# The units of the drawings.
WIDTH = 1_000
THIN = 4


@dataclass(frozen=True, slots=True)
class Bar:
    x: int
    width: int


@dataclass(frozen=True, slots=True)
class Span:
    """An answer, or a call of a tool. `name`: who says it, or the tool's. `ms`: None if both ends were saved together: the
    time is not known then."""

    kind: str
    name: str
    words: str
    position: int
    message_id: str
    bar: Bar
    ms: float | None = None
    tokens: Tokens = field(default_factory=Tokens)
    model: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """From a question to the next one. `hidden`: spans that are not shown. `bar`, `token_bar`: its share of the longest one."""

    entries: list[Entry]
    began: datetime
    ended: datetime
    spans: list[Span]
    hidden: int
    tokens: Tokens
    models: list[str]
    tools: int
    failed: int
    bar: Bar = Bar(0, 0)
    token_bar: Bar = Bar(0, 0)

    @property
    def question(self) -> Entry | None:
        return self.entries[0] if self.entries[0].asks else None

    @property
    def words(self) -> str:
        return short(self.entries[0].text) if self.question else ""

    @property
    def ms(self) -> float:
        return (self.ended - self.began).total_seconds() * 1_000

    @property
    def writer(self) -> str | None:
        """Who wrote the answers: the page load or agent run that saved the first of them."""
        answers = [entry for entry in self.entries if not entry.asks]
        return (answers or self.entries)[0].writer


@dataclass(frozen=True, slots=True)
class Totals:
    turns: int
    ms: float
    tools: int
    failed: int
    tokens: Tokens
    models: list[str]


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring turns that were answered by one writer; None: the messages were copied, imported or restored."""

    writer: str | None
    turns: list[Turn]
    totals: Totals


def turns_of(entries: list[Entry]) -> list[Turn]:
    """Every turn ends where the next one begins, at the latest: an answer that was edited long after did not take that long."""
    groups = list[list[Entry]]()
    for entry in entries:
        if entry.asks or not groups:
            groups.append([])
        groups[-1].append(entry)
    begins = [*(group[0].at for group in groups), None]
    turns = [_turn(group, following) for group, (_, following) in zip(groups, pairwise(begins), strict=True)]
    longest, most = max((turn.ms for turn in turns), default=0), max((turn.tokens.total for turn in turns), default=0)
    return [_with_bars(turn, longest, most) for turn in turns]


def runs_of(turns: list[Turn]) -> list[Run]:
    groups = [(writer, list(some)) for writer, some in groupby(turns, key=lambda turn: turn.writer)]
    return [Run(writer, some, totals_of(some)) for writer, some in groups]


def totals_of(turns: list[Turn]) -> Totals:
    tokens = sum((turn.tokens for turn in turns), Tokens())
    models = list(dict.fromkeys(model for turn in turns for model in turn.models))
    tools, failed = sum(turn.tools for turn in turns), sum(turn.failed for turn in turns)
    # What comes before the first question, such as instructions, is no turn, unless there is nothing else.
    asked = sum(turn.question is not None for turn in turns) or min(1, len(turns))
    return Totals(asked, sum(turn.ms for turn in turns), tools, failed, tokens, models)


def top_tools(entries: Iterable[Entry], most: int) -> list[tuple[str, int]]:
    return Counter(call.name or "tool" for entry in entries for call in entry.calls).most_common(most)


def _turn(entries: list[Entry], following: datetime | None) -> Turn:
    began = entries[0].at
    answers = [entry for entry in entries if not entry.asks]
    ended = max([began, *(entry.until for entry in answers)])
    ended = ended if following is None else max(began, min(ended, following))
    spans = list(_spans(entries, began, ended))
    tools = [span for span in spans if span.kind == "tool"]
    return Turn(
        entries=entries,
        began=began,
        ended=ended,
        spans=spans[:MOST_SPANS],
        hidden=max(0, len(spans) - MOST_SPANS),
        tokens=sum((entry.tokens for entry in entries), Tokens()),
        models=list(dict.fromkeys(entry.model for entry in entries if entry.model)),
        tools=len(tools),
        failed=sum(span.state == "failed" for span in tools),
    )


def _spans(entries: list[Entry], began: datetime, ended: datetime) -> Iterator[Span]:
    answered = {result.id: (entry, result) for entry in entries for result in entry.results}
    for entry in entries:
        place = (entry.position, entry.id)
        if not entry.asks and (entry.text or entry.tokens.known):
            until = min(entry.until, ended)
            state = "interrupted" if entry.interrupted else ""
            ms = _ms(entry.at, until) or None
            who, bar = speaker(entry.role, entry.format), _bar(entry.at, until, began, ended)
            yield Span("answer", who, short(entry.text), *place, bar, ms, entry.tokens, entry.model, state)
        for call in entry.calls:
            found, result = answered.get(call.id, (None, None))
            later = found is not None and found is not entry
            until = max(entry.at, found.at) if found is not None and later else entry.at
            start = entry.until if later and entry.until <= until else entry.at
            state = "no result" if result is None else "failed" if result.is_error else ""
            argument = short_argument(argument_of(call.input))
            bar = _bar(start, min(until, ended), began, ended)
            ms = (_ms(start, until) or None) if later else None
            yield Span("tool", call.name or "tool", argument, *place, bar, ms, state=state)


def _ms(start: datetime, until: datetime) -> float:
    return max(0.0, (until - start).total_seconds() * 1_000)


def _bar(start: datetime, until: datetime, began: datetime, ended: datetime) -> Bar:
    """Its place in the turn."""
    whole = _ms(began, ended)
    if not whole:
        return Bar(0, THIN)
    x = min(WIDTH - THIN, round(WIDTH * _ms(began, start) / whole))
    return Bar(x, max(THIN, min(WIDTH - x, round(WIDTH * _ms(start, until) / whole))))


def _with_bars(turn: Turn, longest: float, most: int) -> Turn:
    bars = [Bar(0, max(THIN, round(WIDTH * part / whole)) if part and whole else 0) for part, whole in
            ((turn.ms, longest), (turn.tokens.total, most))]  # fmt: skip
    return replace(turn, bar=bars[0], token_bar=bars[1])
