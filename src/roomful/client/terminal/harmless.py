"""Words of others on a terminal. Whatever they are, they are shown, and never obeyed."""

import re
import unicodedata

_JOINERS = "\u200c\u200d"
"""Invisible, and part of how words and pictures are written."""
_PICTURES = {code: chr(0x2400 + code) for code in range(0x20) if code != 0x0A} | {
    0x7F: "\u2421",
    0x09: "    ",
}
_WORDS = re.compile(r"\s*\S+|\s+$")


def harmless(text: str) -> str:
    """The text with every character that could move, colour, hide or turn around something made visible.
    Lines are kept."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(map(_shown, text.replace("\r\n", "\n")))


def one_line(text: str) -> str:
    return harmless(text).replace("\n", "\u240a")


def _shown(character: str) -> str:
    code = ord(character)
    if code in _PICTURES:
        return _PICTURES[code]
    if code < 0x7F:
        return character
    kind = unicodedata.category(character)
    if character in _JOINERS or kind not in ("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"):
        return character
    return f"<U+{code:04X}>"


def width(text: str) -> int:
    """Columns that a harmless text takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if character in _JOINERS or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def wrap(text: str, columns: int) -> list[str]:
    """The lines of a harmless text, none wider than this: broken between words, or in one too long."""
    return [line for row in text.split("\n") for line in _wrap_row(row, max(columns, 2))]


def _wrap_row(row: str, columns: int) -> list[str]:
    lines: list[str] = []
    line = ""
    for word in _WORDS.findall(row):
        if line and width(line) + width(word) > columns:
            lines.append(line)
            line, word = "", word.lstrip()
        line += word
        while width(line) > columns:
            head = head_of(line, columns)
            lines.append(head)
            line = line[len(head) :]
    return [*lines, line]


def head_of(text: str, columns: int) -> str:
    """As much of the beginning as fits."""
    used = 0
    for at, character in enumerate(text):
        used += _columns(character)
        if used > columns:
            return text[:at]
    return text


def fitted(text: str, columns: int) -> str:
    """On one line: cut, with a sign that it was, or filled up with spaces."""
    if width(text) > columns:
        text = head_of(text, columns - 1) + "…"
    return text + " " * (columns - width(text))
