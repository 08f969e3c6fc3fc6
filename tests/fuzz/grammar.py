"""Texts by chance: JSON with everything that JSON allows in how it is written, and ways to damage a text."""

import json
from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

T = TypeVar("T", str, bytes)

PLAIN = "abcxyzABZ019 _-./:@#?&=%+~"
MARKS = "{}[]\",:\\'`<>|()$^*!;"
ODD = "\x00\x01\x08\x0b\x1b\x1f\x7f\x85\xa0\u200b\u200d\u2028\u2029\ufeff\ufffd\r\n\t"
WIDE = "éßñİ\u0131\u017f\u212aﬀΩя漢字क़👩\u0301😀𐀀\U0010ffff"
HALVES = "\ud800\udbff\udc00\udfff"
ESCAPES = (
    *('\\"', "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t", "\\u0061", "\\u0022", "\\u005C", "\\u0000"),
    *("\\u00e9", "\\ud83d\\ude00", "\\uD800\\uDC00", "\\ud83d", "\\ude00", "\\uDBFF", "\\uDC00", "\\u2028"),
)
NUMBERS = (
    *("0", "-0", "-0.0", "1", "50000", "1e5", "1E-7", "1e-999", "9007199254740993", "-9223372036854775809"),
    *("18446744073709551616", "1e308", "0.1", "3.14159", "1e+2", "9" * 40, "0." + "3" * 30, "1" * 400),
)
WRONG_NUMBERS = ("NaN", "Infinity", "-Infinity", "1e999", "01", "1.", ".5", "+1", "0x10", "1e", "--1")
KEYWORDS = ("true", "false", "null")
NAMES = (
    "a", "b", "id", "text", "name", "type", "__proto__", "constructor", "toString", "", "$ref", "é",
    "~1/0",
)  # fmt: skip


def text(chance: Random, longest: int = 12, *, halves: bool = True) -> str:
    """Characters of every kind."""
    kinds = [PLAIN, PLAIN, PLAIN, MARKS, ODD, WIDE] + [HALVES] * halves
    kind = chance.choice(kinds)
    if chance.random() < 0.3:
        kind = PLAIN + MARKS + ODD + WIDE
    return "".join(chance.choices(kind, k=chance.randint(0, longest)))


def json_string(chance: Random, longest: int = 8) -> str:
    raw = PLAIN + "{}[]:,u0d8" + WIDE + "\n\t\r\x7f\u2028\ufeff"
    pieces = [
        chance.choice(ESCAPES) if chance.random() < 0.3 else chance.choice(raw)
        for _ in range(chance.randint(0, longest))
    ]
    return '"' + "".join(pieces) + '"'


def json_scalar(chance: Random) -> str:
    draw = chance.random()
    if draw < 0.45:
        return json_string(chance)
    if draw < 0.7:
        return chance.choice(NUMBERS)
    if draw < 0.8:
        return str(chance.randint(-(10 ** chance.randint(1, 30)), 10**18))
    if draw < 0.85:
        return repr(chance.uniform(-1e9, 1e9))
    return chance.choice(KEYWORDS)


def space(chance: Random) -> str:
    return "" if chance.random() < 0.8 else "".join(chance.choices(" \t\n\r", k=chance.randint(1, 3)))


def json_text(chance: Random, depth: int = 3, names: Sequence[str] = NAMES) -> str:
    """One value, as some program could have written it."""
    draw = chance.random()
    if depth <= 0 or draw < 0.5:
        return json_scalar(chance)
    if draw < 0.75:
        items = [json_text(chance, depth - 1, names) for _ in range(chance.randint(0, 4))]
        return "[" + space(chance) + f"{space(chance)},{space(chance)}".join(items) + space(chance) + "]"
    return json_object(chance, depth, names)


def json_object(chance: Random, depth: int = 3, names: Sequence[str] = NAMES, most: int = 5) -> str:
    pairs = [
        json_key(chance, names) + space(chance) + ":" + space(chance) + json_text(chance, depth - 1, names)
        for _ in range(chance.randint(0, most))
    ]
    return "{" + space(chance) + f"{space(chance)},{space(chance)}".join(pairs) + space(chance) + "}"


def json_key(chance: Random, names: Sequence[str]) -> str:
    if chance.random() < 0.1:
        return json_string(chance)
    name = chance.choice(names)
    if name and chance.random() < 0.15:
        at = chance.randrange(len(name))
        return f'"{name[:at]}\\u{ord(name[at]):04x}{name[at + 1 :]}"'
    return json.dumps(name, ensure_ascii=False)


def value(chance: Random, depth: int = 2, names: Sequence[str] = NAMES) -> Any:
    """A JSON value, in memory."""
    draw = chance.random()
    if depth > 0 and draw < 0.25:
        return [value(chance, depth - 1, names) for _ in range(chance.randint(0, 4))]
    if depth > 0 and draw < 0.5:
        return {chance.choice(names): value(chance, depth - 1, names) for _ in range(chance.randint(0, 4))}
    return scalar(chance)


def scalar(chance: Random) -> Any:
    numbers = (0, 1, -1, 5, 2**31, 2**53 + 1, 2**63, 2**64, -(2**70), 0.5, -0.0, 1e308, 1e-320)
    return chance.choice(
        (None, True, False, "", text(chance, halves=False), text(chance, 40, halves=False), *numbers)
    )


TOKENS = (
    *'{}[]",:\\', "\\u", "\\ud800", "\\u00", "\\x", "\x00", "\x01", "\ufeff", "\n", "tru", "nul", "-", ",,",
    "}}", "[{", '""', *WRONG_NUMBERS,
)  # fmt: skip


def damaged(chance: Random, given: str, tokens: Sequence[str] = TOKENS) -> str:
    """The text with something put in, left out, said twice, moved or cut off."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        at = chance.randint(0, len(given))
        end = min(len(given), at + chance.choice((0, 1, 1, 2, 5, 20)))
        draw = chance.random()
        if draw < 0.45:
            given = given[:at] + chance.choice(tokens) + given[end:]
        elif draw < 0.65:
            given = given[:at] + given[end:]
        elif draw < 0.8:
            given = given[:end] + given[at:]
        elif draw < 0.9:
            given = given[:at] + text(chance, 3) + given[at:]
        else:
            given = given[:at] if chance.random() < 0.5 else given[at:]
    return given


def damaged_bytes(chance: Random, given: bytes) -> bytes:
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randint(0, len(given))
        end = min(len(given), at + chance.choice((0, 1, 1, 3, 30)))
        new = chance.choice(
            (b"", b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\n", b"\r", b'"', b"{", b"\\")
        )
        again = given[at:end] if chance.random() < 0.2 else b""
        given = given[:at] + new + again + given[end:]
    return given


def cut(chance: Random, given: T) -> list[T]:
    """Fragments of it: a few, of one size, or single characters."""
    size, draw = len(given), chance.random()
    if draw < 0.15:
        return [given]
    if draw < 0.35:
        step = chance.randint(1, 5)
        return [given[at : at + step] for at in range(0, size, step)]
    places = sorted({chance.randint(0, size) for _ in range(chance.randint(1, 8))})
    return [given[a:b] for a, b in zip([0, *places], [*places, size], strict=True)]


def damaged_value(chance: Random, given: Any, names: Sequence[str]) -> Any:
    """A document with one or a few of its places changed."""
    for _ in range(chance.choice((1, 1, 2, 3))):
        given = _changed(chance, given, names)
    return given


def _changed(chance: Random, given: Any, names: Sequence[str]) -> Any:
    if isinstance(given, dict) and given and chance.random() < 0.85:
        key, draw = chance.choice(list(given)), chance.random()
        if draw < 0.12:
            return {name: inner for name, inner in given.items() if name != key}
        if draw < 0.22:
            return {**given, chance.choice(names): value(chance, 2, names)}
        if draw < 0.27:
            return {(chance.choice(names) if name == key else name): one for name, one in given.items()}
        return {**given, key: _changed(chance, given[key], names)}
    if isinstance(given, list) and given and chance.random() < 0.85:
        at = chance.randrange(len(given))
        draw = chance.random()
        if draw < 0.1:
            return given[:at] + given[at + 1 :]
        if draw < 0.2:
            return given[: at + 1] + given[at:]
        return [*given[:at], _changed(chance, given[at], names), *given[at + 1 :]]
    if isinstance(given, str) and chance.random() < 0.5:
        return damaged(chance, given)
    return value(chance, 2, names)
