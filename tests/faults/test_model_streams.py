"""A model's answer that breaks anywhere or never ends: the run comes to an end, and nothing is done twice."""

import asyncio
import itertools
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from roomful.store.doctor import examine
from tests.faults.killing import UNSETTLED
from tests.faults.stories import calls, goes_on, texts
from tests.http.shopping import PRODUCT_CARD
from tests.http.test_waiting import FORM
from tests.servers.fake_openai import (
    CUT,
    Answer,
    Asked,
    FakeOpenAI,
    Piece,
    call,
    endless,
    finish,
    html,
    pause,
    status,
)
from tests.servers.roomful import Caller, Listener, Roomful, fold, openai
from tests.servers.world import World

WORDS = "Grüße 🚀 an e\u0301, alle 👩🏽‍🚀"
CARD = {"name": "Zelt ⛺", "price": 12.5}
QUESTION = {"q": "Genug? 🏕️"}
DESK = "desk-000"
"""As long as the name of any desk: an answer is cut at the same bytes for each."""
DONE = b"data: [DONE]\n\n"
ENDS = ("run.completed", "run.failed")


def step(desk: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("sendSpaceMessage", {"spaceId": desk, "text": WORDS}),
        ("showProductCard", CARD),
        ("send", {"key": desk}),
        ("form", QUESTION),
    ]


def pieces(desk: str) -> list[bytes]:
    return [
        piece
        for index, (name, args) in enumerate(step(desk))
        for piece in call(name, args, index=index, id=f"c{index}", size=12)
    ]


CHUNKS = list(itertools.accumulate(map(len, pieces(DESK)), initial=0))
CONTENT = b"".join(pieces(DESK))
FIRST_WHOLE = CONTENT.index(b"showProductCard")
CHARACTERS = [
    match.start() + inside for match in re.finditer(rb"[\xf0-\xf4]...", CONTENT) for inside in (1, 2, 3)
]
BYTES = sorted(random.Random(7).sample(range(len(CONTENT)), 8))


@dataclass
class Office:
    """A clerk who does four things for whoever asks, in a space of its own each time: speaks, shows a card,
    does something outside, and asks."""

    house: Roomful
    world: World
    ada: Caller
    faults: dict[str, list[Answer]] = field(default_factory=dict[str, list[Answer]])
    """What the next requests of a desk are answered with; after them, whatever was not called yet is."""
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def new_desk(self, clerk: str = "clerk") -> str:
        return self.house.space(f"desk-{next(self.numbers):03}", "ada", clerk)

    def play(self, desk: str, faults: Iterable[Answer]) -> dict[str, Any]:
        """The run at its end. What it leaves behind is as it should be, whatever the end was."""
        self.faults[desk] = list(faults)
        with self.ada.listen(desk) as listener:
            run_id = self.ada.say(desk, f"all of it for {desk}")["runs"][0]["runId"]
            self._answer_form(listener, run_id)
            assert self.faults[desk] == []
            run: dict[str, Any] = self.house.admin.get(f"/api/runs/{run_id}")
            self._check(listener, desk)
            again = self.ada.say(desk, f"hello at {desk}")["runs"][0]["runId"]
            listener.wait_for("run.completed", runId=again)
            assert texts(self._check(listener, desk))[-1] == "fine"
        assert asyncio.run(examine(self.house.database)) == []
        return run

    def _answer_form(self, listener: Listener, run_id: str) -> None:
        """If the run comes to it. Then it goes on to its end."""
        names = {"run.waiting_tool", *ENDS}
        rest = listener.wait(
            lambda events: [e for e in events if e.name in names and e.data["runId"] == run_id]
        )[0]
        if rest.name == "run.waiting_tool":
            [pending] = rest.data["pendingToolCalls"]
            body = {"toolCallId": pending["toolCallId"], "result": "yes"}
            self.ada.post(f"/api/runs/{run_id}/tool-results", body)
            listener.wait(lambda events: [e for e in events if e.name in ENDS])

    def _check(self, listener: Listener, desk: str) -> list[dict[str, Any]]:
        page = self.ada.messages(desk)
        listener.wait(lambda events: fold(events) == page)
        assert [message["seq"] for message in page] == list(range(1, len(page) + 1))
        assert {message["status"] for message in page} == {"final"}
        assert not {part["status"] for message in page for part in message["parts"]} & UNSETTLED
        assert self.world.effects[desk] <= 1
        return page

    def answer(self, asked: Asked) -> Answer:
        words = next(str(one["content"]) for one in asked.messages if one["role"] == "user")
        wish, desk = re.findall(r"(for|at) (desk-\d+)", words)[-1]
        if wish == "at":
            return goes_on(asked, [("sendSpaceMessage", {"spaceId": desk, "text": "fine"})], last="Done.")
        return self.faults[desk].pop(0) if self.faults[desk] else goes_on(asked, step(desk), last="Done.")


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """One gateway for all that models do."""
    with World() as world, FakeOpenAI(lambda asked: office.answer(asked)) as model:
        folder = tmp_path_factory.mktemp("office")
        with Roomful(folder, ROOMFUL_ALLOW_HOSTS=world.host) as house:
            tools = (PRODUCT_CARD, FORM, world.tool("send"))
            house.agent("clerk", openai(model.base_url), *tools, dialect="composite")
            limits = {"modelSilenceSeconds": 0.4}
            house.agent("hasty", openai(model.base_url), *tools, dialect="composite", limits=limits)
            office = Office(house, world, house.person("ada"))
            yield office


def check_done(office: Office, desk: str, run: dict[str, Any]) -> None:
    """Everything, once."""
    assert run["status"] == "completed", run
    page = office.ada.messages(desk)
    assert texts(page).count(WORDS) == 1
    assert [part["args"] for part in calls(page, "showProductCard")] == [CARD]
    assert [part["result"] for part in calls(page, "form")] == ["yes"]
    assert office.world.effects[desk] == 1


@pytest.mark.parametrize(
    "at",
    [
        *(pytest.param(at, id=f"after chunk {number}") for number, at in enumerate(CHUNKS)),
        *(pytest.param(at, id=f"in a character, byte {at}") for at in CHARACTERS),
        *(pytest.param(at, id=f"byte {at}") for at in BYTES),
    ],
)
def test_an_answer_cut_anywhere_is_gone_on_with(office: Office, at: int) -> None:
    """Before its first call is whole it begins anew in the same parts. Later what is whole counts, and the
    call that was cut is there as canceled."""
    desk = office.new_desk()
    check_done(office, desk, office.play(desk, [Answer(pieces(desk), cut_at=at)]))
    parts = [part for message in office.ada.messages(desk) for part in message["parts"]]
    assert [part["status"] for part in parts].count("canceled") <= (at >= FIRST_WHOLE)


def test_an_answer_cut_again_and_again_has_its_effects_once(office: Office) -> None:
    desk = office.new_desk()
    cuts = [CHUNKS[2] + 9, CHUNKS[12] + 9]
    check_done(office, desk, office.play(desk, [Answer(pieces(desk), cut_at=at) for at in cuts]))


def garbage(desk: str) -> list[Piece]:
    """More of the same, and what is no answer at all."""
    return [*call("send", {"key": desk}, index=9, id="late"), b"\xff\x00<html>\n\n", finish(), DONE]


@pytest.mark.parametrize("last", [[], [CUT]], ids=["ended", "cut"])
def test_what_follows_the_end_of_an_answer_is_not_read(office: Office, last: list[Piece]) -> None:
    desk = office.new_desk()
    answer = Answer([*pieces(desk), finish(), DONE, *garbage(desk), *last], finish=False, done=False)
    check_done(office, desk, office.play(desk, [answer]))


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param([status(429)], id="429"),
        pytest.param([status(500), status(529)], id="500, 529"),
        pytest.param([status(529, "<html>Overloaded</html>"), Answer([CUT])], id="529, cut"),
    ],
)
def test_a_provider_in_trouble_is_asked_again(office: Office, faults: list[Answer]) -> None:
    desk = office.new_desk()
    check_done(office, desk, office.play(desk, faults))


@pytest.mark.parametrize(
    ("faults", "code"),
    [
        pytest.param([status(529)] * 3, "model_unavailable", id="529 for good"),
        pytest.param([html()], "model_garbage", id="a page"),
        pytest.param([Answer(pieces(DESK), cut_at=CHUNKS[3])] * 3, "model_cut", id="cut for good"),
    ],
)
def test_a_provider_that_gives_no_answer_fails_the_run_in_words(
    office: Office, faults: list[Answer], code: str
) -> None:
    desk = office.new_desk()
    run = office.play(desk, faults)
    assert (run["status"], run["error"]["code"]) == ("failed", code)
    assert "openai:fake" in run["error"]["message"]
    assert office.world.effects[desk] == 0


def test_a_page_behind_whole_calls_ends_the_step_and_not_the_run(office: Office) -> None:
    desk = office.new_desk()
    begun = pieces(desk)[:-1]
    check_done(office, desk, office.play(desk, [Answer([*begun, b"<!doctype html>\n"])]))


DRIPS = {
    "comments": [b": still here\n\n", pause(0.02)],
    "blank lines": [b"\n", pause(0.02)],
    "spaces": [b" ", pause(0.02)],
    "a flood": [b": still here\n\n" * 1000],
}


@pytest.mark.parametrize("drip", DRIPS)
def test_an_answer_that_says_nothing_for_ever_fails_the_run(office: Office, drip: str) -> None:
    desk = office.new_desk("hasty")
    begun = pieces(desk)[:3]
    answer = Answer(itertools.chain(begun, itertools.cycle(DRIPS[drip])))
    run = office.play(desk, [answer])
    assert (run["status"], run["error"]["code"]) == ("failed", "model_silent")
    assert run["error"]["message"] == "openai:fake said nothing for 0.4 s"


def test_whole_calls_before_a_silence_have_their_effects_once(office: Office) -> None:
    desk = office.new_desk("hasty")
    begun = pieces(desk)[:-1]
    answer = Answer(itertools.chain(begun, itertools.cycle(DRIPS["comments"])))
    check_done(office, desk, office.play(desk, [answer]))


def test_an_answer_without_end_fails_the_run(office: Office) -> None:
    desk = office.new_desk()
    run = office.play(desk, [endless()])
    assert (run["status"], run["error"]["code"]) == ("failed", "model_too_large")
