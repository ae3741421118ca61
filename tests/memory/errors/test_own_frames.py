"""Own frames are shown, those of libraries are folded; whether a frame is the project's own is read from its path."""

from typing import Any

import pytest

from memory_app.errors.own_frames import frame_groups, top_own_frame
from memory_app.errors.stack_frames import NOWHERE

PYTHON = """Traceback (most recent call last):
  File "/usr/lib/python3.12/threading.py", line 1, in run
    self.run()
    ~~~~~~~~^^
  File "/home/ana/shop/cart.py", line 3, in total
    return add()
  File "/home/ana/shop/.venv/lib/python3.12/site-packages/money/sums.py", line 9, in add
    raise KeyError
KeyError: 'x'
"""
NODE = """TypeError: x is not a function
    at total (/home/ana/shop/cart.js:3:4)
    at next (/home/ana/shop/node_modules/express/index.js:1:2)
    at node:internal/process:3:4
"""
GO = (
    "panic: x\n\ngoroutine 1 [running]:\nruntime.gopanic(0x1)\n\t/usr/local/go/src/runtime/panic.go:9 +0x1d\n"
    "main.add(0x1)\n\t/home/ana/cart.go:12 +0x1d\n"
)
JAVA = """java.lang.IllegalStateException: m
\tat java.base/java.util.Map.get(Map.java:3)
\tat com.shop.Cart.add(Cart.java:12)
\tat org.springframework.web.Servlet.go(Servlet.java:3)
\t... 12 more
"""
DOTNET = """System.Exception: m
   at System.Linq.Enumerable.First(String name)
   at Shop.Cart.Add(String name) in /app/Cart.cs:line 12
"""
LISTED = [
    {"file": "node_modules/a/index.js", "function": "a", "line": 1},
    {"file": "src/b.js", "function": "b", "line": 2},
    {"file": "C:\\Python312\\Lib\\threading.py", "function": None, "line": None},
]


@pytest.mark.parametrize(
    ("stack", "folds", "own"),
    [
        pytest.param(PYTHON, [False, True, False, True, False], "total", id="python"),
        pytest.param(NODE, [False, True], "total", id="node"),
        pytest.param(GO, [False, True, False], "main.add", id="go"),
        pytest.param(JAVA, [False, True, False, True, False], "com.shop.Cart.add", id="java"),
        pytest.param(DOTNET, [False, True, False], "Shop.Cart.Add", id="dotnet"),
        pytest.param(LISTED, [True, False, True], "b", id="list"),
    ],
)
def test_frames_of_libraries_are_folded(stack: Any, folds: list[bool], own: str) -> None:
    groups = frame_groups(stack)
    assert [group.folded for group in groups] == folds
    assert top_own_frame(stack).function == own
    if isinstance(stack, str):
        assert "\n".join(group.text for group in groups) == stack.rstrip("\n")


def test_the_source_of_a_frame_is_folded_with_it() -> None:
    first = frame_groups(PYTHON)[1]
    assert (first.frames, first.text.count("\n")) == (1, 2)
    assert [group.frames for group in frame_groups(PYTHON)] == [0, 1, 1, 1, 0]


def test_who_reports_a_frame_may_say_whose_it_is() -> None:
    frames = [
        {"file": "django/views.py", "function": "get", "own": False},
        {"file": "vendor/a.py", "function": "ours", "own": True},
    ]
    assert [group.folded for group in frame_groups(frames)] == [True, False]
    assert top_own_frame(frames).function == "ours"


@pytest.mark.parametrize("stack", ["no frames here", LISTED[:1], 'File "/usr/lib/python3.12/a.py", line 1, in a'])
def test_without_own_frames_nothing_is_folded(stack: Any) -> None:
    assert [group.folded for group in frame_groups(stack)] == [False]
    assert top_own_frame(stack) == NOWHERE


@pytest.mark.parametrize("stack", [None, "", [], 7, ["odd"]])
def test_what_is_no_stack_has_no_frames(stack: Any) -> None:
    assert frame_groups(stack) == []
    assert top_own_frame(stack) == NOWHERE
