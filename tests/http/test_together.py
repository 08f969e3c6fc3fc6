"""Two agents and a person in one space, all at once: each has a message of its own, and stops alone."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.http.test_delegation import Script, checked
from tests.requirements import requirement
from tests.servers.fake_openai import Answer, FakeOpenAI, Piece, call, hold, text
from tests.servers.roomful import Caller, Event, Listener, Roomful, fold, openai

AGENTS = ("left", "right")
CARD: dict[str, Any] = {
    "name": "card",
    "executionType": "basic",
    "execution": {"mode": "static", "output": {"shown": True}},
    "visibility": "full",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
}
LETTERS = "abcdefgh"


def plain(who: str) -> list[bytes]:
    return text(LETTERS, size=1)


def message(who: str) -> list[bytes]:
    written = call("sendSpaceMessage", {"spaceId": "room", "text": LETTERS}, size=1)
    return _joined(written, len('{"spaceId": "room", "text": "'))


def card(who: str) -> list[bytes]:
    return _joined(call("card", {"text": LETTERS}, size=1), len('{"text": "'))


def _joined(pieces: list[bytes], head: int) -> list[bytes]:
    """The opening of the call and its first `head` letters in one write, the rest one by one."""
    return [b"".join(pieces[: head + 2]), *pieces[head + 2 :]]


WAYS = {"text": plain, "message": message, "card": card}


def step_by_step(who: str, pieces: list[bytes]) -> Answer:
    """Each piece after the first waits to be let go."""
    held: list[Piece] = [pieces[0]]
    for piece in pieces[1:]:
        held += [hold(who), piece]
    return Answer([*held, hold(f"{who} ends")])


class Table:
    """The two agents at work for Ada, both in the middle of what they say."""

    def __init__(self, house: Roomful, ada: Caller, model: FakeOpenAI, ears: Listener) -> None:
        self.house = house
        self.ada = ada
        self.model = model
        self.ears = ears
        self.runs: dict[str, str] = {}
        self.grown: dict[str, int] = dict.fromkeys(AGENTS, 1)

    def begins(self) -> None:
        runs = self.ada.say("room", "@left @right go")["runs"]
        self.runs = {run["agentId"]: run["runId"] for run in runs}
        for who in AGENTS:
            self._is(who, LETTERS[:1])

    def grows(self, who: str) -> None:
        """By one letter, heard before this returns."""
        self.grown[who] += 1
        self.model.release(who)
        self._is(who, LETTERS[: self.grown[who]])
        checked(self.ears, self.ada, "room")

    def ends(self, who: str) -> list[dict[str, Any]]:
        self.model.release(who, 2 * len(LETTERS))
        self.model.release(f"{who} ends")
        self.ears.wait_for("run.completed", runId=self.runs[who])
        return checked(self.ears, self.ada, "room")

    def cancels(self, who: str) -> list[dict[str, Any]]:
        self.ada.post(f"/api/runs/{self.runs[who]}/cancel")
        self.ears.wait_for("run.canceled", runId=self.runs[who])
        return checked(self.ears, self.ada, "room")

    def _is(self, who: str, words: str) -> None:
        self.ears.wait(lambda events: said(fold(events), self.runs[who]) == words)


def said(state: list[dict[str, Any]], run_id: str) -> str | None:
    """All that a run's only message says so far."""
    own = [message for message in state if message.get("runId") == run_id]
    assert len(own) <= 1
    return (
        "".join(part.get("text") or part["args"].get("text", "") for part in own[0]["parts"]) if own else None
    )


def kind_of(events: list[Event], table: Table) -> list[str]:
    """Whose words came, in the order of their coming."""
    parts = {
        e.data[key]: e.data["entityId"]
        for e in events
        if e.name in ("text-start", "tool-call.start")
        for key in ("partId", "toolCallId")
        if key in e.data
    }
    deltas = [e for e in events if e.name in ("text-delta", "tool-input-delta")]
    return [parts[e.data.get("partId") or e.data["toolCallId"]] for e in deltas]


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def model(script: Script) -> Iterator[FakeOpenAI]:
    with FakeOpenAI(script) as model:
        yield model


@pytest.fixture
def ada(house: Roomful, model: FakeOpenAI) -> Caller:
    ada = house.person("ada")
    for who in AGENTS:
        house.agent(who, openai(model.base_url), CARD, instructions=f"You are {who}.", speaks="both")
    house.space("room", "ada", *AGENTS)
    return ada


@pytest.fixture
def table(house: Roomful, ada: Caller, model: FakeOpenAI) -> Iterator[Table]:
    with ada.listen("room") as ears:
        yield Table(house, ada, model, ears)


PAIRS = [pytest.param(one, two, id=f"{one} and {two}") for one, two in itertools.product(WAYS, WAYS)]


def prepare(script: Script, one: str, two: str) -> None:
    script.answers = {
        who: [step_by_step(who, WAYS[way](who)), Answer([])]
        for who, way in zip(AGENTS, (one, two), strict=True)
    }


@requirement("C-01", "X-05")
@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_two_messages_grow_side_by_side(script: Script, table: Table, one: str, two: str) -> None:
    prepare(script, one, two)
    table.begins()
    for who in ("left", "right", "right", "left", "right", "left"):
        table.grows(who)
    with table.ada.listen("room") as late:
        table.ada.say("room", "I am here too")
        table.ears.wait_for("smartSpace.message", 2)
        table.grows("left")
        table.ends("right")
        table.grows("left")
        state = table.ends("left")
        late.wait_for("run.completed", runId=table.runs["left"])
        assert fold(late.events) == state
    order = kind_of(table.ears.events, table)
    assert len(list(itertools.groupby(order))) >= 5, "the two did not speak in turns"
    assert [said(state, table.runs[who]) for who in AGENTS] == [LETTERS, LETTERS]
    assert {message["status"] for message in state} == {"final"}
    assert [message["seq"] for message in state] == list(range(1, 5))


@requirement("X-03")
@pytest.mark.parametrize("who", AGENTS)
@pytest.mark.parametrize(("one", "two"), PAIRS[:: len(WAYS) + 1])
def test_one_is_stopped_and_the_other_goes_on(
    script: Script, table: Table, one: str, two: str, who: str
) -> None:
    prepare(script, one, two)
    [other] = [agent for agent in AGENTS if agent != who]
    table.begins()
    table.grows(who)
    table.grows(other)
    state = table.cancels(who)
    assert said(state, table.runs[who]) == LETTERS[:2]
    assert [m["status"] for m in state if m.get("runId") == table.runs[who]] == ["final"]
    table.grows(other)
    state = table.ends(other)
    assert said(state, table.runs[other]) == LETTERS
    assert said(state, table.runs[who]) == LETTERS[:2]
    statuses = {part["status"] for m in state for part in m["parts"] if m.get("runId") == table.runs[who]}
    assert statuses == {"canceled"}
    runs = {run["agentId"]: run["status"] for run in table.house.admin.get("/api/runs")["runs"]}
    assert runs == {who: "canceled", other: "completed"}


@requirement("X-03")
def test_both_are_stopped_one_after_the_other(script: Script, table: Table) -> None:
    prepare(script, "message", "card")
    table.begins()
    table.grows("left")
    table.cancels("left")
    table.grows("right")
    state = table.cancels("right")
    assert [said(state, table.runs[who]) for who in AGENTS] == [LETTERS[:2], LETTERS[:2]]
    posted = table.ada.say("room", "@left again")
    assert len(posted["runs"]) == 1
    table.ears.wait_for("run.completed", runId=posted["runs"][0]["runId"])
    checked(table.ears, table.ada, "room")
