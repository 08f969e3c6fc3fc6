"""The values an expression makes, and their bounds."""

import math
from typing import Any, Final, TypeAlias, TypeGuard, cast

Value: TypeAlias = Any
"""None, bool, int, float, str, list and dict, as JSON has them."""

MAX_BITS: Final = 1024
MAX_TEXT: Final = 65_536
MAX_ITEMS: Final = 10_000


class ExpressionError(Exception):
    """What is wrong, in a sentence for the one who wrote the expression."""


def bounded(value: Value) -> Value:
    """The value, if it is one that may be made."""
    match cast(object, value):
        case int() as number if number.bit_length() > MAX_BITS:
            raise ExpressionError("a number became too large")
        case float() as number if not math.isfinite(number):
            raise ExpressionError("a number became too large, or is no number")
        case str() as text if len(text) > MAX_TEXT:
            raise ExpressionError(f"a text became longer than {MAX_TEXT} characters")
        case list() | dict() if len(value) > MAX_ITEMS:
            raise ExpressionError(f"a list became longer than {MAX_ITEMS} items")
        case _:
            return value


def is_number(value: Value) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def kind(value: Value) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"


def as_number(value: Value, what: str) -> int | float:
    if not is_number(value):
        raise ExpressionError(f"{what} needs a number and got {kind(value)}")
    return value


def as_text(value: Value, what: str) -> str:
    if not isinstance(value, str):
        raise ExpressionError(f"{what} needs a text and got {kind(value)}")
    return value


def as_list(value: Value, what: str) -> list[Value]:
    if not isinstance(value, list):
        raise ExpressionError(f"{what} needs a list and got {kind(value)}")
    return cast("list[Value]", value)


def as_object(value: Value, what: str) -> dict[str, Value]:
    if not isinstance(value, dict):
        raise ExpressionError(f"{what} needs an object and got {kind(value)}")
    return cast("dict[str, Value]", value)


def as_count(value: Value, what: str, most: int) -> int:
    """A whole number between -most and most."""
    if not is_number(value) or value != value // 1 or abs(value) > most:
        raise ExpressionError(f"{what} needs a whole number of at most {most}")
    return int(value)


def equal(left: Value, right: Value) -> bool:
    """As JSON compares: true is not 1."""
    return isinstance(left, bool) == isinstance(right, bool) and left == right
