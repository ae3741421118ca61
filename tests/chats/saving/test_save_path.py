"""The way of one save through the code: each domain is entered once, and none that was left is entered again."""

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from django.contrib.auth.models import User

from tests.support.chat import Chat

ROOT = Path(__file__).resolve().parents[3] / "sessions_app"
# Used by all domains.
SHARED = {"core", "models"}


@cache
def module_of_file(name: str) -> str:
    """Its module in `sessions_app`; empty: none, or shared code."""
    path = Path(name)
    if not path.is_relative_to(ROOT) or path.relative_to(ROOT).parts[0] in SHARED:
        return ""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def module_of(frame: FrameType | None) -> str:
    """The module in `sessions_app` whose code runs in this frame, or called it through shared code; empty: none."""
    while frame is not None:
        if module := module_of_file(frame.f_code.co_filename):
            return module
        frame = frame.f_back
    return ""


def domain(frame: FrameType | None) -> str:
    return module_of(frame).partition(".")[0]


def saving_module(frame: FrameType | None) -> str:
    module = module_of(frame)
    return module if module.startswith("chats.saving.") else ""


def entered(work: Callable[[], Any], place: Callable[[FrameType | None], str] = domain) -> list[str]:
    """The places that `work` enters, in order. A place is entered by a call from another one, not by a return to it."""
    found: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and (here := place(frame)) and here != place(frame.f_back):
            found.append(here)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return found


def test_a_save_enters_each_domain_once(api: Callable[..., Any], alice: User) -> None:
    chat = Chat(api(alice))
    chat.say("m1", "first")
    ops = [
        {"op": "upsert", "id": "m1", "role": "user", "text": "first and more"},
        {"op": "upsert", "id": "m2", "role": "user", "text": "second"},
        {"op": "delete", "id": "m2"},
        {"op": "upsert", "id": "m3", "role": "user", "text": "third"},
        {"op": "truncate", "after": "m1"},
    ]
    assert entered(lambda: chat.ops(*ops)) == ["accounts", "chats", "events"]


def test_a_save_of_an_epoch_that_is_over_only_tells_of_the_copies_that_it_made(api: Callable[..., Any], alice: User) -> None:
    chat = Chat(api(alice))
    chat.say("m1", "first")
    chat.clear()
    known, late = ({"op": "upsert", "id": "m1", "role": "user", "text": text} for text in ("first", "first and more"))
    assert entered(lambda: chat.post("changes", ops=[known])) == ["accounts", "chats"]
    assert entered(lambda: chat.post("changes", ops=[late])) == ["accounts", "chats", "events"]


def test_a_save_hardly_comes_back_to_a_file_of_saving_that_it_left(api: Callable[..., Any], alice: User) -> None:
    """Once to the service and to the receipts, twice to the batch: a message, the writing."""
    chat = Chat(api(alice))
    chat.say("m1", "first")
    way = entered(lambda: chat.say("m2", "second"), saving_module)
    assert {"chats.saving.save_rules", "chats.saving.receipts"} <= set(way)
    assert len(way) - len(set(way)) <= 4, " ".join(way)
