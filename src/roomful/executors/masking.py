"""Secrets that were put into a request do not come back out of it, in whatever spelling."""

import base64
import html
import json
import re
from collections.abc import Iterator
from typing import Final

from roomful.domain.shape import Json
from roomful.tools.reading import as_list, as_object
from roomful.tools.templates import Env

MASK: Final = "[secret]"
_SHORTEST: Final = 4
"""A shorter value would be found everywhere by chance."""
_SHORTEST_ENCODED: Final = 8


class Masker:
    """Reads secrets for one call and remembers them; then hides them in all that the call gives back."""

    def __init__(self, env: Env) -> None:
        self._env = env
        self._secrets: set[str] = set()
        self._found: re.Pattern[str] | None = None

    def read(self, name: str) -> str:
        """For templates: gives the value and remembers it."""
        value = self._env(name)
        self.learn(value)
        return value

    def learn(self, secret: str) -> None:
        if len(secret) >= _SHORTEST:
            self._secrets.add(secret)
            self._found = None

    def text(self, text: str) -> str:
        if not self._secrets:
            return text
        if self._found is None:
            longest_first = sorted(self._secrets, key=len, reverse=True)
            self._found = re.compile("|".join(map(_pattern, longest_first)))
        return self._found.sub(MASK, text)

    def json(self, value: Json) -> Json:
        """The value with every string, key and number that holds a secret hidden."""
        if not self._secrets:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, int | float):
            return MASK if str(value) in self._secrets else value
        if (items := as_list(value)) is not None:
            return [self.json(item) for item in items]
        if (inner := as_object(value)) is not None:
            return {self.text(key): self.json(item) for key, item in inner.items()}
        return value


def _pattern(secret: str) -> str:
    """As it is or as a URL has it, each character either way; or as JSON, HTML, hex and base64 have it."""
    raw = secret.encode("utf-8", "replace")
    encoded = [
        form for form in (raw.hex(), raw.hex().upper(), *_base64_forms(raw)) if len(form) >= _SHORTEST_ENCODED
    ]
    forms = {
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        html.escape(secret),
        *encoded,
    }
    return "|".join(["".join(map(_in_a_url, secret)), *map(re.escape, sorted(forms, key=len, reverse=True))])


def _in_a_url(character: str) -> str:
    escapes = "".join(f"%{byte:02x}" for byte in character.encode("utf-8", "replace"))
    either_case = re.sub("[a-f]", lambda found: f"[{found[0]}{found[0].upper()}]", escapes)
    return f"(?:{re.escape(character)}|{either_case}{r'|[+]' if character == ' ' else ''})"


def _base64_forms(raw: bytes) -> Iterator[str]:
    """Also inside something longer, as in Basic credentials: at each of three alignments, the characters
    that the neighbours have no part in."""
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + raw).decode("ascii")
        end = None if (before + len(raw)) % 3 == 0 else encoded.index("=") - 1
        whole = encoded[(before * 8 + 5) // 6 : end]
        yield whole
        yield whole.translate(str.maketrans("+/", "-_"))
