"""What is typed: bytes of a terminal as keys, and keys as a line that is being written."""

import codecs
import re

from roomful.client.terminal.harmless import harmless, head_of, width

ENTER, INTERRUPT, LEAVE = "enter", "interrupt", "leave"
MOST_REMEMBERED = 200
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[@-~]|[^\[O])")
_NAMES = {
    "\r": ENTER,
    "\n": ENTER,
    "\x03": INTERRUPT,
    "\x04": LEAVE,
    "\x7f": "rub",
    "\x08": "rub",
    "\x01": "home",
    "\x05": "end",
    "\x02": "left",
    "\x06": "right",
    "\x15": "clear",
    "\x17": "rub word",
    "\x10": "up",
    "\x0e": "down",
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1b[C": "right",
    "\x1b[D": "left",
    "\x1bOA": "up",
    "\x1bOB": "down",
    "\x1bOC": "right",
    "\x1bOD": "left",
    "\x1b[H": "home",
    "\x1b[F": "end",
    "\x1b[1~": "home",
    "\x1b[4~": "end",
    "\x1b[3~": "delete",
}


class Keys:
    """Bytes come as they come: a character or a sequence may be cut between two reads."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes) -> list[str]:
        """Names of keys; what is no key with a name is a character."""
        text = self._rest + self._decoder.decode(data)
        keys: list[str] = []
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                keys.append(_NAMES.get(text[at], text[at]))
                at += 1
                continue
            found = _SEQUENCE.match(text, at)
            if found is None:
                break
            if (name := _NAMES.get(found.group())) is not None:
                keys.append(name)
            at = found.end()
        self._rest = text[at:][:32]
        return keys


class Line:
    """A line being written, and those before it."""

    def __init__(self) -> None:
        self.text = ""
        self.cursor = 0
        self._before: list[str] = []
        self._at = 0

    def press(self, key: str) -> str | None:
        """The finished line when this key finishes it."""
        if key == ENTER:
            return self._finish()
        if len(key) == 1:
            if key.isprintable() or key in "\u200c\u200d":
                self._replace(self.text[: self.cursor] + key + self.text[self.cursor :], self.cursor + 1)
            return None
        self._edit(key)
        return None

    def clear(self) -> None:
        self._replace("", 0)

    def _finish(self) -> str:
        said = self.text
        if said.strip() and said not in self._before[-1:]:
            self._before = [*self._before, said][-MOST_REMEMBERED:]
        self._at = len(self._before)
        self.clear()
        return said

    def _edit(self, key: str) -> None:
        text, at = self.text, self.cursor
        match key:
            case "rub" if at:
                self._replace(text[: at - 1] + text[at:], at - 1)
            case "delete":
                self._replace(text[:at] + text[at + 1 :], at)
            case "rub word":
                kept = text[:at].rstrip().rpartition(" ")[0]
                kept += " " if kept else ""
                self._replace(kept + text[at:], len(kept))
            case "clear":
                self.clear()
            case "left":
                self.cursor = max(at - 1, 0)
            case "right":
                self.cursor = min(at + 1, len(text))
            case "home":
                self.cursor = 0
            case "end":
                self.cursor = len(text)
            case "up" | "down":
                self._look_back(-1 if key == "up" else 1)
            case _:
                pass

    def _look_back(self, step: int) -> None:
        self._at = min(max(self._at + step, 0), len(self._before))
        text = self._before[self._at] if self._at < len(self._before) else ""
        self._replace(text, len(text))

    def _replace(self, text: str, cursor: int) -> None:
        self.text, self.cursor = text, cursor


def draw_line(prompt: str, line: Line, columns: int) -> tuple[str, int]:
    """The prompt and as much of the line as fits around its cursor; and the cursor's column."""
    prompt = head_of(prompt, max(columns * 2 // 3, 4))
    room = max(columns - width(prompt) - 1, 4)
    before = harmless(line.text[: line.cursor])
    while width(before) > room:
        before = before[1:]
    after = head_of(harmless(line.text[line.cursor :]), room - width(before))
    return prompt + before + after, width(prompt) + width(before)
