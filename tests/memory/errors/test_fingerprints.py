"""The same error is one fingerprint in every shape; different ones never are."""

import itertools
import time
from typing import Any

import pytest

from memory_app.errors.fingerprints import identify, normalise
from memory_app.errors.stack_frames import Frame, top_frame
from tests.memory.errors.sentry_events import as_text, events, needs_samples
from tests.memory.errors.stack_traces import PYTHON, STACKS

PLATFORMS = {
    "glitchtip-incoming-django_template_error": "python",
    "glitchtip-incoming-python_zero_division": "python",
    "glitchtip-incoming-js_error_with_context": "javascript",
    "glitchtip-incoming-small_js_error_source": "javascript",
    "glitchtip-incoming-dotnet_divide_zero": "csharp",
    "glitchtip-incoming-go_file_not_found": "go",
}


@needs_samples
def test_recorded_errors_are_told_apart() -> None:
    found = {name: identify(**report).fingerprint for name, report in events().items()}
    for one, other in itertools.combinations(found, 2):
        is_same = one.replace("incoming", "oss") == other
        assert (found[one] == found[other]) is is_same, (one, other)


@needs_samples
@pytest.mark.parametrize(("name", "platform"), PLATFORMS.items())
def test_a_recorded_error_is_one_in_both_shapes(name: str, platform: str) -> None:
    report = events()[name]
    text = as_text(report, platform)
    assert isinstance(text["stack"], str)
    fingerprint = identify(**report).fingerprint
    assert identify(**text).fingerprint == fingerprint
    # And as a console prints it.
    assert identify(message=f"{report['kind']}: {report['message']}", stack=report["stack"]).fingerprint == fingerprint


@pytest.mark.parametrize(("text", "frame"), STACKS.values(), ids=STACKS)
def test_the_top_frame_of_a_text(text: str, frame: Frame) -> None:
    assert top_frame(text) == frame
    listed = [{"file": frame.file, "function": frame.function, "line": frame.line}, {"file": "other.x", "function": "main"}]
    one, other = (identify(message="m", kind="E", stack=stack).fingerprint for stack in (text, listed))
    assert one == other


@pytest.mark.parametrize(
    "pair",
    [
        ("user 42 not found", "user 7 not found"),
        ("job 550e8400-e29b-41d4-a716-446655440000 failed", "job 6BA7B810-9DAD-11D1-80B4-00C04FD430C8 failed"),
        ("no object at 0x7f3a2b", "no object at 0xdeadbeef"),
        ("commit 4f3c2a1b9d is gone", "commit 99aa12ff0c34 is gone"),
        ("open /tmp/a/b.txt: no such file", "open C:\\users\\x.txt: no such file"),
        ("cannot read ./cfg/a.toml", "cannot read src/shop/b.toml"),
        ("GET https://a.example/x?id=1 failed", "GET http://b.example:8080/ failed"),
        ("unknown column 'a' in \"b\"", 'unknown column \'it\' in "c \\" d"'),
        ("took 1,200.5ms at 2026-11-21T08:00:01Z", "took 3ms at 2025-01-01T23:59:59.123Z"),
        ("can't connect to 10.0.0.1:5432", "can't connect to 192.168.17.4:80"),
        ("a   b\n c", "a b c"),
        ("no account of ana@shop.example", "no account of ben.smith+new@mail.other.org"),
        (r"cannot open C:\Program Files\shop\a.txt now", "cannot open /srv/shop/a.txt now"),
        (r"cannot open C:\\Users\\ana\\a.txt now", "cannot open /home/ana/a.txt now"),
        (r"cannot open \\server\share\a.txt", "cannot open /mnt/share/a.txt"),
        (r"cannot read src\shop\a.toml", "cannot read src/shop/b.toml"),
        ("Cannot find module '/app/dist/a.js'", "Cannot find module '/srv/dist/b.js'"),
        ("KeyError: 'user_12345'", "KeyError: 'user_99871'"),
        ("took 404 ms", "took 500 ms"),
        ("got 404 rows", "got 500 rows"),
    ],
)
def test_what_varies_is_folded(pair: tuple[str, str]) -> None:
    assert normalise(pair[0]) == normalise(pair[1])


@pytest.mark.parametrize(
    "pair",
    [
        ("TS2345: wrong argument", "TS2322: wrong argument"),
        ("unexpected closing tag </div>", "unexpected closing tag </span>"),
        ("read denied", "write denied"),
        ("isn't there, can't go on", "isn't there, won't go on"),
        ("and/or expected", "either/or expected"),
        ("HTTP 404", "HTTP 500"),
        ("Request failed with status code 404", "Request failed with status code 503"),
        ("404 Client Error: Not Found for url: https://a.example/", "410 Client Error: Gone for url: https://a.example/"),
        ("the server answered 502", "the server answered 504"),
        ("HTTP Error 403: Forbidden", "HTTP Error 401: Forbidden"),
        ("No module named 'numpy'", "No module named 'pandas'"),
        ("cannot import name 'a' from 'b' (/x/y.py)", "cannot import name 'c' from 'b' (/x/y.py)"),
        ("'Cart' object has no attribute 'add'", "'Cart' object has no attribute 'remove'"),
        ("Cannot read properties of undefined (reading 'id')", "Cannot read properties of undefined (reading 'name')"),
        ("Cannot find module 'left-pad'", "Cannot find module 'express'"),
        ('Undefined array key "price"', 'Undefined array key "total"'),
        ("undefined method 'add' for nil", "undefined method 'sum' for nil"),
    ],
)
def test_what_matters_is_kept(pair: tuple[str, str]) -> None:
    assert normalise(pair[0]) != normalise(pair[1])


def at(file: str, function: str = "f", line: int = 1) -> list[dict[str, Any]]:
    return [{"file": file, "function": function, "line": line}]


SAME: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"message": "TypeError: x is undefined"}, {"message": "x is undefined", "kind": "TypeError"}),
    ({"message": "Uncaught TypeError: x is undefined"}, {"message": "x is undefined", "kind": "TypeError"}),
    (
        {"message": "division by zero", "stack": PYTHON},
        {"message": "division by zero", "kind": "ZeroDivisionError", "stack": at("cart/views.py", "get")},
    ),
    ({"message": "m", "kind": "java.lang.E"}, {"message": "m", "kind": "E"}),
    ({"message": "m", "stack": at("a.js", line=1)}, {"message": "m", "stack": at("a.js", line=2)}),
    ({"message": "m", "stack": at("/s/app.4f3c2a1b.js")}, {"message": "m", "stack": at("/s/app.99aa12ff.js?v=3")}),
    ({"message": "m", "stack": at("/app/main.py")}, {"message": "m", "stack": at("main.py")}),
    ({"message": "m", "stack": at("C:\\shop\\a\\b.cs")}, {"message": "m", "stack": at("/build/a/b.cs")}),
    ({"message": "m", "stack": at("C:\\app\\main.py")}, {"message": "m", "stack": at("main.py")}),
    ({"message": "KeyError: 'price'"}, {"message": "'price'", "kind": "KeyError"}),
    ({"message": "m", "stack": at("a.js", "Object.render")}, {"message": "m", "stack": at("a.js", "render")}),
    ({"message": "m", "stack": at("a.go", "main.(*Cart).Add")}, {"message": "m", "stack": at("a.go", "Add")}),
    ({"message": "m", "stack": "no stack of any kind"}, {"message": "m"}),
]


@pytest.mark.parametrize("pair", SAME)
def test_one_error_however_it_is_told(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert identify(**pair[0]).fingerprint == identify(**pair[1]).fingerprint


@pytest.mark.parametrize(("kind", "one", "other"), [("KeyError", "'price'", "'total'"), ("HTTPError", "404", "500")])
def test_a_kind_may_say_what_its_message_is(kind: str, one: str, other: str) -> None:
    assert identify(message=one, kind=kind).fingerprint != identify(message=other, kind=kind).fingerprint
    assert identify(message=one, kind="Failure").fingerprint == identify(message=other, kind="Failure").fingerprint


def test_kind_message_file_and_function_tell_apart_and_without_a_function_the_line() -> None:
    named: dict[str, Any] = {"message": "m", "kind": "E", "stack": at("shop/views.py", "get")}
    others = [
        named,
        {**named, "message": "n"},
        {**named, "kind": "F"},
        {**named, "stack": at("blog/views.py", "get")},
        {**named, "stack": at("shop/views.py", "post")},
        {**named, "stack": at("shop/views.py", "?", 1)},
        {**named, "stack": at("shop/views.py", "<anonymous>", 2)},
        {**named, "stack": at("shop/bundle.js", "Cart.render")},
        {**named, "stack": at("shop/bundle.js", "List.render")},
        {**named, "stack": []},
        {**named, "message": "m|E", "kind": ""},
    ]
    assert len({identify(**other).fingerprint for other in others}) == len(others)


def test_the_parts_cannot_be_shifted_into_each_other() -> None:
    assert identify(message="b", kind="a").fingerprint != identify(message="a b").fingerprint
    assert identify(message='a","b').fingerprint != identify(message="b", kind='a"').fingerprint


@pytest.mark.parametrize(
    "piece",
    [
        "'",
        "‘",
        "a/",
        "1:",
        "at f (",
        "at x(\n",
        "f\n",
        'File "a',
        '  File "a", line 1\n',
        "(((",
        "a@",
        "a@b.",
        "x.",
        "http ",
        "status ",
        "key '",
        "'a",
        "C:\\a b ",
        "\\\\",
    ],
)
def test_hostile_texts_take_no_time(piece: str) -> None:
    text = piece * (40_000 // len(piece))
    began = time.thread_time()
    identify(message=text, kind=text, stack=text)
    identify(message="m", stack=at(text, text))
    assert time.thread_time() - began < 1
