"""The walk through the tree. It counts its steps, and what it gives back has been measured."""

import math
from typing import Final, cast

from .functions import FUNCTIONS, power
from .parsing import Node, parse
from .values import ExpressionError, Value, as_count, as_number, bounded, equal, is_number, kind

MAX_STEPS: Final = 20_000
MAX_RESULT: Final = 1_000_000
_CONSTANTS: Final = {"pi": math.pi, "e": math.e}


def evaluate(source: str, fields: dict[str, Value]) -> Value:
    """A JSON value. Raises ExpressionError."""
    try:
        value = _Walk(fields).value(parse(source))
        _measure(value)
        return value
    except RecursionError:
        raise ExpressionError("the expression or its values are nested too deep") from None
    except MemoryError:
        raise ExpressionError("the expression needs too much memory") from None
    except ZeroDivisionError:
        raise ExpressionError("there is a division by zero") from None
    except OverflowError:
        raise ExpressionError("a number became too large") from None


class _Walk:
    def __init__(self, fields: dict[str, Value]) -> None:
        self._fields = fields
        self._left = MAX_STEPS

    def value(self, node: Node) -> Value:
        self._spend(1)
        match node:
            case ("value", value):
                return value
            case ("name", name):
                return self._named(name)
            case ("at", holder, key):
                return _looked_up(self.value(holder), self.value(key))
            case ("run", first, run):
                return self._run(self.value(first), run)
            case ("not", inner):
                return not self.value(inner)
            case ("negative", inner):
                return -as_number(self.value(inner), "-")
            case ("choice", condition, then, otherwise):
                return self.value(then if self.value(condition) else otherwise)
            case ("list", items):
                return [self.value(item) for item in items]
            case ("object", pairs):
                return {key: self.value(item) for key, item in pairs}
            case ("call", name, args):
                return self._call(name, args)
            case _:
                raise AssertionError(node[0])

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise ExpressionError("the expression takes too many steps")

    def _named(self, name: str) -> Value:
        if name == "input":
            return self._fields
        if name in self._fields:
            return self._fields[name]
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        raise ExpressionError(f"there is no {name!r}: the input's fields are input.NAME or NAME")

    def _run(self, value: Value, run: list[tuple[str, Node]]) -> Value:
        for operator, node in run:
            if operator == "or":
                value = value or self.value(node)
            elif operator == "and":
                value = value and self.value(node)
            else:
                value = bounded(_applied(operator, value, self.value(node)))
        return value

    def _call(self, name: str, nodes: list[Node]) -> Value:
        function = FUNCTIONS.get(name.lower())
        if function is None:
            raise ExpressionError(f"there is no function {name!r}; there are {', '.join(sorted(FUNCTIONS))}")
        if not function.least <= len(nodes) <= function.most:
            raise ExpressionError(
                f"{name} takes {function.least} to {function.most} values and got {len(nodes)}"
            )
        args = [self.value(node) for node in nodes]
        self._spend(sum(_weight(arg) for arg in args))
        return bounded(function.call(args))


def _weight(value: Value) -> int:
    """What it costs to hand a value to a function: more for what it has to walk through."""
    if isinstance(value, str):
        return len(value) // 1000
    return len(cast("list[Value]", value)) // 10 if isinstance(value, list | dict) else 0


def _looked_up(holder: Value, key: Value) -> Value:
    if isinstance(holder, dict):
        if not isinstance(key, str):
            raise ExpressionError("an object's keys are texts")
        return cast("dict[str, Value]", holder).get(key)
    if isinstance(holder, list | str):
        items = cast("list[Value]", holder)
        at = as_count(key, "an index", 10_000_000) if not isinstance(key, str) else None
        if at is None:
            raise ExpressionError(f"{kind(holder)} has no {key[:40]!r}: use an index")
        return items[at] if -len(items) <= at < len(items) else None
    raise ExpressionError(f"{kind(holder)} has nothing inside to look up")


def _applied(operator: str, left: Value, right: Value) -> Value:
    match operator:
        case "==":
            return equal(left, right)
        case "!=":
            return not equal(left, right)
        case "in":
            return _contains(right, left)
        case "not in":
            return not _contains(right, left)
        case "<" | "<=" | ">" | ">=":
            return _ordered(operator, left, right)
        case "^":
            return power(left, right)
        case "+" if not is_number(left) or not is_number(right):
            return _joined(left, right)
        case _:
            return _calculated(operator, as_number(left, operator), as_number(right, operator))


def _ordered(operator: str, left: Value, right: Value) -> bool:
    if kind(left) != kind(right) or kind(left) not in ("a number", "a text"):
        raise ExpressionError(f"{kind(left)} and {kind(right)} cannot be ordered")
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[operator]


def _contains(holder: Value, item: Value) -> bool:
    if isinstance(holder, str) and isinstance(item, str):
        return item in holder
    if isinstance(holder, list):
        return any(equal(item, one) for one in cast("list[Value]", holder))
    if isinstance(holder, dict):
        return isinstance(item, str) and item in holder
    raise ExpressionError(f"{kind(item)} cannot be looked for in {kind(holder)}")


def _joined(left: Value, right: Value) -> Value:
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        return cast("list[Value]", left) + cast("list[Value]", right)
    raise ExpressionError(f"{kind(left)} and {kind(right)} cannot be added; text(x) makes a text")


def _calculated(operator: str, left: int | float, right: int | float) -> int | float:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            exact = isinstance(left, int) and isinstance(right, int) and left % right == 0
            return left // right if exact else left / right
        case "//":
            return left // right
        case "%":
            return left % right
        case _:
            raise AssertionError(operator)


def _measure(value: Value) -> None:
    """Refuses a result that is larger than its parts let one think: the same list may stand in it often."""
    left, waiting = MAX_RESULT, [value]
    while waiting:
        item = waiting.pop()
        left -= 8
        if isinstance(item, str):
            left -= len(item)
        elif isinstance(item, dict):
            inner = cast("dict[str, Value]", item)
            left -= sum(map(len, inner))
            waiting.extend(inner.values())
        elif isinstance(item, list):
            waiting.extend(cast("list[Value]", item))
        else:
            bounded(item)
        if left < 0:
            raise ExpressionError("the result is too large")
