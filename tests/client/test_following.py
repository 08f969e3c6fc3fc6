"""A followed space is, at every moment, what a page of it shows; however often the connection breaks."""

import asyncio
from pathlib import Path

import pytest

from roomful import Client
from roomful.client import LiveSpace, pausing
from roomful.domain.answers import Snapshot
from roomful.domain.errors import NotFound, Unauthorized, Unavailable
from roomful.domain.events import (
    CallCompleted,
    CallInput,
    MemberJoined,
    MemberLeft,
    MessageChanged,
    RunChanged,
    SubagentEnded,
    TextDelta,
)
from roomful.domain.messages import ToolCallPart
from tests.client.watching import (
    check_no_gap,
    client_of,
    compare,
    ended,
    of,
    over,
    run,
    state,
    until,
)
from tests.http.shopping import AS_SEEN, seen, shop, story
from tests.servers.breaking import Breaking
from tests.servers.fake_openai import HANG, Answer, FakeOpenAI, call, text
from tests.servers.roomful import Caller, Roomful, openai


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has to wait long for the next try."""
    monkeypatch.setattr(pausing, "FIRST", 0.02)


def test_the_view_is_the_page_at_every_cut(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model)
    model.answer(*story(held=True))

    async def watch() -> None:
        async with client_of(ada) as client, client.follow("shop-space") as space:
            assert (space.messages(), list(space.members)) == ([], ["ada", "shop"])
            posted = await client.post("shop-space", "laptops?")
            assert [begun.agent_id for begun in posted.runs] == ["shop"]
            happened = []
            for _ in range(40):
                model.release(times=3)
                happened += await compare(space, ada)
            assert {TextDelta, CallInput} <= {type(event) for event in happened}
            model.release(times=1000)
            happened += await until(space, ended(posted.runs[0].run_id))
            check_no_gap(happened, {})
            await compare(space, ada)
            assert seen(state(space)[-1]) == AS_SEEN
            assert space.runs == {}

    run(watch())


def test_a_later_reader_begins_with_what_stands_and_goes_on(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model)
    model.answer(*story(held=True))
    ada.say("shop-space", "laptops?")
    with ada.listen("shop-space") as listener:
        model.release(times=60)
        listener.wait_for("text-delta")

    async def watch() -> None:
        async with client_of(ada) as client, client.follow("shop-space") as space:
            [begun] = space.runs.values()
            assert (begun.status, begun.entity_id) == ("running", "shop")
            model.release(times=1000)
            await until(space, ended())
            await compare(space, ada)
            assert seen(state(space)[-1]) == AS_SEEN

    run(watch())


def test_what_happens_inside_a_delegation_is_folded_too(house: Roomful, model: FakeOpenAI) -> None:
    ada = house.person("ada")
    look = {
        "name": "look",
        "description": "Look.",
        "executionType": "basic",
        "execution": {"mode": "static", "output": {"found": 2}},
        "visibility": "full",
        "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
    }
    house.agent("finder", openai(model.base_url), look)
    delegate = {
        "name": "research",
        "description": "Ask the finder.",
        "executionType": "ai-agent",
        "execution": {"agentId": "finder"},
        "visibility": "full",
        "inputSchema": {"type": "object", "properties": {"prompt": {"type": "string"}}},
    }
    house.agent("boss", openai(model.base_url), delegate)
    house.space("room", "ada", "boss")
    model.answer(
        Answer(call("research", {"prompt": "find it"})),
        Answer([*text("Let me look."), *call("look", {"q": "it"})]),
        Answer(text("Two of them.")),
        Answer(text("done")),
    )

    async def watch() -> None:
        async with client_of(ada) as client, client.follow("room") as space:
            posted = await client.post("room", "find it")
            happened = await until(space, ended(posted.runs[0].run_id))
            assert any(isinstance(event, SubagentEnded) for event in happened)
            await compare(space, ada)
            [part] = space.messages()[-1].parts
            assert isinstance(part, ToolCallPart)
            assert part.child
            assert [one.tool_name for one in part.child.calls or []] == ["look"]

    run(watch())


@pytest.mark.parametrize("first", [0, 150, 180, 200, 230, 300, 777, 1500, 2500, 4000, 5000, 6000])
def test_a_connection_cut_at_any_byte_loses_and_doubles_nothing(
    house: Roomful, model: FakeOpenAI, first: int
) -> None:
    ada = shop(house, model)
    model.answer(*story())

    async def watch() -> None:
        cuts = [first + step * 97 for step in range(8)]
        async with (
            Breaking(house.port, cuts) as broken,
            client_of(ada, url=broken.url) as client,
            client.follow("shop-space") as space,
        ):
            run_id = ada.say("shop-space", "laptops?")["runs"][0]["runId"]
            happened = await until(space, ended(run_id))
            assert not any(isinstance(event, Snapshot) for event in happened)
            check_no_gap(happened, {})
            assert broken.connections > 1
            await compare(space, ada)
            assert seen(state(space)[-1]) == AS_SEEN

    run(watch())


def test_a_killed_server_is_found_again_with_all_that_was_missed(tmp_path: Path, model: FakeOpenAI) -> None:
    with Roomful(tmp_path) as house:
        ada = shop(house, model)
        begun = [*call("sendSpaceMessage", {"spaceId": "shop-space", "text": "Here are"}, size=3)[:-3], HANG]
        model.answer(Answer(begun))
        house.agent("idle", openai(model.base_url))
        house.admin.post("/api/spaces/shop-space/members", {"entityId": "idle"}, expect=201)
        connected: list[bool] = []

        async def watch() -> None:
            async with (
                client_of(ada) as client,
                client.follow("shop-space", on_connection=connected.append) as space,
            ):
                posted = await client.post("shop-space", "laptops?", mentions=["shop"])
                await until(space, of(TextDelta))
                before = space.position
                house.kill()
                model.answer(*story())
                await asyncio.to_thread(house.start)
                ada.say("shop-space", "meanwhile")
                happened = await until(space, over(space, posted.runs[0].run_id))
                assert any(isinstance(event, Snapshot) for event in happened)
                assert connected == [False, True]
                assert space.position.partition(".")[0] != before.partition(".")[0]
                await compare(space, ada)
                texts = [message.text for message in space.messages() if message.role == "user"]
                assert texts == ["laptops?", "meanwhile"]
                assert [seen(message) for message in state(space) if message["role"] == "assistant"] == [
                    AS_SEEN
                ]

        run(watch())


def test_a_server_that_stops_in_order_is_come_back_to(tmp_path: Path) -> None:
    with Roomful(tmp_path) as house:
        ada = house.person("ada")
        house.space("room", "ada")

        async def watch() -> None:
            async with client_of(ada) as client, client.follow("room") as space:
                coming = asyncio.create_task(until(space, of(Snapshot)))
                assert await asyncio.to_thread(house.terminate) == 0
                await asyncio.to_thread(house.start)
                await coming
                await client.post("room", "hello")
                await until(space, of(MessageChanged))
                assert [message.text for message in space.messages()] == ["hello"]

        run(watch())


def _with_large_output(house: Roomful, model: FakeOpenAI) -> Caller:
    ada = house.person("ada")
    large = {
        "name": "large",
        "description": "Much.",
        "executionType": "basic",
        "execution": {"mode": "pass-through"},
        "visibility": "full",
        "inputSchema": {"type": "object", "properties": {"words": {"type": "string"}}},
    }
    house.agent("shop", openai(model.base_url), large)
    house.space("room", "ada", "shop")
    args = {"words": "ü" * 200_000}
    model.answer(Answer(call("large", args, size=50_000)), Answer(text("ok")))
    return ada


def test_an_event_that_was_too_large_begins_the_view_anew(house: Roomful, model: FakeOpenAI) -> None:
    ada = _with_large_output(house, model)

    async def watch() -> None:
        async with client_of(ada) as client, client.follow("room") as space:
            posted = await client.post("room", "go")
            happened = await until(space, over(space, posted.runs[0].run_id))
            assert any(isinstance(event, Snapshot) for event in happened)
            await compare(space, ada)
            [part] = space.messages()[-1].parts
            assert isinstance(part, ToolCallPart)
            assert (part.status, part.args) == ("complete", {"words": "ü" * 200_000})

    run(watch())


def test_who_is_put_out_hears_of_it_and_then_no_more(house: Roomful, model: FakeOpenAI) -> None:
    ada, bob = house.person("ada"), house.person("bob")
    house.space("room", "ada", "bob:owner")

    async def watch() -> None:
        async with client_of(ada) as client, client_of(bob) as owner, client.follow("room") as space:
            house.person("eve")
            house.admin.post("/api/spaces/room/members", {"entityId": "eve"}, expect=201)
            await until(space, of(MemberJoined))
            assert sorted(space.members) == ["ada", "bob", "eve"]
            await owner.remove_member("room", "eve")
            await until(space, of(MemberLeft))
            assert sorted(space.members) == ["ada", "bob"]
            await owner.remove_member("room", "ada")
            await until(space, of(MemberLeft))
            with pytest.raises(NotFound) as told:
                await anext(space)
            assert (told.value.code, told.value.status) == ("not_found", 404)

    run(watch())


def test_a_token_that_is_revoked_ends_it(house: Roomful) -> None:
    ada = house.person("ada")
    house.space("room", "ada")

    async def watch() -> None:
        async with client_of(ada) as client, client.follow("room") as space:
            for token in ada.get("/api/entities/ada/tokens")["tokens"]:
                house.admin.call("DELETE", f"/api/entities/ada/tokens/{token['id']}", expect=204)
            with pytest.raises(Unauthorized) as told:
                await anext(space)
            assert told.value.status == 401

    run(watch())


@pytest.mark.parametrize("space_id", ["nowhere", "../spaces", "a/b?x=1", "ü"])
def test_a_space_that_is_not_there_is_said_at_once(house: Roomful, space_id: str) -> None:
    ada = house.person("ada")

    async def watch() -> None:
        async with client_of(ada) as client:
            with pytest.raises(NotFound):
                await client.follow(space_id).__aenter__()

    run(watch())


def test_a_server_that_is_not_there_is_waited_for_no_longer_than_asked() -> None:
    async def watch() -> None:
        async with Breaking(1) as nobody, Client(nobody.url, "some-token", patience=0.1) as client:
            with pytest.raises(Unavailable, match="no answer from"):
                await client.follow("room").__aenter__()
            assert nobody.connections > 1

    run(watch())


def test_a_left_space_yields_nothing_more(house: Roomful) -> None:
    ada = house.person("ada")
    house.space("room", "ada")

    async def watch() -> None:
        async with client_of(ada) as client:
            async with client.follow("room") as space:
                await client.post("room", "hello")
                await until(space, of(MessageChanged))
            assert [event async for event in space] == []
            assert [message.text for message in space.messages()] == ["hello"]

    run(watch())


def _waits(space: LiveSpace) -> list[str]:
    return [card.part.tool_name for card in space.waiting()]


def test_cards_wait_from_the_moment_their_run_does(house: Roomful, model: FakeOpenAI) -> None:
    ada = house.person("ada")
    form = {
        "name": "form",
        "description": "Ask.",
        "executionType": "basic",
        "execution": {"mode": "no-execution"},
        "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
    }
    house.agent("asker", openai(model.base_url), form)
    house.space("room", "ada", "asker")
    twice = [
        *call("form", {"q": "one"}, index=0, id="a"),
        *call("form", {"q": "two"}, index=1, id="b"),
    ]
    model.answer(Answer(twice, held=True), Answer(text("ok")))

    async def watch() -> None:
        async with client_of(ada) as client, client.follow("room") as space:
            posted = await client.post("room", "ask")
            model.release(times=3)
            await until(space, of(CallInput))
            assert _waits(space) == []
            model.release(times=1000)
            await until(space, lambda event: isinstance(event, RunChanged) and event.status == "waiting_tool")
            first, second = space.waiting()
            assert [card.part.args for card in (first, second)] == [{"q": "one"}, {"q": "two"}]
            await client.answer(first.run_id, first.part.tool_call_id, {"said": 1})
            await until(space, of(CallCompleted))
            assert [card.part.tool_call_id for card in space.waiting()] == [second.part.tool_call_id]
            async with client.follow("room") as later:
                assert [card.part.tool_call_id for card in later.waiting()] == [second.part.tool_call_id]
            await client.answer(second.run_id, second.part.tool_call_id, {"said": 2})
            await until(space, ended(posted.runs[0].run_id))
            assert _waits(space) == []
            await compare(space, ada)
            [one, two] = space.messages()[-1].parts
            assert isinstance(one, ToolCallPart)
            assert isinstance(two, ToolCallPart)
            assert [part.result for part in (one, two)] == [{"said": 1}, {"said": 2}]
            assert one.answered_by == "ada"

    run(watch())
