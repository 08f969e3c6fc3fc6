"""Server-sent events out of bytes, wherever they were cut on their way."""

import re
from typing import NamedTuple

from roomful.domain.errors import TooLarge

LARGEST_FRAME = 64 * 1024 * 1024
"""Bytes of one frame. A snapshot is one, and holds whole messages."""
_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class Frame(NamedTuple):
    id: str | None
    name: str
    data: bytes


class FrameReader:
    """Lines are split as bytes, so that a character cut between two chunks is whole again before anybody
    decodes it. A frame counts when its blank line has come; the beginning of one never does."""

    def __init__(self, largest: int = LARGEST_FRAME) -> None:
        self._largest = largest
        self._rest = bytearray()
        self._searched = 0
        self._is_first = True
        self._after_cr = False
        self._empty()

    def _empty(self) -> None:
        self._id: str | None = None
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that are complete with this chunk."""
        if self._after_cr and chunk:
            chunk, self._after_cr = chunk.removeprefix(b"\n"), False
        self._rest += chunk
        frames: list[Frame] = []
        begin = 0
        while (end := _LINE_END.search(self._rest, max(begin, self._searched))) is not None:
            line = bytes(self._rest[begin : end.start()])
            begin = self._searched = end.end()
            self._after_cr = end.group() == b"\r" and begin == len(self._rest)
            if (frame := self._take(line)) is not None:
                frames.append(frame)
        del self._rest[:begin]
        self._searched = len(self._rest)
        if len(self._rest) + self._size > self._largest:
            raise TooLarge(f"the server sent an event of more than {self._largest} bytes")
        return frames

    def _take(self, line: bytes) -> Frame | None:
        if self._is_first:
            line, self._is_first = line.removeprefix(_BOM), False
        if not line:
            frame = Frame(self._id, self._name, b"\n".join(self._data)) if self._data else None
            self._empty()
            return frame
        key, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        self._size += len(line)
        match key:
            case b"data":
                self._data.append(value)
            case b"event":
                self._name = value.decode(errors="replace")
            case b"id" if b"\0" not in value:
                self._id = value.decode(errors="replace")
            case _:
                pass  # a comment, or a field of a newer server
        return None
