"""What the web room itself keeps: whom it recognised, which streams are open, who follows all spaces."""

import asyncio
import logging
from collections.abc import Coroutine

from roomful.domain.entities import Principal
from roomful.domain.errors import RoomfulError
from roomful.domain.news import Behind, Moved, News, Removed, Revoked
from roomful.web.auth import Auth
from roomful.web.feeds.people import People
from roomful.web.house import House
from roomful.web.readers import Readers
from roomful.web.sse import FrameShelf
from roomful.web.transfers import Transfers

logger = logging.getLogger("roomful.web")
LAST_WORDS_SECONDS = 0.25
"""How long a stream has to tell its reader that they were put out, before it is ended."""


class Desk:
    def __init__(self, house: House) -> None:
        self.house = house
        self.auth = Auth(house)
        self.readers = Readers(house)
        self.people = People(house)
        self.shelf = FrameShelf()
        self.transfers = Transfers()
        self._refreshing: set[asyncio.Task[None]] = set()
        house.others.listen(self._hear)

    def forget_tokens(self, entity_id: str, token_id: str | None) -> None:
        """They have ended, and with them the streams they opened."""
        self.auth.forget(entity_id)
        self.readers.end_token(entity_id, token_id)

    def count_post(self, principal: Principal) -> None:
        """Raises RateLimited. One count for each token and whom it speaks for, whichever way it posts."""
        caller = f"{principal.token_id} {principal.entity_id}"
        self.house.limits.check_post(caller, self.house.clock.now())

    def _refresh(self, people: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(self._refreshed(people))
        self._refreshing.add(task)
        task.add_done_callback(self._refreshing.discard)

    async def _refreshed(self, people: Coroutine[None, None, None]) -> None:
        try:
            await people
        except RoomfulError as error:
            logger.warning("people's spaces could not be looked for: %s", error.detail)

    def _hear(self, news: News) -> None:
        """What happened in another process."""
        match news:
            case Moved(entity_id, space_id, True):
                self.people.joined_elsewhere(entity_id, space_id)
            case Moved(entity_id, space_id):
                self.people.left(entity_id, space_id)
                self._refresh(self.people.look_again(entity_id))
                loop = asyncio.get_running_loop()
                loop.call_later(LAST_WORDS_SECONDS, self.readers.end_member, entity_id, space_id)
            case Revoked(entity_id, token_id):
                self.forget_tokens(entity_id, token_id)
            case Removed(space_id):
                self.readers.end_space(space_id)
            case Behind():
                self._refresh(self.people.refresh_all())
            case _:
                pass
