"""The rules of a fingerprint one by one: kind, message, file and function, each in the shapes in which they come."""

from typing import Any

import pytest

from memory_app.errors.fingerprints import identify, normalise
from memory_app.errors.stack_frames import Frame
from memory_app.models.error import FINGERPRINT_LENGTH

CALL = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n'


def at(file: str, function: str = "f", line: int = 1) -> list[dict[str, Any]]:
    return [{"file": file, "function": function, "line": line}]


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return identify(**{"message": "m", **one}).fingerprint == identify(**{"message": "m", **other}).fingerprint


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("user 42 of 1,200.5", "user <number> of <number>"),
        ("at 2026-11-21T08:00:01", "at <number>T<number>"),
        ("job 550e8400-e29b-41d4-a716-446655440000", "job <uuid>"),
        ("from 0x7f3a and 4f3c2a1b9d", "from <hex> and <hex>"),
        ("GET https://a.example/x?id=1 failed", "GET <url> failed"),
        ("open /tmp/a.txt", "open <path>"),
        ("of ana@shop.example", "of <email>"),
        ("say 'word' or \"two\"", "say <text> or <text>"),
        ("  a \n b  ", "a b"),
        ("error TS2345", "error TS2345"),
        ("No module named 'numpy'", "no module named 'numpy'"),
        ("No module named 'u_12345'", "No module named <text>"),
        ("HTTP 404 for 12", "HTTP 404 for <number>"),
    ],
)  # fmt: skip
def test_what_stands_for_what_varies(message: str, kept: str) -> None:
    assert " ".join(normalise(message).split()) == normalise(message)
    assert normalise(message) == kept


@pytest.mark.parametrize(
    ("message", "kind", "stack", "found"),
    [
        ("TypeError: x is undefined", "", None, ("TypeError", "x is undefined")),
        ("Uncaught TypeError: x is undefined", "", None, ("TypeError", "x is undefined")),
        ("x is undefined", "TypeError", None, ("TypeError", "x is undefined")),
        ("TypeError: x is undefined", "TypeError", None, ("TypeError", "x is undefined")),
        ("java.lang.E: m", "E", None, ("E", "m")),
        ("E: m", "java.lang.E", None, ("java.lang.E", "m")),
        # Where the kind that was said and the one in the message disagree, the message is all message.
        ("TypeError: x", "ValueError", None, ("ValueError", "TypeError: x")),
        ("fetch failed: timeout", "fetch failed", None, ("fetch failed", "timeout")),
        ("timeout", "fetch failed", None, ("fetch failed", "timeout")),
        ("it failed", "", None, ("", "it failed")),
        ("it failed", "", "no stack", ("", "it failed")),
        ("it failed", "", at("a.py"), ("", "it failed")),
        ("it failed", "", "TypeError: it failed\n    at f (a.js:1:2)", ("TypeError", "it failed")),
        ("it failed", "", "  TypeError: it failed  \n    at f (a.js:1:2)", ("TypeError", "it failed")),
        ("it failed", "", "somewhere\nTypeError: it failed", ("", "it failed")),
        ("it failed", "", "TypeError\n    at f (a.js:1:2)\n    at g (a.js:3:4)", ("TypeError", "it failed")),
        (": it failed", "", None, ("", ": it failed")),
        ("it failed", "RangeError", "TypeError: it failed\n    at f (a.js:1:2)", ("RangeError", "it failed")),
        ("it failed", "", f"{CALL}    g()\nshop.CartError: it failed", ("shop.CartError", "it failed")),
        ("it failed", "", f"{CALL}    Wrong: source\nCartError", ("CartError", "it failed")),
        ("it failed", "", f"{CALL}    g()\nOne: a\nTwo: b", ("One", "it failed")),
        ("it failed", "", f"{CALL}    g()", ("", "it failed")),
    ],
)  # fmt: skip
def test_the_kind_and_the_message_without_it(message: str, kind: str, stack: Any, found: tuple[str, str]) -> None:
    identity = identify(message=message, kind=kind, stack=stack)
    assert (identity.kind, identity.message) == found
    assert len(identity.fingerprint) == FINGERPRINT_LENGTH


@pytest.mark.parametrize("kind", ["java.lang.E", "*os.E", "&E", "shop::E", " E ", "a.b::E"])
def test_a_kind_counts_without_package_and_pointer(kind: str) -> None:
    assert same({"kind": kind}, {"kind": "E"})
    assert not same({"kind": kind}, {"kind": "F"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # The host of an address is no folder; its path counts.
        ("https://shop.example/app.js", "app.js"),
        ("https://shop.example/app.js", "https://cdn.example:8080/app.js"),
        ("webpack://shop/src/cart.js", "src/cart.js"),
        ("file:///srv/shop/cart.py", "/build/shop/cart.py"),
        ("app.js?v=1", "app.js"),
        ("app.js#top", "app.js"),
        ("./shop/../shop/cart.py", "shop/cart.py"),
        ("shop/./cart.py", "shop/cart.py"),
        ("shop/../cart.py", "shop/cart.py"),
        ("https://shop.example/http://c/app.js", "c/app.js"),
        ("shop//cart.py", "shop/cart.py"),
        ("C:/shop/cart.py", "/srv/shop/cart.py"),
        ("D:\\shop\\cart.py", "shop/cart.py"),
        ("/a/b/c/shop/cart.py", "/x/shop/cart.py"),
        ("/app/main.py", "/workspace/main.py"),
        ("/code/main.py", "main.py"),
        ("cart/cart.py", "cart.py"),
        ("cart/cart.test.py", "cart.test.py"),
        ("shop/cart/cart.py", "cart.py"),
        ("s/app.4f3c2a1b.js", "s/app.js"),
        ("s/app-4f3c2a1b99.js", "s/app.js"),
        ("4f3c2a1b/s/app.js", "99aa12ff/s/app.js"),
    ],
)
def test_one_file_in_two_shapes(one: str, other: str) -> None:
    assert same({"stack": at(one)}, {"stack": at(other)})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://shop.example/a/app.js", "https://shop.example/b/app.js"),
        ("https://shop.example/a/app.js", "app.js"),
        ("shop/cart.py", "blog/cart.py"),
        ("shop/cart.py", "shop/till.py"),
        # Only what an image begins with is left out, and only where nothing follows it but the file.
        ("app/main.py", "main.py"),
        ("/lib/main.py", "main.py"),
        ("/app/shop/main.py", "main.py"),
        ("/a/app/main.py", "main.py"),
        ("cart/cart_test.py", "cart_test.py"),
        ("s/app.4f3c.js", "s/app.js"),
    ],
)
def test_two_files(one: str, other: str) -> None:
    assert not same({"stack": at(one)}, {"stack": at(other)})


@pytest.mark.parametrize(
    ("file", "one", "other"),
    [
        ("a.py", "shop.Cart.add", "add"),
        ("a.rs", "shop::cart::add", "add"),
        ("a.rs", "shop::add::{{closure}}", "add"),
        ("a.rs", "shop::add::h0123456789abcdef", "add"),
        ("a.php", "Shop\\Cart->add", "add"),
        ("a.rb", "Cart#add", "add"),
        ("a.go", "shop/cart.(*Cart).Add", "Add"),
        ("a.go", "main.Add.func1", "main.Add.func2"),
        ("a.go", "main.Add.func1.2", "Add"),
        ("a.java", "java.base/shop.Cart.add", "add"),
        ("a.java", "java.base/add", "add"),
        ("a.php", "Shop\\add", "add"),
        ("a.js", "(*Cart).add", "Cart.add"),
        ("a.java", "Cart.lambda$add$0", "lambda$add$1"),
        ("a.cs", "Shop.Cart.<Add>d__1.MoveNext", "Add"),
        ("a.cs", "Shop.Cart.<Add>b__0_0", "Add"),
        ("a.cs", "Add(String name)", "Add"),
        ("a.js", "async Cart.add", "Cart.add"),
        ("a.js", "new Cart", "Cart"),
        ("a.js", "Cart.add [as push]", "Cart.add"),
        ("a.js", "Object.add", "add"),
        ("a.js", "window.add", "add"),
        ("a.ts", "shop.Cart.add", "Cart.add"),
        ("a.vue?x", "shop.Cart.add", "Cart.add"),
        ("a.py", " add ", "add"),
        ("a.py", "add.", "add"),
    ],
)
def test_one_function_in_two_shapes(file: str, one: str, other: str) -> None:
    """On other lines, which count only where no function is known."""
    assert same({"stack": at(file, one, 1)}, {"stack": at(file, other, 2)})
    assert not same({"stack": at(file, one)}, {"stack": at(file, "remove")})


@pytest.mark.parametrize(
    "name", ["", "?", "<anonymous>", "anonymous", "<unknown>", "Cart.<anonymous>", "(anonymous)", " ? ", "Cart.?"]
)
def test_without_a_function_s_name_the_line_counts(name: str) -> None:
    assert same({"stack": at("a.js", name, 7)}, {"stack": at("a.js", "", 7)})
    assert not same({"stack": at("a.js", name, 7)}, {"stack": at("a.js", name, 8)})
    assert not same({"stack": at("a.js", name, 7)}, {"stack": [{"file": "a.js", "function": name}]})


def test_the_frame_is_told_as_it_was_read() -> None:
    assert identify(message="m", stack=at("shop/a.py", "Cart.add", 7)).frame == Frame("shop/a.py", "Cart.add", 7)
    assert identify(message="m").frame == Frame()


KEPT: dict[str, dict[str, Any]] = {
    "4475ed9df77e361ba1757c2e9b728583": {"message": "m"},
    "263931b560f7bea8308bd76738e71c7d": {"message": "TypeError: x of 42 is undefined", "stack": at("shop/a.js", "Cart.add", 7)},
    "09acdcd3894653d305ea292f75f60d6e": {"message": "m", "kind": "E", "stack": at("shop/a.py", "", 7)},
    "7dad47319c0aebab1e166eedd1ea3a86": {"message": "m", "kind": "E", "stack": [{"file": "a.py", "function": "?"}]},
    "6b226a6a678bfb2ff098b313ed3e264b": {"message": "404: Not Found", "kind": "HTTPError"},
    "ed77f817351ccf5cbef0fc573f80e71d": {"message": "'price'", "kind": "KeyError"},
}


@pytest.mark.parametrize(("fingerprint", "report"), KEPT.items())
def test_stored_fingerprints_are_found_again(fingerprint: str, report: dict[str, Any]) -> None:
    """Another one for the same report would make every known error a new one after an update."""
    assert identify(**report).fingerprint == fingerprint


def test_in_a_script_the_class_counts_and_elsewhere_not() -> None:
    assert not same({"stack": at("a.js", "Cart.add")}, {"stack": at("a.js", "List.add")})
    assert same({"stack": at("a.py", "Cart.add")}, {"stack": at("a.py", "List.add")})


@pytest.mark.parametrize(
    ("kind", "one", "other", "told"),
    [
        ("KeyError", "'price'", "'total'", True),
        ("shop.NoSuchElementException", "'price'", "'total'", True),
        ("KeyError", "'price_1234'", "'total_5678'", False),
        ("KeyError", "in 'price'", "in 'total'", False),
        ("HTTPError", "404", "500", True),
        ("HTTPError", "404 Not Found", "500 Not Found", True),
        ("HTTPError", "4041", "5001", False),
        ("HTTPError", "of 404", "of 500", False),
        ("ValueError", "404", "500", False),
        ("ValueError", "'price'", "'total'", False),
    ],
)
def test_some_kinds_say_what_their_message_is(kind: str, one: str, other: str, told: bool) -> None:
    assert same({"message": one, "kind": kind}, {"message": other, "kind": kind}) is not told
