"""What two gateways store one after the other is heard in the other order where news is late. Readers come to
see what is stored all the same."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from roomful.client.sse import FrameReader
from tests.servers.roomful import Event, View
from tests.simulation.house import ADMIN_KEY
from tests.simulation.outside import SeededModels
from tests.simulation.people import Answer, Connection, ask
from tests.simulation.test_stories import living

MEMBERS = "/api/spaces/room/members"
MESSAGES = "/api/spaces/room/messages"
LATE = 0.3
"""Seconds; what is later is looked for."""
Ask = Callable[..., Awaitable[Answer]]


async def come_and_go(first: Ask, second: Ask, ada: str) -> None:
    assert (await first("POST", MEMBERS, ADMIN_KEY, {"entityId": "cy"})).status == 201
    assert (await second("DELETE", f"{MEMBERS}/cy", ADMIN_KEY)).status == 204


async def go_and_come(first: Ask, second: Ask, ada: str) -> None:
    assert (await first("DELETE", f"{MEMBERS}/bob", ADMIN_KEY)).status == 204
    assert (await second("POST", MEMBERS, ADMIN_KEY, {"entityId": "bob"})).status == 201


async def change_and_delete(first: Ask, second: Ask, ada: str) -> None:
    path = f"{MESSAGES}/{(await first('GET', MESSAGES, ada)).json['messages'][0]['id']}"
    assert (await first("PATCH", path, ada, {"text": "changed"})).status == 200
    assert (await second("DELETE", path, ada)).status == 204


async def change_twice(first: Ask, second: Ask, ada: str) -> None:
    path = f"{MESSAGES}/{(await first('GET', MESSAGES, ada)).json['messages'][0]['id']}"
    assert (await first("PATCH", path, ada, {"text": "once"})).status == 200
    assert (await second("PATCH", path, ada, {"text": "twice"})).status == 200


@pytest.mark.parametrize(
    ("path", "who"),
    [("/api/spaces/room/stream", "ada"), ("/api/stream", "ada"), ("/api/stream", "bob")],
    ids=["in the space", "in all spaces", "in all spaces, who goes"],
)
@pytest.mark.parametrize("happens", [come_and_go, go_and_come, change_and_delete, change_twice])
def test_readers_see_what_is_stored_however_late_the_news(
    tmp_path: Path, happens: Callable[[Ask, Ask, str], Awaitable[None]], path: str, who: str
) -> None:
    with living(tmp_path, SeededModels, shared=True) as houses:
        loop, [first, second] = houses.loop, houses.machines

        def at(machine: Any) -> Ask:
            return lambda *given: ask(loop, machine.door, *given)

        async def story() -> None:
            gateway = await first.boot()
            await second.boot()
            tokens = {name: await gateway.person(name) for name in ("ada", "bob", "cy")}
            await gateway.space("room", "ada", "bob")
            await at(first)("POST", MESSAGES, tokens["ada"], {"text": "said"})
            assert second.door is not None
            assert second.link is not None
            stream = Connection(loop, second.door, "GET", path, tokens[who])
            await asyncio.sleep(1)
            second.link.slow_by = LATE
            await happens(at(first), at(second), tokens["ada"])
            await asyncio.sleep(5)
            page = (await at(second)("GET", MESSAGES, ADMIN_KEY)).json["messages"]
            members = (await at(second)("GET", MEMBERS, ADMIN_KEY)).json["members"]
            assert seen(stream) == (page, {member["entityId"] for member in members})
            stream.cut()
            for machine in (first, second):
                await machine.stop()

        loop.run(story(), until=100)


def seen(stream: Connection) -> tuple[list[dict[str, Any]], set[str]]:
    """The messages and the members that somebody knows of who was told this."""
    view = View()
    for frame in FrameReader().feed(stream.received):
        view.apply(Event(frame.id, frame.name, json.loads(frame.data)))
    return view.state(), view.members
