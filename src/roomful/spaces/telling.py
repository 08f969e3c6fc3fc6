"""What this process tells the others of its deployment: whatever it announces, in order, and how far its
writing has come. It is collected for the rest of a turn of the event loop, then sent at once."""

import asyncio
from collections.abc import Sequence

from roomful.domain.events import Announcement
from roomful.domain.messages import Message
from roomful.domain.neighbours import Link
from roomful.domain.news import Disowned, LetGo, News, Reached, TookUp, as_it_stands, encode_parcel, told
from roomful.spaces.announcer import is_for_run, run_channel, space_channel

EVERYBODY = "everybody"
WATCHED_SECONDS = 5.0
"""How long a run is told of after somebody last said that it is watched."""


class Telling:
    def __init__(self, link: Link, name: str) -> None:
        self._link = link
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._channels: dict[str, list[News]] = {}
        self._for_all: list[News] = []
        self._batch = 0
        self._watched: dict[str, float] = {}

    def announced(self, announcements: Sequence[Announcement]) -> None:
        if not self._link.is_up:
            return
        for announcement in announcements:
            run_id = announcement.run_id
            if announcement.space_id:
                self.put(space_channel(announcement.space_id), told(announcement, self._batch))
            if run_id is not None and self._watched and self.watches(run_id) and is_for_run(announcement):
                self.put(run_channel(run_id), told(announcement, 0))

    def took_up(self, message: Message) -> None:
        self.put(space_channel(message.space_id), TookUp(as_it_stands(message)))

    def let_go(self, space_id: str, message_id: str) -> None:
        self.put(space_channel(space_id), LetGo(space_id, message_id))

    def disowned(self, space_id: str, message_id: str) -> None:
        self.put(space_channel(space_id), Disowned(space_id, message_id))

    def batch_begins(self, number: int) -> None:
        self._batch = number

    def batch_reached(self, number: int) -> None:
        self._batch = 0
        self.tell(Reached(number))

    def watches(self, run_id: str) -> bool:
        return self._watched.get(run_id, 0.0) > self._loop.time()

    def watch(self, run_ids: Sequence[str]) -> None:
        """These runs are watched in another process."""
        now = self._loop.time()
        self._watched = {id: until for id, until in self._watched.items() if until > now}
        self._watched |= dict.fromkeys(run_ids, now + WATCHED_SECONDS)

    def tell(self, *news: News) -> None:
        """Everybody, after whatever was announced before."""
        self._flush_soon()
        self._for_all += news

    def put(self, channel: str, news: News) -> None:
        self._flush_soon()
        self._channels.setdefault(channel, []).append(news)

    def flush(self) -> None:
        channels, self._channels = self._channels, {}
        for_all, self._for_all = self._for_all, []
        if not self._link.is_up:
            return
        parcels = [(channel, encode_parcel(self._name, news)) for channel, news in channels.items()]
        if for_all:
            parcels.append((EVERYBODY, encode_parcel(self._name, for_all)))
        self._link.send(parcels)

    async def ask(self, news: News) -> int:
        """Tells it at once, and answers how many others it reaches."""
        self.flush()
        return max(0, await self._link.ask(EVERYBODY, encode_parcel(self._name, [news])) - 1)

    def _flush_soon(self) -> None:
        if not self._channels and not self._for_all:
            self._loop.call_soon(self.flush)
