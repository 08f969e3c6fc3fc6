"""The open streams: how many a caller may have, and how they end when a token does."""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from typing import Protocol

from roomful.domain.entities import ADMIN, Principal
from roomful.domain.errors import RoomfulError, Unavailable
from roomful.domain.events import CutReason
from roomful.web.house import House

CHECK_SECONDS = 0.5
CHECKED_AT_ONCE = 500

logger = logging.getLogger("roomful.web")


class Reader(Protocol):
    @property
    def principal(self) -> Principal: ...
    @property
    def digest(self) -> bytes: ...
    @property
    def space_id(self) -> str | None: ...
    def end(self, reason: CutReason) -> None: ...


class Readers:
    """Tokens that were revoked here end their streams at once; those revoked by another process are found
    by looking, twice a second, if they are not told."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._open: dict[Reader, None] = {}
        self._counts: Counter[str] = Counter()
        self._is_draining = False
        self._turn = 0
        self._looking: asyncio.Task[None] | None = None
        self._nobody = asyncio.Event()
        self._nobody.set()

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, reader: Reader) -> None:
        if self._is_draining:
            raise Unavailable("this gateway is about to stop: come back in a moment")
        entity_id = reader.principal.entity_id
        self._house.limits.check_stream(self._counts[entity_id])
        self._counts[entity_id] += 1
        self._open[reader] = None
        self._nobody.clear()
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())

    def dismiss(self, reader: Reader, cut: CutReason | None = None) -> None:
        """`cut` says why, unless the reader left or had heard everything."""
        if reader not in self._open:
            return
        del self._open[reader]
        if cut is not None:
            self._house.watch.streams_cut[cut] += 1
        entity_id = reader.principal.entity_id
        self._counts[entity_id] -= 1
        if not self._counts[entity_id]:
            del self._counts[entity_id]
        if not self._open:
            self._nobody.set()
            if self._looking is not None:
                self._looking.cancel()
                self._looking = None

    def end_token(self, entity_id: str, token_id: str | None = None) -> None:
        """The streams of one token, or of all tokens of an entity."""
        for reader in list(self._open):
            principal = reader.principal
            if principal.entity_id == entity_id and token_id in (None, principal.token_id):
                reader.end("revoked")

    def end_member(self, entity_id: str, space_id: str) -> None:
        """Their streams of one space."""
        for reader in list(self._open):
            if reader.space_id == space_id and reader.principal.entity_id == entity_id:
                reader.end("revoked")

    def end_space(self, space_id: str) -> None:
        for reader in list(self._open):
            if reader.space_id == space_id:
                reader.end("closed")

    def drain(self) -> None:
        self._is_draining = True
        for reader in list(self._open):
            reader.end("draining")

    async def gone(self) -> None:
        """Returns when no stream is open."""
        await self._nobody.wait()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            tokens = [
                (reader.digest, reader.principal)
                for reader in {one.digest: one for one in self._open}.values()
                if reader.principal.token_id != ADMIN
            ]
            first = self._turn % len(tokens) if tokens else 0
            self._turn = first + CHECKED_AT_ONCE
            await self._check(dict((tokens[first:] + tokens[:first])[:CHECKED_AT_ONCE]))

    async def _check(self, tokens: Mapping[bytes, Principal]) -> None:
        try:
            known = await self._house.store.known_tokens(list(tokens))
        except RoomfulError as error:
            logger.warning("tokens of open streams could not be checked: %s", error.detail)
            return
        for digest in tokens.keys() - known:
            self.end_token(tokens[digest].entity_id, tokens[digest].token_id)
