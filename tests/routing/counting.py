"""What the scanner's work comes to, counted in characters that it looked at."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from roomful.routing import scanner as scanner_module


class Count:
    """Stands for a matcher and adds up how far each of its matches had to look."""

    def __init__(self, matcher: Callable[[str, int], re.Match[str]], *, skips_strings: bool) -> None:
        self.matcher = matcher
        self.skips_strings = skips_strings
        self.looked_at = 0

    def __call__(self, text: str, at: int) -> re.Match[str]:
        found = self.matcher(text, at)
        end = found.end()
        in_vain = self.skips_strings and text[end : end + 1] == '"'  # it looked for the closing quote
        self.looked_at += 1 + (len(text) if in_vain else end) - at
        return found


class Counter:
    """Counts from `begin` on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._counts: list[Count] = []
        self._parsed = 0
        self._parse = scanner_module._parse
        for name in ("_SPACE", "_WORD", "_CHARACTERS", "_INSIDE", "_OUTSIDE"):
            self._counts.append(Count(getattr(scanner_module, name), skips_strings=name == "_OUTSIDE"))
            monkeypatch.setattr(scanner_module, name, self._counts[-1])
        monkeypatch.setattr(scanner_module, "_parse", self._counting_parse)

    def _counting_parse(self, raw: str) -> Any:
        self._parsed += len(raw)
        return self._parse(raw)

    def begin(self) -> None:
        self._parsed = 0
        for count in self._counts:
            count.looked_at = 0

    def check(self, length: int, fragments: int) -> None:
        assert sum(count.looked_at for count in self._counts) <= 3 * length + 12 * fragments
        assert self._parsed <= 2 * length + 2 * fragments


ESCAPES = '\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\\ud83d'
SHAPES: dict[str, Callable[[int], str]] = {
    "one string": lambda n: '{"a":"' + "x" * n + '"}',
    "escapes": lambda n: '{"a":"' + "\\n\\ud83d\\ude00" * (n // 14) + '"}',
    "one key": lambda n: '{"' + "\\u0061b" * (n // 7) + '":1}',
    "one number": lambda n: '{"a":0.' + "1" * n + "}",
    "space": lambda n: '{"a":1' + " " * n + "}",
    "one nested string": lambda n: '{"a":["' + "x\\\\" * (n // 3) + '"]}',
    "nested strings": lambda n: '{"a":[' + '"bc",' * (n // 5) + "0]}",
    "brackets": lambda n: '{"a":[' + "[]," * (n // 3) + "0]}",
    "all escapes": lambda n: '{"a":"' + ESCAPES * (n // len(ESCAPES)) + '"}',
    "deep": lambda n: '{"a":' + ("[" * 60 + "]" * 60 + ",").join(["["] + [""] * (n // 121)) + "0]}",
    "many keys": lambda n: "{" + ",".join(f'"{"k" * (n // 1000)}{at}":{at}' for at in range(900)) + "}",
    "many strings": lambda n: "{" + ",".join(f'"{at}":"{"v" * (n // 1000)}"' for at in range(900)) + "}",
}
