"""What JSON does not have is refused before anything is sent: as null it would be another value."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from stillhere import AsyncClient, Client, Spool
from stillhere.http.json_texts import MOST_LEVELS, as_json, fits_json
from stillhere.langgraph import StillhereStore
from stillhere.openai_agents import StillhereSession
from tests.clients.python.conftest import PROJECT
from tests.clients.python.gate import Gate

NAN = float("nan")
SAID = {"role": "user", "text": "x"}


@dataclass
class Score:
    value: float | None


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (NAN, r"^The value is nan"),
        ({"a": [0, {"b": float("inf")}]}, r"^a\[1\]\.b is inf,"),
        ({"big": 10**30, "a": -float("inf")}, r"^a is -inf"),
        ([Score(NAN)], r"^\[0\]\.value is nan"),
    ],
)
def test_the_error_names_the_place(value: Any, place: str) -> None:
    with pytest.raises(ValueError, match=place):
        as_json(value)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({1, 2}, r"^The value is of the type set, which JSON does not have"),
        ({"a": [0, {"b": {1}}]}, r"^a\[1\]\.b is of the type set"),
        ({"id": UUID(int=1), "big": 10**30, "text": "\ud800", "none": None, "a": object()}, r"^a is of the type object"),
        ([Score(1.0), {"of": Client}], r"^\[1\]\.of is of the type type"),
        ({("a", "b"): 1}, "keys must be"),
    ],
)
def test_what_json_has_no_form_for_is_named_by_its_place(value: Any, place: str) -> None:
    with pytest.raises(TypeError, match=place):
        as_json(value)


def test_everything_else_is_written() -> None:
    shared = [None, 1.5]
    assert as_json({"a": shared, "b": shared}) == b'{"a":[null,1.5],"b":[null,1.5]}'
    assert as_json([Score(None), "null", 0.5]) == b'[{"value":null},"null",0.5]'
    circle: list[Any] = [None]
    circle.append(circle)
    with pytest.raises(ValueError, match="Circular"):
        as_json(circle)


@pytest.fixture
def seen(gate: Gate) -> Callable[[], list[str]]:
    """What came to the gate, except reads."""
    return lambda: [each for each in gate.seen if not each.startswith("GET")]


def test_nothing_of_it_is_sent(gate: Gate, secret: str, client: Client, tmp_path: Path, seen: Callable[[], list[str]]) -> None:
    chat = client.open_session("t").id
    given = gate.url, secret, PROJECT
    late = [SAID] * 600 + [{**SAID, "metadata": {"score": NAN}}]
    with Client(*given) as gated, Spool(tmp_path / "spool.db", *given) as spool:
        wrong: dict[str, Callable[[], Any]] = {
            r"ops\[0\]\.value\.score is nan": lambda: gated.put_value("n", "k", {"score": NAN}),
            r"metadata\.score": lambda: gated.open_session("u", metadata={"score": NAN}),
            r"ops\[600\]\.metadata": lambda: gated.save(chat, late),
            r"ops\[600\]\.metadata\.score": lambda: spool.save(late, external_id="t"),
            r"opening\.metadata": lambda: spool.save([SAID], external_id="u", opening={"metadata": {"score": NAN}}),
            r"ops\[0\]\.value\.v is nan": lambda: asyncio.run(AsyncClient(*given).put_value("n", "k", {"v": NAN})),
        }
        for place, call in wrong.items():
            with pytest.raises(ValueError, match=place):
                call()
        assert (seen(), spool.waiting) == ([], 0)


def test_adapters_refuse_it(gate: Gate, secret: str, client: Client, seen: Callable[[], list[str]]) -> None:
    store = StillhereStore(gate.url, secret, PROJECT)
    with pytest.raises(ValueError, match=r"value\.v is nan"):
        store.put(("a",), "k", {"v": NAN})
    item: Any = {"role": "user", "content": "x", "score": float("inf")}
    with Client(gate.url, secret, PROJECT) as gated:
        session = StillhereSession("t", client=gated)
        with pytest.raises(ValueError, match=r"raw\.score is inf"):
            asyncio.run(session.add_items([item]))
        with pytest.raises(TypeError, match=r"ops\[1\]\.raw\.content is of the type set"):
            asyncio.run(session.add_items([item | {"score": 1}, item | {"score": 1, "content": {"x"}}]))
        wrong: list[Any] = [SAID, "hello"]
        for single in wrong:
            with pytest.raises(TypeError, match="list of items"):
                asyncio.run(session.add_items(single))
    assert not any(each.endswith(("/batch", "/changes")) for each in seen())


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value} if levels % 2 else [value]
    return value


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ({"a": [1, "é", 10**30]}, True),
        ({"a": None, "text": "null"}, True),
        ({"text": "[{" * 100}, True),
        ([[0]] * 100, True),
        (nested(MOST_LEVELS), True),
        (nested(MOST_LEVELS + 1), False),
        (nested(1_000), False),
        ({"a": [0, NAN]}, False),
        ({"a": "\ud800"}, False),
        ({"\udc00": 1}, False),
    ],
)
def test_what_fits_into_a_request(value: Any, fits: bool) -> None:
    assert fits_json(value) is fits
