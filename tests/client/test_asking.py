"""Saying, asking, answering, stopping: each once, also over a connection that breaks; and what is refused."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import roomful
from roomful import Client
from roomful.client import pausing
from roomful.domain.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    RateLimited,
    RoomfulError,
    Unauthorized,
    Unavailable,
)
from roomful.domain.events import MessageChanged, RunChanged, SpaceEvent, TextDelta
from roomful.domain.fold import SpaceView
from roomful.domain.messages import ToolCallPart
from tests.client.watching import client_of, of, run, until
from tests.http.shopping import LAPTOPS, shop, story
from tests.servers.breaking import Breaking
from tests.servers.fake_openai import HANG, Answer, FakeOpenAI, call, text
from tests.servers.roomful import Caller, Roomful, openai

FORM: dict[str, Any] = {
    "name": "form",
    "description": "Ask the people.",
    "executionType": "basic",
    "execution": {"mode": "no-execution"},
    "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
}


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pausing, "FIRST", 0.02)


def test_it_is_a_public_name() -> None:
    assert roomful.Client is Client
    assert "Client" in roomful.__all__


def test_spaces_are_made_listed_and_peopled(house: Roomful) -> None:
    ada, bob = house.person("ada"), house.person("bob")

    async def story() -> None:
        async with client_of(ada) as client, client_of(bob) as other:
            made = await client.create_space(name="Finance", id="finance", wake="all")
            assert (made.id, made.name, made.wake) == ("finance", "Finance", "all")
            assert (await client.me()).id == "ada"
            joined = await client.put_member("finance", "bob", "reader")
            assert (joined.entity_id, joined.may_write) == ("bob", False)
            assert [one.entity_id for one in await other.members("finance")] == ["ada", "bob"]
            posted = await client.post("finance", "hello", mentions=["bob"])
            assert (posted.message.text, posted.message.mentions, posted.runs) == ("hello", ["bob"], [])
            [mine] = await other.spaces()
            assert (mine.id, mine.role, mine.unread) == ("finance", "reader", 1)
            await other.mark_read("finance", posted.message.id)
            assert [one.unread for one in await other.spaces()] == [0]
            changed = await client.change_message("finance", posted.message.id, "hello all")
            assert changed == await other.message("finance", posted.message.id)
            for number in range(3):
                await client.post("finance", f"number {number}", reply_to=posted.message.id)
            page = await other.messages("finance", before=4, limit=2)
            assert [one.text for one in page.messages] == ["number 0", "number 1"]
            assert page.has_more
            assert [one.text for one in (await other.messages("finance", q="number 2")).messages] == [
                "number 2"
            ]
            await client.delete_message("finance", posted.message.id)
            assert (await other.message("finance", posted.message.id)).deleted
            await other.remove_member("finance", "bob")
            assert await other.spaces() == []
            assert (await client.space("finance")).name == "Finance"

    run(story())


def test_what_is_refused_is_raised_as_what_it_is(house: Roomful) -> None:
    ada, bob = house.person("ada"), house.person("bob")
    house.space("room", "ada", "bob:reader")

    async def story() -> None:
        async with client_of(ada) as client, client_of(bob) as reader, Client(house.url, "wrong") as nobody:
            refused: list[tuple[Any, type[RoomfulError], int]] = [
                (client.space("nowhere"), NotFound, 404),
                (client.run("run_x"), NotFound, 404),
                (reader.post("room", "hello"), Forbidden, 403),
                (nobody.spaces(), Unauthorized, 401),
                (client.messages("room", limit=0), Invalid, 422),
                (client.create_space(name="Room", id="room"), Conflict, 409),
            ]
            for asked, kind, status in refused:
                with pytest.raises(kind) as told:
                    await asked
                assert (type(told.value), told.value.status) == (kind, status)
                assert told.value.detail
            assert "wrong" not in repr(nobody)

    run(story())


@pytest.mark.parametrize("token", ["", "a b", "a\r\nx-evil: 1", "ü"])
def test_a_token_that_is_none_is_refused_before_anything_is_sent(token: str) -> None:
    with pytest.raises(Invalid):
        Client("http://127.0.0.1:1", token)


@pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "ftp://x", "http://a:b@host", "http://x/?token=1"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(Invalid):
        Client(url, "token")


def test_too_many_posts_are_sent_again_when_the_server_says(tmp_path: Path) -> None:
    with Roomful(tmp_path, ROOMFUL_LIMIT_POSTS="1") as house:
        ada = house.person("ada")
        house.space("room", "ada")

        async def story() -> None:
            async with client_of(ada) as client, client_of(ada, patience=0.0) as hasty:
                for number in range(3):
                    await client.post("room", f"number {number}")
                with pytest.raises(RateLimited) as told:
                    await asyncio.gather(*[hasty.post("room", "again") for _ in range(4)])
                assert told.value.retry_after >= 1
                texts = [message.text for message in (await client.messages("room")).messages]
                assert texts[:3] == ["number 0", "number 1", "number 2"]

        run(story())


@pytest.mark.parametrize("cut", [0, 1, 100, 250])
def test_a_post_whose_answer_was_lost_is_stored_once(house: Roomful, model: FakeOpenAI, cut: int) -> None:
    ada = shop(house, model)
    model.answer(*story(), *story())

    async def tell() -> None:
        async with Breaking(house.port, [cut, cut]) as broken, client_of(ada, url=broken.url) as client:
            posted = await client.post("shop-space", "laptops?")
            assert broken.connections == 3
        mine = [one for one in ada.messages("shop-space") if one["role"] == "user"]
        assert [one["id"] for one in mine] == [posted.message.id]
        assert len(ada.get("/api/runs", params={"spaceId": "shop-space"})["runs"]) == 1

    run(tell())


def test_without_patience_a_lost_answer_is_said(house: Roomful) -> None:
    ada = house.person("ada")
    house.space("room", "ada")

    async def tell() -> None:
        async with (
            Breaking(house.port, [0]) as broken,
            client_of(ada, url=broken.url, patience=0.0) as client,
        ):
            with pytest.raises(Unavailable, match="no answer from"):
                await client.post("room", "hello")

    run(tell())


def _asker(house: Roomful, model: FakeOpenAI) -> tuple[Caller, Caller]:
    ada, bob = house.person("ada"), house.person("bob")
    house.agent("asker", openai(model.base_url), FORM)
    house.space("room", "ada", "bob", "asker")
    return ada, bob


def test_a_form_is_answered_once_and_the_second_is_told_by_whom(house: Roomful, model: FakeOpenAI) -> None:
    ada, bob = _asker(house, model)
    model.answer(Answer(call("form", {"q": "Where to?"})), Answer(text("ok")))

    async def tell() -> None:
        async with Breaking(house.port) as broken, client_of(ada, url=broken.url) as client:
            asked = [event async for event in client.ask("room", "ask me")]
            [waiting] = [event for event in asked if isinstance(event, RunChanged)][-1:]
            assert (waiting.status, waiting.asks_people) == ("waiting_tool", True)
            [pending] = waiting.pending_tool_calls or []
            async with Breaking(house.port, [0]) as deaf, client_of(ada, url=deaf.url) as lossy:
                await lossy.answer(waiting.run_id, pending.tool_call_id, {"city": "Rome"})
                assert deaf.connections == 2
            async with client_of(bob) as second:
                with pytest.raises(Conflict) as told:
                    await second.answer(waiting.run_id, pending.tool_call_id, {"city": "Oslo"})
            outcome: Any = told.value.outcome
            assert (outcome["answeredBy"], outcome["result"]) == ("ada", {"city": "Rome"})
            model.wait_for_requests(2)
            assert json.loads(model.requests[1].messages[-1]["content"]) == {"city": "Rome"}

    run(tell())


def test_a_poll_is_answered_by_each_and_closed(house: Roomful, model: FakeOpenAI) -> None:
    ada, bob = house.person("ada"), house.person("bob")
    house.agent(
        "asker", openai(model.base_url), {**FORM, "execution": {"mode": "no-execution", "answers": "each"}}
    )
    house.space("room", "ada", "bob", "asker")
    model.answer(Answer(call("form", {"q": "Pizza?"})), Answer(text("ok")))

    async def tell() -> None:
        async with client_of(ada) as one, client_of(bob) as other, one.follow("room") as space:
            async for _ in one.ask("room", "ask us"):
                pass
            await until(space, lambda event: isinstance(event, RunChanged) and bool(space.waiting()))
            [card] = space.waiting()
            for client in (one, other):
                await client.answer(card.run_id, card.part.tool_call_id, "yes")
            await one.close_poll(card.run_id, card.part.tool_call_id)
            await until(space, lambda event: isinstance(event, RunChanged) and event.status == "completed")
            [part] = space.messages()[-1].parts
            assert isinstance(part, ToolCallPart)
            assert sorted(answer.entity_id for answer in part.answers or []) == ["ada", "bob"]

    run(tell())


def test_a_run_is_stopped_looked_at_and_tried_again(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model)
    pieces = [*call("sendSpaceMessage", {"spaceId": "shop-space", "text": LAPTOPS}, size=4)[:-2], HANG]
    model.answer(Answer(pieces))

    async def tell() -> None:
        async with client_of(ada) as client, client.follow("shop-space") as space:
            posted = await client.post("shop-space", "laptops?")
            run_id = posted.runs[0].run_id
            await until(space, of(TextDelta))
            assert [one.id for one in await client.runs(space_id="shop-space", status=["running"])] == [
                run_id
            ]
            assert (await client.cancel(run_id)).status == "canceled"
            await until(space, lambda event: isinstance(event, RunChanged) and event.status == "canceled")
            assert (await client.run(run_id)).status == "canceled"
            assert await client.runs(space_id="shop-space", status=["running", "queued"]) == []
            with pytest.raises(Conflict):
                await client.retry(run_id)

    run(tell())


def _fold(events: list[SpaceEvent]) -> list[Any]:
    view = SpaceView()
    for event in events:
        view.apply(event)
    return [
        (
            message.role,
            [part.text if not isinstance(part, ToolCallPart) else part.args for part in message.parts],
        )
        for message in view.messages()
    ]


AS_ASKED = [
    ("user", ["laptops?"]),
    (
        "assistant",
        [
            LAPTOPS,
            {"name": "MacBook Pro", "price": 1299},
            {"name": "Dell XPS 15", "price": 1199},
            "Want me to add any to your cart?",
        ],
    ),
]


@pytest.mark.parametrize("cuts", [[], [0], [200], [1000, 1500], [3000, 500, 1000]], ids=str)
def test_a_question_streams_its_answer_also_over_a_connection_that_breaks(
    house: Roomful, model: FakeOpenAI, cuts: list[int]
) -> None:
    ada = shop(house, model)
    model.answer(*story())

    async def tell() -> None:
        async with Breaking(house.port, cuts) as broken, client_of(ada, url=broken.url) as client:
            events = [event async for event in client.ask("shop-space", "laptops?")]
            assert broken.connections == len(cuts) + 1
            assert isinstance(events[0], MessageChanged)
            [last] = [event for event in events if isinstance(event, RunChanged)][-1:]
            assert last.status == "completed"
            assert _fold(events) == AS_ASKED
            assert len(ada.get("/api/runs", params={"spaceId": "shop-space"})["runs"]) == 1

    run(tell())


def test_a_question_outlives_the_server_that_was_asked(tmp_path: Path, model: FakeOpenAI) -> None:
    with Roomful(tmp_path) as house:
        ada = shop(house, model)
        begun = [*call("sendSpaceMessage", {"spaceId": "shop-space", "text": LAPTOPS}, size=3)[:-3], HANG]
        model.answer(Answer(begun))

        async def tell() -> None:
            async with client_of(ada) as client:
                events: list[SpaceEvent] = []
                async for event in client.ask("shop-space", "laptops?"):
                    events.append(event)
                    if isinstance(event, TextDelta) and len(model.requests) == 1:
                        house.kill()
                        model.answer(*story())
                        await asyncio.to_thread(house.start)
                        model.wait_for_requests(2)
                assert _fold(events) == AS_ASKED

        run(tell())


def test_a_question_that_wakes_nobody_ends_with_itself(house: Roomful) -> None:
    ada = house.person("ada")
    house.space("room", "ada")

    async def tell() -> None:
        async with client_of(ada) as client:
            [event] = [event async for event in client.ask("room", "anybody?")]
            assert isinstance(event, MessageChanged)
            assert event.message.text == "anybody?"

    run(tell())


def test_an_answer_too_large_for_the_stream_is_fetched(house: Roomful, model: FakeOpenAI) -> None:
    ada = house.person("ada")
    large = {**FORM, "execution": {"mode": "pass-through"}, "visibility": "full"}
    house.agent("shop", openai(model.base_url), large)
    house.space("room", "ada", "shop")
    words = "ü" * 200_000
    model.answer(Answer(call("form", {"q": words}, size=50_000)), Answer(text("ok")))

    async def tell() -> None:
        async with client_of(ada) as client:
            events = [event async for event in client.ask("room", "laptops?")]
            assert _fold(events)[1] == ("assistant", [{"q": words}])

    run(tell())


def test_the_operator_acts_for_somebody_by_name(house: Roomful) -> None:
    house.person("ada")
    house.space("room", "ada")

    async def tell() -> None:
        async with client_of(house.admin, acts_as="ada") as client:
            assert (await client.post("room", "hello")).message.entity_id == "ada"
        async with client_of(house.admin) as operator:
            with pytest.raises(Forbidden):
                await operator.post("room", "hello")

    run(tell())
