"""Follow the arguments of one call while the model writes them, one fragment at a time.

The scanner reads the top level of one JSON object. A string is told piece by piece as it grows; any other
value is told once, when it is complete, so that the `50` of `50000` is never seen. A fragment may end
anywhere, also inside an escape or between the halves of a character, and is looked at once: the cost grows
with the text and with the number of fragments, never with their product.
"""

import json
import math
import re
from collections.abc import Callable
from typing import Final, Literal, NoReturn, TypeAlias, cast

import msgspec

from roomful.domain.shape import Json, clean_json, decode_json

MAX_CHARACTERS: Final = 10 * 1024 * 1024
MAX_DEPTH: Final = 64
"""The arguments themselves are the first level."""
MAX_KEYS: Final = 1000
MAX_DIGITS: Final = 4300


class Key(msgspec.Struct, frozen=True, gc=False):
    """A key and its colon were read; its value follows."""

    key: str


class Piece(msgspec.Struct, frozen=True, gc=False):
    """The next characters of a string."""

    key: str
    text: str


class TextEnd(msgspec.Struct, frozen=True, gc=False):
    """A string is complete; this is the whole of it."""

    key: str
    text: str


class Value(msgspec.Struct, frozen=True, gc=False):
    """A value that is no string is complete."""

    key: str
    value: Json


class Closed(msgspec.Struct, frozen=True, gc=False):
    """The object is complete. Only `Broken` can still follow, when it is not the end of the text."""


class Broken(msgspec.Struct, frozen=True, gc=False):
    """The arguments cannot be read. Said once; whatever comes later is ignored."""

    reason: str


Token: TypeAlias = Key | Piece | TextEnd | Value | Closed | Broken

_State: TypeAlias = Literal[
    "start", "object", "first", "key", "key text", "colon", "value", "text",
    "scalar", "nested", "nested text", "next", "end", "broken",
]  # fmt: skip

_WANTED: Final[dict[_State, str]] = {
    "first": "a key in double quotes or '}'",
    "key": "a key in double quotes",
    "colon": "':' after the key",
    "next": "',' or '}' after the value",
    "end": "nothing after the object",
}


def _matcher(pattern: str) -> Callable[[str, int], re.Match[str]]:
    """For a pattern that matches everywhere, if only the empty text.

    None of these can step back (`++`, `*+`), so none takes longer than the text it is given.
    """
    return cast("Callable[[str, int], re.Match[str]]", re.compile(pattern, re.DOTALL | re.VERBOSE).match)


_SPACE: Final = _matcher(r"[\ \t\n\r]*+")
_WORD: Final = _matcher(r"[-+.0-9A-Za-z]*+")
# Whole characters of a string. The first half of a surrogate pair is whole only when its follower is known.
_CHARACTERS: Final = _matcher(
    r"""(?: [^"\\\x00-\x08\x0b\x0c\x0e-\x1f]++
          | \\ ["\\/bfnrt]
          | \\u (?! [dD][89abAB] ) [0-9a-fA-F]{4}
          | \\u [0-9a-fA-F]{4} (?= [^\\] | \\[^u] | \\u[0-9a-fA-F]{4} )
        )*+"""
)
# Of a nested value only strings and brackets matter until it is complete.
_INSIDE: Final = _matcher(r'(?: [^"\\]++ | \\. )*+')
_OUTSIDE: Final = _matcher(r'[^"{}\[\]]*+ (?: " (?: [^"\\]++ | \\. )*+ " [^"{}\[\]]*+ )*+')

# Half an escape, or the first half of a pair and half of what follows it.
_CUT: Final = re.compile(r"(?:\\u[dD][89abAB][0-9a-fA-F]{2})?(?:\\(?:u[0-9a-fA-F]{0,3})?)?")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


class ArgumentScanner:
    __slots__ = ("_args", "_depth", "_hold", "_is_plain", "_key", "_keys", "_left", "_pieces", "_state")

    def __init__(self) -> None:
        self._args: dict[str, Json] = {}
        self._state: _State = "start"
        self._is_plain = False  # inside a string of which some was read, with nothing held
        self._hold = ""  # what the last fragment ended with that means nothing alone
        self._key = ""
        self._keys = 0
        self._pieces: list[str] = []  # of the string or the raw value now being read
        self._depth = 1
        self._left = MAX_CHARACTERS

    def more(self, text: str) -> bool:
        """Takes a fragment that is only more of a string of which some was told, or of one inside a value,
        and has nothing to decode, as nearly all. False: `feed` takes it."""
        if (
            self._is_plain
            and text.isprintable()
            and '"' not in text
            and "\\" not in text
            and text
            and (left := self._left - len(text)) >= 0
        ):
            self._left = left
            self._pieces.append(text)
            return True
        return False

    def feed(self, text: str) -> list[Token]:
        """What is new with this fragment."""
        tokens: list[Token] = []
        if self._is_plain and self.more(text):
            if self._state == "text":
                tokens.append(Piece(self._key, text))
        elif self._state != "broken":
            try:
                self._scan(text, tokens)
            except _Fault as fault:
                tokens.append(self._break(str(fault)))
        return tokens

    def finish(self) -> list[Token]:
        """No more fragments will come. A call without any text has no arguments."""
        if self._state == "broken" or (self._state == "end" and not self._hold):
            return []
        if self._state in ("start", "object") and not self._hold:
            self._state = "end"
            return [Closed()]
        return [self._break("the text is cut off before its end")]

    def result(self) -> dict[str, Json]:
        """All arguments, once the object is closed."""
        assert self._state == "end"
        return self._args

    def _break(self, reason: str) -> Broken:
        self._state, self._is_plain, self._hold = "broken", False, ""
        self._pieces, self._args = [], {}
        return Broken(reason)

    def _scan(self, text: str, tokens: list[Token]) -> None:
        self._left -= len(text)
        if self._left < 0:
            raise _Fault(f"there are more than {MAX_CHARACTERS} characters")
        if self._hold:
            text, self._hold = self._hold + text, ""
        half = ""
        if not text.isascii():
            if "\ud800" <= text[-1] <= "\udbff":
                text, half = text[:-1], text[-1]
            text = _mend(text)
        at, size = 0, len(text)
        while at < size:
            state = self._state
            if state == "nested" or state == "nested text":
                at = self._nested(text, at, tokens)
            elif state == "text" or state == "key text":
                at = self._string(text, at, tokens)
            elif state == "scalar":
                at = self._scalar(text, at, tokens)
            else:
                at = self._structure(text, at, tokens)
        self._hold += half
        in_string = self._state == "nested text" or (self._state == "text" and bool(self._pieces))
        self._is_plain = in_string and not self._hold

    def _structure(self, text: str, at: int, tokens: list[Token]) -> int:
        """The next mark that holds the object together, or the begin of a value."""
        at = _SPACE(text, at).end()
        if at == len(text):
            return at
        match self._state, text[at]:
            case "start", "\ufeff":
                self._state = "object"
            case "start" | "object", "{":
                self._state = "first"
            case "first" | "key", '"':
                self._state = "key text"
            case "colon", ":":
                self._name(tokens)
                self._state = "value"
            case "value", '"':
                self._state = "text"
            case "value", "{" | "[":
                self._state = "nested"
                return at
            case "value", _:
                self._state = "scalar"
                return at
            case "next", ",":
                self._state = "key"
            case "first" | "next", "}":
                self._state = "end"
                tokens.append(Closed())
            case "start" | "object", _:
                raise _Fault("arguments must be a JSON object")
            case state, mark:
                raise _Fault(f"expected {_WANTED[state]}, found {mark!r}")
        return at + 1

    def _name(self, tokens: list[Token]) -> None:
        self._keys += 1
        if self._keys > MAX_KEYS:
            raise _Fault(f"there are more than {MAX_KEYS} keys")
        tokens.append(Key(self._key))

    def _string(self, text: str, at: int, tokens: list[Token]) -> int:
        """More of a key, or of a string at the top level, decoded."""
        end = _CHARACTERS(text, at).end()
        if end > at:
            piece = _decode(text[at:end])
            self._pieces.append(piece)
            if self._state == "text":
                tokens.append(Piece(self._key, piece))
        if end == len(text):
            return end
        if text[end] == '"':
            self._end_string(tokens)
            return end + 1
        if not _CUT.fullmatch(text, end):
            wrong = text[end : end + 2] if text[end] == "\\" else text[end]
            raise _Fault(f"{wrong!r} cannot stand in a string")
        self._hold = text[end:]
        return len(text)

    def _end_string(self, tokens: list[Token]) -> None:
        whole = self._take()
        if self._state == "key text":
            self._key, self._state = whole, "colon"
        else:
            self._args[self._key], self._state = whole, "next"
            tokens.append(TextEnd(self._key, whole))

    def _scalar(self, text: str, at: int, tokens: list[Token]) -> int:
        """More of a number, true, false or null, which ends only where something else begins."""
        end = _WORD(text, at).end()
        self._pieces.append(text[at:end])
        if end < len(text):
            if text[end] not in " \t\n\r,}":
                raise _Fault(f"{text[end]!r} cannot stand in a value")
            self._end_value(tokens)
        return end

    def _nested(self, text: str, at: int, tokens: list[Token]) -> int:
        """More of a list or an object, of which only the end is looked for."""
        start, size, depth = at, len(text), self._depth
        in_string = self._state == "nested text"
        while at < size:
            if in_string:
                at = _INSIDE(text, at).end()
                if at == size or text[at] == "\\":
                    break
                at += 1
                in_string = False
            at = _OUTSIDE(text, at).end()
            if at == size:
                break
            mark = text[at]
            at += 1
            if mark == '"':
                in_string = True
            elif mark in "{[":
                depth += 1
                if depth > MAX_DEPTH:
                    raise _Fault(f"values are nested deeper than {MAX_DEPTH} levels")
            else:
                depth -= 1
                if depth == 1:
                    self._pieces.append(text[start:at])
                    self._depth = 1
                    self._end_value(tokens)
                    return at
        self._pieces.append(text[start:at])
        self._depth = depth
        self._state = "nested text" if in_string else "nested"
        self._hold = text[at:]
        return size

    def _end_value(self, tokens: list[Token]) -> None:
        value = _parse(self._take())
        self._args[self._key], self._state = value, "next"
        tokens.append(Value(self._key, value))

    def _take(self) -> str:
        whole = "".join(self._pieces)
        self._pieces = []
        return whole


class _Fault(Exception):
    """These arguments cannot be read; the text says why."""


def _mend(text: str) -> str:
    """Join the halves of characters that were cut in two; a half alone becomes U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _decode(characters: str) -> str:
    return _parse(f'"{characters}"') if "\\" in characters else characters


def _parse(raw: str) -> Json:
    try:
        value = decode_json(raw)
    except msgspec.DecodeError:
        return _parse_leniently(raw)
    return clean_json(value) if "\\u0000" in raw else value


def _parse_leniently(raw: str) -> Json:
    """Models break lines inside strings and write lone surrogates, which a strict parser refuses."""
    if _CONTROL.search(raw):
        raise _Fault("control characters must be escaped")
    try:
        return clean_json(_LENIENT.decode(raw))
    except ValueError as error:
        raise _Fault(f"in a value: {error}") from error


def _integer(digits: str) -> int:
    if len(digits.removeprefix("-")) > MAX_DIGITS:
        raise _Fault(f"a number has more than {MAX_DIGITS} digits")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _Fault("a number is too large")
    return number


def _no_constant(name: str) -> NoReturn:
    raise _Fault(f"{name} is not JSON")


_LENIENT: Final = json.JSONDecoder(
    strict=False, parse_int=_integer, parse_float=_finite, parse_constant=_no_constant
)
