"""Values of the types that packages declare as `TypedDict`s: made at random, and checked without mercy for unknown keys."""

import collections.abc
from functools import cache
from os import PathLike
from types import NoneType, UnionType
from typing import IO, Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from typing_extensions import is_typeddict

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=8),
    int: st.integers(0, 2**40),
    float: st.floats(0, 1e6),
    bool: st.booleans(),
    object: JSON,
    Any: JSON,
    NoneType: st.none(),
}


def members(kind: Any) -> list[Any]:
    """The members of a union that are JSON: objects of classes are left out."""
    return [each for each in get_args(kind) if get_origin(each) is not Annotated and not _is_class(each)]


def _is_class(kind: Any) -> bool:
    if get_origin(kind) in (IO, PathLike):
        return True
    return isinstance(kind, type) and get_origin(kind) is None and kind not in SIMPLE and not is_typeddict(kind)


def _is_list(kind: Any) -> bool:
    origin = get_origin(kind)
    return (
        origin in (list, collections.abc.Iterable, collections.abc.Sequence)
        or getattr(origin, "__name__", "") == "SequenceNotStr"
    )


def _fields(kind: Any) -> tuple[dict[str, Any], set[str]]:
    """The types of all fields, and the names of those that must be there. Their own list is wrong where annotations are texts."""
    hints = get_type_hints(kind, include_extras=True)
    needed = {name for name, hint in hints.items() if get_origin(hint) is Required or (kind.__total__ and not _is_optional(hint))}
    return {name: _bare(hint) for name, hint in hints.items()}, needed


def _is_optional(hint: Any) -> bool:
    return get_origin(hint) is NotRequired


def _bare(hint: Any) -> Any:
    while get_origin(hint) in (Required, NotRequired):
        hint = get_args(hint)[0]
    return hint


def _later(hint: Any) -> st.SearchStrategy[Any]:
    return st.deferred(lambda: values_of(hint))


@cache
def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """A strategy for the JSON values of `kind`."""
    kind = getattr(kind, "__value__", kind)
    if kind in SIMPLE:
        return SIMPLE[kind]
    if is_typeddict(kind):
        hints, needed = _fields(kind)
        fields = {name: _later(hint) for name, hint in hints.items()}
        return st.fixed_dictionaries(
            {name: value for name, value in fields.items() if name in needed},
            optional={name: value for name, value in fields.items() if name not in needed},
        )
    if get_origin(kind) is Literal:
        return st.sampled_from(get_args(kind))
    if get_origin(kind) in (Union, UnionType):
        return st.one_of([values_of(each) for each in members(kind)])
    if _is_list(kind):
        return st.lists(values_of(get_args(kind)[0]), max_size=3)
    if get_origin(kind) is dict:
        return st.dictionaries(st.text(max_size=8), values_of(get_args(kind)[1]), max_size=3)
    raise TypeError(f"No rule for {kind}.")


def conforms(value: Any, kind: Any) -> bool:
    """True if `value` is of `kind`, with no key that it does not declare."""
    kind = getattr(kind, "__value__", kind)
    if kind in (object, Any):
        return True
    if kind in SIMPLE:
        return type(value) is kind
    if is_typeddict(kind):
        hints, needed = _fields(kind)
        if not isinstance(value, dict) or not needed <= value.keys() <= hints.keys():
            return False
        return all(conforms(each, hints[name]) for name, each in value.items())
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        return any(conforms(value, each) for each in members(kind))
    if _is_list(kind):
        return isinstance(value, list) and all(conforms(each, get_args(kind)[0]) for each in value)
    if get_origin(kind) is dict:
        return isinstance(value, dict) and all(conforms(each, get_args(kind)[1]) for each in value.values())
    raise TypeError(f"No rule for {kind}.")
