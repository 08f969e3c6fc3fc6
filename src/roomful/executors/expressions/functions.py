"""What can be called. A function takes the values it was given, checks them, and makes a bounded one."""

import math
from collections.abc import Callable
from typing import Final, TypeAlias, cast

from .values import (
    MAX_TEXT,
    ExpressionError,
    Value,
    as_count,
    as_list,
    as_number,
    as_object,
    as_text,
    bounded,
    equal,
    is_number,
    kind,
)

Args: TypeAlias = list[Value]

MAX_INDEX: Final = 10_000_000
_TOO_LONG: Final = f"a text became longer than {MAX_TEXT} characters"


class Function:
    """Called with `least` to `most` values."""

    def __init__(self, call: Callable[[Args], Value], least: int = 1, most: int = 1) -> None:
        self.call = call
        self.least = least
        self.most = most


def power(base: Value, exponent: Value) -> Value:
    left, right = as_number(base, "a power"), as_number(exponent, "a power")
    if isinstance(left, int) and isinstance(right, int) and right >= 0:
        if left.bit_length() * right > 4096:
            raise ExpressionError("a number became too large")
        return left**right
    result: Value = float(left) ** float(right)
    if isinstance(result, complex):
        raise ExpressionError("a root of a negative number is no number")
    return result


def _numbers(args: Args, what: str) -> list[int | float]:
    """Numbers given one by one, or as one list."""
    given = as_list(args[0], what) if len(args) == 1 and not is_number(args[0]) else args
    if not given:
        raise ExpressionError(f"{what} needs at least one number")
    return [as_number(one, what) for one in given]


def _of_one(name: str) -> Function:
    """A function of one number from `math`."""
    function: Callable[[float], float] = getattr(math, name)

    def call(args: Args) -> Value:
        try:
            return function(as_number(args[0], name))
        except ValueError:
            raise ExpressionError(f"{name} is not defined for this number") from None

    return Function(call)


def _log(args: Args) -> Value:
    try:
        return math.log(*(as_number(one, "log") for one in args))
    except ValueError:
        raise ExpressionError("log is not defined for these numbers") from None


def _sum(args: Args) -> Value:
    return 0 if args == [[]] else sum(_numbers(args, "sum"))


def _mean(numbers: list[int | float]) -> float:
    return math.fsum(numbers) / len(numbers)


def _median(numbers: list[int | float]) -> int | float:
    ordered, middle = sorted(numbers), len(numbers) // 2
    return ordered[middle] if len(numbers) % 2 else _mean(ordered[middle - 1 : middle + 1])


def _round(args: Args) -> Value:
    places = as_count(args[1], "round", 15) if len(args) > 1 else 0
    rounded = round(as_number(args[0], "round"), places)
    return int(rounded) if places <= 0 else rounded


def _number(args: Args) -> Value:
    if is_number(args[0]):
        return args[0]
    text = as_text(args[0], "number").strip().replace(",", "")[:400]
    try:
        return bounded(int(text) if text.lstrip("+-").isdigit() else float(text))
    except ValueError:
        raise ExpressionError("number needs a text that is a number") from None


def _text(value: Value) -> str:
    match value:
        case str():
            return value
        case None | True | False:
            return {None: "null", True: "true", False: "false"}[value]
        case int() | float():
            return repr(value)
        case _:
            raise ExpressionError(f"text needs a number, a text or true or false, and got {kind(value)}")


def _length(args: Args) -> int:
    if not isinstance(args[0], str | list | dict):
        raise ExpressionError(f"len needs a text, a list or an object, and got {kind(args[0])}")
    return len(cast("Args", args[0]))


def _replace(args: Args) -> str:
    text, old, new = (as_text(one, "replace") for one in args)
    if not old:
        raise ExpressionError("replace needs a text to look for")
    if len(text) + text.count(old) * len(new) > 2 * MAX_TEXT:
        raise ExpressionError(_TOO_LONG)
    return text.replace(old, new)


def _split(args: Args) -> list[str]:
    separator = as_text(args[1], "split") if len(args) > 1 else " "
    if not separator:
        raise ExpressionError("split needs a text to split at")
    return as_text(args[0], "split").split(separator, 20_000)


def _join(args: Args) -> str:
    separator = as_text(args[1], "join") if len(args) > 1 else ""
    texts = [_text(item) for item in as_list(args[0], "join")]
    if sum(map(len, texts)) + len(separator) * len(texts) > 2 * MAX_TEXT:
        raise ExpressionError(_TOO_LONG)
    return separator.join(texts)


def _slice(args: Args) -> Value:
    if not isinstance(args[0], str | list):
        raise ExpressionError(f"slice needs a text or a list, and got {kind(args[0])}")
    stop = as_count(args[2], "slice", MAX_INDEX) if len(args) > 2 else None
    return cast("Args", args[0])[as_count(args[1], "slice", MAX_INDEX) : stop]


def _sort(args: Args) -> Args:
    values = as_list(args[0], "sort")
    if not (all(is_number(one) for one in values) or all(isinstance(one, str) for one in values)):
        raise ExpressionError("sort needs a list of numbers or a list of texts")
    return sorted(values)


def _unique(args: Args) -> Args:
    found: Args = []
    for item in as_list(args[0], "unique"):
        if not any(equal(item, one) for one in found):
            found.append(item)
        if len(found) > 500:
            raise ExpressionError("unique takes at most 500 different values")
    return found


def _pluck(args: Args) -> Args:
    """One field of every object of a list."""
    name = as_text(args[1], "pluck")
    return [as_object(item, "pluck").get(name) for item in as_list(args[0], "pluck")]


def _end(args: Args, at: int) -> Value:
    values = as_list(args[0], "first and last")
    return values[at] if values else None


_OF_ONE: Final = (
    *("floor", "ceil", "trunc", "sqrt", "exp", "log10", "log2"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "radians", "degrees"),
)
FUNCTIONS: dict[str, Function] = {
    **{name: _of_one(name) for name in _OF_ONE},
    "abs": Function(lambda args: abs(as_number(args[0], "abs"))),
    "min": Function(lambda args: min(_numbers(args, "min")), 1, 100),
    "max": Function(lambda args: max(_numbers(args, "max")), 1, 100),
    "sum": Function(_sum, 1, 100),
    "avg": Function(lambda args: _mean(_numbers(args, "avg")), 1, 100),
    "mean": Function(lambda args: _mean(_numbers(args, "mean")), 1, 100),
    "median": Function(lambda args: _median(_numbers(args, "median")), 1, 100),
    "round": Function(_round, 1, 2),
    "pow": Function(lambda args: power(args[0], args[1]), 2, 2),
    "log": Function(_log, 1, 2),
    "number": Function(_number),
    "text": Function(lambda args: _text(args[0])),
    "str": Function(lambda args: _text(args[0])),
    "len": Function(_length),
    "count": Function(_length),
    "lower": Function(lambda args: as_text(args[0], "lower").lower()),
    "upper": Function(lambda args: as_text(args[0], "upper").upper()),
    "trim": Function(lambda args: as_text(args[0], "trim").strip()),
    "starts": Function(lambda args: as_text(args[0], "starts").startswith(as_text(args[1], "starts")), 2, 2),
    "ends": Function(lambda args: as_text(args[0], "ends").endswith(as_text(args[1], "ends")), 2, 2),
    "replace": Function(_replace, 3, 3),
    "split": Function(_split, 1, 2),
    "join": Function(_join, 1, 2),
    "slice": Function(_slice, 2, 3),
    "sort": Function(_sort),
    "reverse": Function(lambda args: as_list(args[0], "reverse")[::-1]),
    "unique": Function(_unique),
    "first": Function(lambda args: _end(args, 0)),
    "last": Function(lambda args: _end(args, -1)),
    "keys": Function(lambda args: list(as_object(args[0], "keys"))),
    "values": Function(lambda args: list(as_object(args[0], "values").values())),
    "pluck": Function(_pluck, 2, 2),
    "coalesce": Function(lambda args: next((one for one in args if one is not None), None), 1, 100),
}
