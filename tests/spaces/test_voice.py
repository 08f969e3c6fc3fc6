"""What a run says where, once it goes on in another process."""

import asyncio
from typing import cast

from roomful.app.clock import SystemClock
from roomful.bus import MemoryBus
from roomful.domain.events import TextStarted
from roomful.domain.messages import Message, Part, TextPart
from roomful.domain.ports import Store
from roomful.domain.runs import Lease, Place
from roomful.spaces.announcer import Announcer
from roomful.spaces.voice import Voice
from tests.routing.stepping import Memory
from tests.store.things import card, message, run
from tests.web.visiting import CountedIds


class Left(Memory):
    """A store with the messages of a run that was left."""

    def __init__(self, messages: list[Message]) -> None:
        super().__init__()
        self._messages = messages

    async def open_messages(self, _: str) -> list[Message]:
        return self._messages


def _message(seq: int, parts: list[Part], *mentions: str) -> Message:
    own = {"space_id": "room", "entity_id": "bot", "run_id": "run_1", "status": "open"}
    return message(f"msg_{seq}", seq=seq, parts=parts, mentions=list(mentions), **own)


def test_a_text_that_is_said_anew_stands_where_it_stood_and_closes_that_message_only() -> None:
    async def story() -> None:
        clock = SystemClock()
        first = _message(1, [card("card"), TextPart(id="hello", text="Hello @Bob", step=2)], "bob")
        second = _message(2, [TextPart(id="more", text="And now", step=2)])
        voice = Voice(
            run("run_1", status="running"),
            Lease("run_1", "me", 2),
            store=cast(Store, Left([first, second])),
            announcer=Announcer(MemoryBus(clock, lambda: "epoch")),
            clock=clock,
            ids=CountedIds(),
        )
        await voice.take_up()
        voice.begin_step(2)
        hello = voice.start("room", TextStarted, step=2)
        assert hello == Place(space_id="room", message_id="msg_1", part_id="hello")

        voice.keep(*voice.close(hello.message_id, ["bob"]))

        more = voice.start("room", TextStarted, step=2)
        assert more == Place(space_id="room", message_id="msg_2", part_id="more")
        assert voice.start("room", TextStarted, step=2).message_id == "msg_2"
        messages = [voice.message(each) for each in ("msg_1", "msg_2")]
        assert [one.mentions for one in messages if one] == [["bob"], []]
        await voice.settled()
        voice.abandon()

    asyncio.run(story())
