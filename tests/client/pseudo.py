"""A person at a terminal: the real command in a real pseudo-terminal, and what a small terminal would show.

Only the few control codes that the command uses are understood. Any other is noted in `strange`: nothing that
others wrote may reach a terminal as a code.
"""

import codecs
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from roomful.client.terminal.harmless import width
from tests.servers.roomful import PATIENCE, Caller

_CODE = re.compile(r"\x1b\[(\d*)([A-Za-z])")


class Display:
    """Rows without end: what scrolled away is still there."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.rows: list[list[str]] = [[]]
        self.strange: list[str] = []
        self._row = 0
        self._column = 0
        self._rest = ""

    def feed(self, text: str) -> None:
        text = self._rest + text
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                self._put(text[at])
                at += 1
                continue
            found = _CODE.match(text, at)
            if found is None:
                if len(text) - at < 8 and re.fullmatch(r"\x1b(\[\d*)?", text[at:]):
                    break
                self.strange.append(text[at : at + 12])
                at += 1
                continue
            self._obey(found[2], int(found[1] or "1"), found[0])
            at = found.end()
        self._rest = text[at:]

    def _obey(self, code: str, count: int, whole: str) -> None:
        match code:
            case "A":
                self._row = max(self._row - count, 0)
            case "C":
                self._column += count
            case "J":
                del self.rows[self._row + 1 :]
                del self.rows[self._row][self._column :]
            case "m":
                pass
            case _:
                self.strange.append(whole)

    def _put(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._down()
        elif not character.isprintable() and character not in "\u200c\u200d":
            self.strange.append(repr(character))
        else:
            if self._column + width(character) > self.columns:
                self._column = 0
                self._down()
            row = self.rows[self._row]
            row += " " * (self._column - len(row))
            row[self._column : self._column + 1] = [character]
            self._column += 1
            if width(character) == 2:
                row[self._column : self._column + 1] = [""]
                self._column += 1

    def _down(self) -> None:
        self._row += 1
        if self._row == len(self.rows):
            self.rows.append([])

    def text(self) -> str:
        return "\n".join("".join(row).rstrip() for row in self.rows)


class Screen:
    """A command at a terminal, as long as the block lasts."""

    def __init__(
        self, command: Sequence[str], folder: Path, environment: dict[str, str], *, rows: int, columns: int
    ) -> None:
        self.display = Display(columns)
        self.raw = b""
        self._size = (rows, columns)
        self._changed = threading.Condition()
        self._is_over = False
        self._command = command
        self._environment = environment | {"TERM": "xterm"}
        self._folder = folder
        self._master = -1
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._master, slave = pty.openpty()
        self.resize(*self._size)
        self._process = subprocess.Popen(
            self._command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=self._folder,
            env=self._environment,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._thread.join(PATIENCE)
        os.close(self._master)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.display.columns = columns

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def _read(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:
                data = b""
            with self._changed:
                self.raw += data
                self.display.feed(decoder.decode(data))
                self._is_over = not data
                self._changed.notify_all()
            if not data:
                return

    def wait(self, found: Callable[[str], bool]) -> str:
        """What is shown once it is so."""
        with self._changed:
            if not self._changed.wait_for(lambda: found(self.display.text()), PATIENCE):
                raise AssertionError(f"did not come; what is shown:\n{self.display.text()}")
            return self.display.text()

    def wait_for(self, *words: str) -> str:
        return self.wait(lambda shown: all(word in shown for word in words))

    def wait_end(self) -> int:
        assert self._process is not None
        with self._changed:
            assert self._changed.wait_for(lambda: self._is_over, PATIENCE), self.display.text()
        return self._process.wait(PATIENCE)


class Terminal(Screen):
    """`with Terminal(ada, "room") as terminal: terminal.type("hello\\r"); terminal.wait_for("hello")`."""

    def __init__(
        self, caller: Caller, *arguments: str, columns: int = 60, rows: int = 40, **more: str
    ) -> None:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("ROOMFUL_", "NO_COLOR"))}
        here = {"ROOMFUL_URL": caller.house.url, "ROOMFUL_TOKEN": caller.token}
        command = [sys.executable, "-m", "roomful.cli", "chat", *arguments]
        super().__init__(command, caller.house.folder, clean | here | more, rows=rows, columns=columns)


def piped(caller: Caller, said: str, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
    """The command between two pipes, until it ends."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("ROOMFUL_")}
    here = {"ROOMFUL_URL": caller.house.url, "ROOMFUL_TOKEN": caller.token}
    command: Sequence[str] = [sys.executable, "-m", "roomful.cli", "chat", *arguments]
    return subprocess.run(
        command,
        input=said,
        capture_output=True,
        encoding="utf-8",
        timeout=2 * PATIENCE,
        cwd=caller.house.folder,
        env=clean | here | more,
    )
