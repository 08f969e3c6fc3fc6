"""From text to a tree. A node is a tuple with a word in front; operators that bind alike make one node."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from .values import ExpressionError, bounded

Node: TypeAlias = tuple[Any, ...]

MAX_SOURCE: Final = 4096
MAX_DEPTH: Final = 50

_TOKEN: Final = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?(?![A-Za-z0-9_.]))"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<text>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"|(?P<mark>\*\*|//|==|!=|<=|>=|&&|\|\||[-+*/%^<>!?:.,()\[\]{}])"
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'", "/": "/"}
_SPELLINGS: Final = {"||": "or", "&&": "and", "!": "not", "**": "^"}
_LOOKALIKES: Final = str.maketrans({"\u00d7": "*", "\u00f7": "/", "\u2212": "-", "\u00b7": "*"})
_RESERVED: Final = frozenset({"or", "and", "not", "in", "if", "else"})
_WORDS: Final = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_TIGHTNESS: Final = {
    **dict.fromkeys(("or",), 1),
    **dict.fromkeys(("and",), 2),
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in", "not in"), 4),
    **dict.fromkeys(("+", "-"), 5),
    **dict.fromkeys(("*", "/", "//", "%"), 6),
}
_NOT: Final = 3
_COMPARISON: Final = 4
_SIGN: Final = 7


class Token(NamedTuple):
    kind: str
    text: str
    at: int


def parse(source: str) -> Node:
    return _Parser(list(_tokens_of(source))).whole()


def _tokens_of(source: str) -> Iterator[Token]:
    if len(source) > MAX_SOURCE:
        raise ExpressionError(f"the expression is longer than {MAX_SOURCE} characters")
    source = source.translate(_LOOKALIKES)
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if not match:
            raise ExpressionError(f"{source[at]!r} at {at + 1} is not part of an expression")
        kind, text = str(match.lastgroup), match[0]
        if kind == "mark" or text in _RESERVED:
            yield Token("mark", _SPELLINGS.get(text, text), at)
        elif kind != "space":
            yield Token(kind, text, at)
        at = match.end()
    yield Token("end", "", at)


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._choice()
        if self._next.kind != "end":
            raise self._unexpected()
        return node

    def _choice(self) -> Node:
        self._deepen()
        node = self._operators(1)
        if self._take("?"):
            then = self._choice()
            self._need(":")
            node = ("choice", node, then, self._choice())
        elif self._take("if"):
            condition = self._operators(1)
            self._need("else")
            node = ("choice", condition, node, self._choice())
        self._depth -= 1
        return node

    def _inside(self, least: int) -> Node:
        """The operand of a sign, of `not` or of a power."""
        self._deepen()
        node = self._operators(least)
        self._depth -= 1
        return node

    def _deepen(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ExpressionError(f"the expression is nested deeper than {MAX_DEPTH}")

    def _operators(self, least: int) -> Node:
        left = self._operand(least)
        while (operator := self._operator()) and _TIGHTNESS[operator] >= least:
            level = _TIGHTNESS[operator]
            run: list[tuple[str, Node]] = []
            while operator and _TIGHTNESS[operator] == level:
                self._at += 2 if operator == "not in" else 1
                run.append((operator, self._operators(level + 1)))
                operator = self._operator()
            if level == _COMPARISON and len(run) > 1:
                raise ExpressionError("comparisons cannot be chained: join them with 'and'")
            left = ("run", left, run)
        return left

    def _operator(self) -> str:
        """The operator that comes next, not yet taken; empty when there is none."""
        if self._next.kind != "mark":
            return ""
        if self._next.text == "not" and self._tokens[self._at + 1][:2] == ("mark", "in"):
            return "not in"
        return self._next.text if self._next.text in _TIGHTNESS else ""

    def _operand(self, least: int) -> Node:
        if least <= _NOT and self._take("not"):
            return ("not", self._inside(_NOT))
        if self._take("-"):
            return ("negative", self._inside(_SIGN))
        if self._take("+"):
            return self._inside(_SIGN)
        base = self._postfix()
        return ("run", base, [("^", self._inside(_SIGN))]) if self._take("^") else base

    def _postfix(self) -> Node:
        node = self._primary()
        while True:
            if self._take("."):
                node = ("at", node, ("value", self._name()))
            elif self._take("["):
                node = ("at", node, self._choice())
                self._need("]")
            elif self._next[:2] == ("mark", "("):
                raise ExpressionError("only the listed functions can be called, by their plain names")
            else:
                return node

    def _primary(self) -> Node:
        token = self._next
        self._at += 1
        match token.kind, token.text:
            case "number", text:
                return ("value", bounded(int(text) if text.isdigit() else float(text)))
            case "text", text:
                return ("value", _unescaped(text[1:-1]))
            case "name", name:
                return self._named(name)
            case "mark", "(":
                node = self._choice()
                self._need(")")
                return node
            case "mark", "[":
                return ("list", self._items("]", self._choice))
            case "mark", "{":
                return ("object", self._items("}", self._pair))
            case _:
                self._at -= 1
                raise self._unexpected()

    def _named(self, name: str) -> Node:
        if name in ("Math", "math") and self._take("."):
            name = self._name()
        if self._take("("):
            return ("call", name, self._items(")", self._choice))
        return ("value", _WORDS[name]) if name in _WORDS else ("name", name)

    def _pair(self) -> Node:
        key = _unescaped(self._next.text[1:-1]) if self._next.kind == "text" else self._next.text
        if self._next.kind not in ("name", "text"):
            raise self._unexpected()
        self._at += 1
        self._need(":")
        return (key, self._choice())

    def _items(self, end: str, item: Callable[[], Node]) -> list[Node]:
        items: list[Node] = []
        while not self._take(end):
            if items:
                self._need(",")
            items.append(item())
        return items

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _name(self) -> str:
        if self._next.kind != "name":
            raise self._unexpected()
        self._at += 1
        return self._tokens[self._at - 1].text

    def _take(self, mark: str) -> bool:
        taken = self._next[:2] == ("mark", mark)
        self._at += taken
        return taken

    def _need(self, mark: str) -> None:
        if not self._take(mark):
            raise ExpressionError(f"{mark!r} is missing at {self._next.at + 1}")

    def _unexpected(self) -> ExpressionError:
        if self._next.kind == "end":
            return ExpressionError("the expression ends too early")
        return ExpressionError(f"{self._next.text[:40]!r} at {self._next.at + 1} is not expected there")


def _unescaped(text: str) -> str:
    def letter(found: re.Match[str]) -> str:
        if found[1] not in _ESCAPES:
            raise ExpressionError(f"\\{found[1]} is no escape: write \\n, \\t, \\r, \\\\, \\\" or \\'")
        return _ESCAPES[found[1]]

    return re.sub(r"\\(.)", letter, text)
