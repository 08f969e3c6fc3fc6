"""As much HTTP/1.1 as servers and clients on one machine need."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

STREAM: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
LAST_CHUNK: Final = b"0\r\n\r\n"
_LENGTH: Final = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


class Request(NamedTuple):
    line: bytes
    body: bytes


def take_request(data: bytes) -> tuple[Request, bytes] | None:
    """The first whole request and what comes behind it."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return None
    head, begin = data[:end], end + 4
    size = content_length(head) or 0
    if len(data) < begin + size:
        return None
    return Request(head.partition(b"\r\n")[0], data[begin : begin + size]), data[begin + size :]


def content_length(head: bytes) -> int | None:
    found = _LENGTH.search(head)
    return int(found[1]) if found else None


def request(method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
    told = {"host": "127.0.0.1", "content-type": "application/json", "content-length": str(len(body))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in (told | dict(headers or {})).items())
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body


def answer(body: bytes, status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def frame(payload: bytes) -> bytes:
    """One event of SSE."""
    return b"data: %b\n\n" % payload
