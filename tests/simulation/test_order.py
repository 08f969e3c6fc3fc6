"""What two gateways store one after the other is heard in the other order where news is late. Readers come to
see what is stored all the same."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from roomful.client.sse import FrameReader
from roomful.domain.agents import ModelRef
from roomful.domain.changes import Change, SaveParts
from roomful.domain.deltas import CallOpened, CallPiece, ModelRequest
from roomful.domain.ports import Hear
from tests.servers.roomful import Event, View
from tests.simulation.house import ADMIN_KEY, Houses
from tests.simulation.outside import SeededModels
from tests.simulation.people import Answer, Connection, ask
from tests.simulation.test_stories import OneForm, living

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


class TwoForms(SeededModels):
    """Asks for two things at once."""

    async def ask(self, request: ModelRequest, hear: Hear) -> None:
        form = '{"targetSpaceId":"room","q":"Well?"}'
        hear([CallOpened(0, "form"), CallPiece(0, form), CallOpened(1, "form"), CallPiece(1, form)])

    def find(self, ref: ModelRef) -> "TwoForms":
        return self


@pytest.mark.parametrize("late", ["where it is canceled", "where it is answered"])
def test_a_canceled_run_s_message_is_final_however_late_the_news_of_an_answer(
    tmp_path: Path, late: str
) -> None:
    """The answer is stored first, and heard last."""
    with living(tmp_path, TwoForms, shared=True) as houses:
        loop, [answers, cancels] = houses.loop, houses.machines

        async def story() -> None:
            gateway = await answers.boot()
            await cancels.boot()
            assert answers.hand is not None
            assert cancels.link is not None
            ada = await gateway.person("ada")
            await gateway.space("room", "ada", "bot")
            reads = cancels if late == "where it is canceled" else answers
            assert reads.door is not None
            stream = Connection(loop, reads.door, "GET", "/api/spaces/room/stream", ada)
            [run] = (await ask(loop, answers.door, "POST", MESSAGES, ada, {"text": "Ask me"})).json["runs"]
            await asyncio.sleep(2)
            path = f"/api/runs/{run['runId']}"
            cards = (await ask(loop, answers.door, "GET", path, ada)).json["pendingToolCalls"]
            if reads is cancels:
                cancels.link.slow_by = 0.4
            else:
                answers.hand.slow_by = 0.4
            body = {"toolCallId": cards[0]["toolCallId"], "result": 1}
            answering = asyncio.ensure_future(
                ask(loop, answers.door, "POST", f"{path}/tool-results", ada, body)
            )
            await asyncio.sleep(0.1)
            canceled = await ask(loop, cancels.door, "POST", f"{path}/cancel", ada)
            assert (canceled.status, (await answering).status) == (200, 200)
            await asyncio.sleep(5)
            page = (await ask(loop, reads.door, "GET", MESSAGES, ada)).json["messages"]
            assert [part["status"] for part in page[1]["parts"]] == ["complete", "canceled"]
            assert seen(stream)[0] == page
            stream.cut()
            for machine in (answers, cancels):
                await machine.stop()

        loop.run(story(), until=100)


def test_an_answer_that_nobody_waits_for_leaves_a_final_message_final(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run ends between the look at its message and the commit of the answer."""
    with living(tmp_path, OneForm) as houses:
        loop, [machine] = houses.loop, houses.machines
        _let_forms_go(houses)

        async def story() -> None:
            gateway = await machine.boot()
            ada = await gateway.person("ada")
            await gateway.space("room", "ada", "bot")
            assert machine.door is not None
            stream = Connection(loop, machine.door, "GET", "/api/spaces/room/stream", ada)
            [run] = (await ask(loop, machine.door, "POST", MESSAGES, ada, {"text": "Ask me"})).json["runs"]
            await asyncio.sleep(8)
            page = (await ask(loop, machine.door, "GET", MESSAGES, ada)).json["messages"]
            assert (page[1]["status"], page[1]["parts"][0]["status"]) == ("open", "waiting")
            has_ended, commit = asyncio.Event(), gateway.house.store.commit

            async def commit_late(changes: Sequence[Change], then: Any = None, **more: Any) -> list[Any]:
                if any(isinstance(change, SaveParts) for change in changes):
                    await has_ended.wait()
                return await commit(changes, then, **more)

            with monkeypatch.context() as patched:
                patched.setattr(gateway.house.store, "commit", commit_late)
                body = {"toolCallId": page[1]["parts"][0]["toolCallId"], "result": 1}
                path = f"/api/runs/{run['runId']}"
                answering = asyncio.ensure_future(
                    ask(loop, machine.door, "POST", f"{path}/tool-results", ada, body)
                )
                await asyncio.sleep(5)
                assert (await ask(loop, machine.door, "GET", path, ada)).json["status"] == "completed"
                has_ended.set()
                assert (await answering).status == 200
            page = (await ask(loop, machine.door, "GET", MESSAGES, ada)).json["messages"]
            assert (page[1]["status"], page[1]["parts"][0]["status"]) == ("final", "complete")
            assert seen(stream)[0][:2] == page[:2]
            stream.cut()
            await machine.stop()

        loop.run(story(), until=100)


def _let_forms_go(houses: Houses) -> None:
    """Whoever shows a form does not wait for its answer."""
    for tool in houses.agents[0]["tools"]:
        if tool["name"] == "form":
            tool["execution"] = {"mode": "no-execution", "wait": False}


class OnePoll(SeededModels):
    """Asks everybody."""

    async def ask(self, request: ModelRequest, hear: Hear) -> None:
        hear([CallOpened(0, "poll"), CallPiece(0, '{"targetSpaceId":"room","q":"Pizza?"}')])

    def find(self, ref: ModelRef) -> "OnePoll":
        return self


VOTE_AND_VOTE = [("ada", {"result": "yes"}), ("bob", {"result": "no"})]
VOTE_TWICE = [("ada", {"result": "yes"}), ("ada", {"result": "no"})]
VOTE_AND_CLOSE = [("ada", {"result": "yes"}), ("ada", {"close": True})]


@pytest.mark.parametrize("late", ["the link", "the store"])
@pytest.mark.parametrize(
    "votes", [VOTE_AND_VOTE, VOTE_TWICE, VOTE_AND_CLOSE], ids=["two vote", "one votes twice", "it is closed"]
)
def test_votes_are_seen_as_they_are_stored_however_late_the_news(
    tmp_path: Path, votes: list[tuple[str, dict[str, Any]]], late: str
) -> None:
    with living(tmp_path, OnePoll, shared=True) as houses:
        loop, [first, second] = houses.loop, houses.machines
        form = next(tool for tool in houses.agents[0]["tools"] if tool["name"] == "form")
        poll = {**form, "name": "poll", "execution": {"mode": "no-execution", "answers": "each"}}
        houses.agents[0]["tools"] = [poll]

        async def story() -> None:
            gateway = await first.boot()
            await second.boot()
            assert first.hand is not None
            assert second.link is not None
            tokens = {name: await gateway.person(name) for name in ("ada", "bob")}
            await gateway.space("room", "ada", "bob", "bot")
            reads = second if late == "the link" else first
            assert reads.door is not None
            stream = Connection(loop, reads.door, "GET", "/api/spaces/room/stream", tokens["ada"])
            posted = await ask(loop, first.door, "POST", MESSAGES, tokens["ada"], {"text": "Ask us"})
            await asyncio.sleep(2)
            path = f"/api/runs/{posted.json['runs'][0]['runId']}"
            [card] = (await ask(loop, first.door, "GET", path, tokens["ada"])).json["pendingToolCalls"]
            if reads is second:
                second.link.slow_by = 0.4
            else:
                first.hand.slow_by = 0.4
            voting: list[asyncio.Future[Answer]] = []
            for machine, (who, vote) in zip((first, second), votes, strict=True):
                body = {"toolCallId": card["toolCallId"], **vote}
                asking = ask(loop, machine.door, "POST", f"{path}/tool-results", tokens[who], body)
                voting.append(asyncio.ensure_future(asking))
                await asyncio.sleep(0.1)
            assert [(await answer).status for answer in voting] == [200, 200]
            await asyncio.sleep(3)
            page = (await ask(loop, reads.door, "GET", MESSAGES, tokens["ada"])).json["messages"]
            assert seen(stream)[0][1] == page[1]
            stream.cut()
            for machine in (first, second):
                await machine.stop()

        loop.run(story(), until=100)
