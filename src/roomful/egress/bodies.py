"""Bodies as they arrive, decompressed in small pieces, so that a bomb is noticed while it is small."""

import zlib
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from typing import Final

from roomful.domain.outbound import EgressFailed

PIECE: Final = 65_536
ACCEPTED: Final = "gzip, deflate"
_EITHER_HEADER: Final = 47
"""zlib's window bits for a gzip or a zlib header, whichever comes."""


def decode(chunks: AsyncIterable[bytes], encoding: str) -> AsyncIterator[bytes]:
    """Pieces of at most 64 KiB for any Content-Encoding that we said we accept."""
    match encoding.strip().lower():
        case "" | "identity":
            return _plain(chunks)
        case "gzip" | "x-gzip" | "deflate":
            return _inflated(chunks)
        case _:
            raise EgressFailed("the answer is compressed in a way that was not asked for")


async def gather(pieces: AsyncIterator[bytes], limit: int) -> bytes:
    body = bytearray()
    async for piece in pieces:
        if len(body) + len(piece) > limit:
            raise EgressFailed(f"the answer is larger than {limit // 1024} KiB")
        body += piece
    return bytes(body)


async def _plain(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        yield chunk


async def _inflated(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    inflater = _Inflater()
    async for chunk in chunks:
        for piece in inflater.feed(chunk):
            yield piece
    if inflater.is_unfinished:
        raise EgressFailed("the compressed answer broke off")


class _Inflater:
    """One gzip or zlib stream, or several gzip members one after the other."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(_EITHER_HEADER)
        self._fed = False

    @property
    def is_unfinished(self) -> bool:
        return self._fed and not self._stream.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._stream.eof:
                self._stream = zlib.decompressobj(_EITHER_HEADER)
            self._fed = True
            yield self._inflate(data)
            data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail

    def _inflate(self, data: bytes) -> bytes:
        try:
            return self._stream.decompress(data, PIECE)
        except zlib.error:
            raise EgressFailed("the answer is not compressed as it says") from None
