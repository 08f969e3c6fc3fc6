"""What a run says where, once it goes on in another process."""

import asyncio
from typing import cast

from roomful.app.clock import SystemClock
from roomful.bus import MemoryBus
from roomful.domain.events import TextStarted
from roomful.domain.messages import Message, Part, TextPart, ToolCallPart
from roomful.domain.ports import Store
from roomful.domain.runs import Lease, Place, Run, Trigger
from roomful.spaces.announcer import Announcer
from roomful.spaces.voice import Voice
from tests.routing.stepping import Memory
from tests.web.visiting import CountedIds


class Left(Memory):
    """A store with the messages of a run that was left."""

    def __init__(self, messages: list[Message]) -> None:
        super().__init__()
        self._messages = messages

    async def open_messages(self, _: str) -> list[Message]:
        return self._messages


def _message(seq: int, parts: list[Part], *mentions: str) -> Message:
    return Message(
        id=f"msg_{seq}",
        space_id="room",
        entity_id="bot",
        seq=seq,
        status="open",
        role="assistant",
        parts=parts,
        created_at="",
        updated_at="",
        run_id="run_1",
        mentions=list(mentions),
    )


def test_a_text_that_is_said_anew_stands_where_it_stood_and_closes_that_message_only() -> None:
    async def story() -> None:
        clock = SystemClock()
        run = Run(
            id="run_1",
            agent_id="bot",
            status="running",
            trigger=Trigger(type="message"),
            root_run_id="run_1",
            created_at=clock.iso(),
        )
        card = ToolCallPart(id="card", tool_call_id="c1", tool_name="ask", status="waiting")
        first = _message(1, [card, TextPart(id="hello", text="Hello @Bob", step=2)], "bob")
        second = _message(2, [TextPart(id="more", text="And now", step=2)])
        voice = Voice(
            run,
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
        assert [message.mentions for message in messages if message] == [["bob"], []]
        await voice.settled()
        voice.abandon()

    asyncio.run(story())
