"""What similar errors have in common: kind and place, or kind and message without what varies."""

import pytest

from memory_app.errors.fingerprints import alike, identify
from memory_app.errors.stack_frames import Frame
from memory_app.models.error import FINGERPRINT_LENGTH

OWN = Frame(file="shop/cart.py", function="add", line=3)


def place(kind: str = "E", file: str = OWN.file, function: str = OWN.function, message: str = "no user 42") -> str:
    return alike(message=message, kind=kind, own=Frame(file=file, function=function, line=OWN.line))[0]


def told(message: str = "no user 42", kind: str = "E", function: str = OWN.function) -> str:
    return alike(message=message, kind=kind, own=Frame(file=OWN.file, function=function, line=OWN.line))[1]


def test_errors_of_one_place_are_alike_whatever_they_say() -> None:
    assert place() == place(message="too many carts") == place(kind="java.lang.E") == place(file="/srv/shop/cart.py")
    assert place() == place(function="Cart.add")
    assert len({place(), place(kind="F"), place(file="shop/till.py"), place(function="remove")}) == 4
    assert len(place()) == FINGERPRINT_LENGTH


def test_without_a_kind_or_a_function_no_place_is_alike() -> None:
    assert (place(kind=""), place(function=""), place(function="<anonymous>")) == ("", "", "")


def test_errors_that_say_the_same_are_alike_wherever_they_are() -> None:
    assert told() == told("no user 7") == told(function="remove") == told(kind="java.lang.E")
    assert len({told(), told("no cart 42"), told(kind="F")}) == 3
    assert len(told()) == FINGERPRINT_LENGTH


def test_of_a_missing_key_its_name_is_what_is_said() -> None:
    assert told("price", kind="KeyError") != told("total", kind="KeyError")
    assert told("'price'", kind="shop.KeyError") != told("'total'", kind="shop.KeyError")


@pytest.mark.parametrize("message", ["", "42", "42 at 0x7f3a", "'word' of 12", "<number> <uuid>", "no 'word'"])
def test_a_message_without_a_word_of_its_own_is_like_no_other(message: str) -> None:
    assert told(message) == ""


def test_one_word_of_three_letters_is_enough() -> None:
    assert told("the 42") != ""


@pytest.mark.parametrize("letter", ["X", "x", "_"])
def test_every_letter_of_a_name_counts(letter: str) -> None:
    def fingerprint(kind: str, function: str) -> str:
        return identify(message="m", kind=kind, stack=[{"file": "a.py", "function": function, "line": 1}]).fingerprint

    names = [("Error", "get"), (f"{letter}Error", "get"), ("Error", f"{letter}get"), ("Error", f"get{letter}")]
    assert len({fingerprint(*name) for name in names}) == len(names)
