"""An agent mentions another: its message is closed, and the other one's run has a message of its own."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.casting import Cast, check_alike, mentions, once, people, quiet, runs_of, say, seen_alike
from tests.http.storming import ACTIVE, calm
from tests.http.test_delegation import SEARCH, both
from tests.requirements import requirement
from tests.servers.cluster import eventually
from tests.servers.fake_openai import CUT, Answer, Asked, FakeOpenAI, call, hold, text
from tests.servers.inhouse import InHouse
from tests.servers.roomful import PATIENCE, Caller, Event, Roomful, fold, openai

pytestmark = requirement("C-06")

CARD: dict[str, Any] = {**SEARCH, "name": "card", "execution": {"mode": "no-execution", "wait": False}}
LOOK: dict[str, Any] = {**SEARCH, "name": "look", "visibility": "full"}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[InHouse]:
    with InHouse(tmp_path) as house:
        yield house


@pytest.fixture
def ada(house: InHouse) -> Caller:
    return house.person("ada")


def bubbles(messages: list[dict[str, Any]]) -> list[tuple[str, list[str], list[str]]]:
    """Of each message its author, its texts and tool names, and whom it mentions."""
    return [
        (
            message["entityId"],
            [part.get("text") or part["toolName"] for part in message["parts"]],
            message["mentions"],
        )
        for message in messages
    ]


def run_by(house: Roomful, agent_id: str) -> dict[str, Any]:
    [run] = [run for run in runs_of(house) if run["agentId"] == agent_id]
    return run


def test_a_mention_closes_the_message_and_starts_a_run_with_its_own(house: InHouse, ada: Caller) -> None:
    cast = Cast(
        ann=lambda _, turn: [
            both(say(words="First.", index=0), say("bob", words="Bob, help.", index=1)),
            Answer([hold("later"), *say(words="More.")]),
            Answer(text("Done.")),
        ][turn],
        bob=once(*say(words="I help.")),
    )
    with FakeOpenAI(cast) as model:
        people(house, model, "ann", "bob")
        with seen_alike(ada) as listener:
            first = ada.say("room", "go", mentions=["ann"])["runs"][0]["runId"]
            listener.wait_for("run.completed")
            model.release("later")
            listener.wait_for("run.completed", runId=first)
        state = ada.messages("room")
        assert bubbles(state) == [
            ("ada", ["go"], ["ann"]),
            ("ann", ["First.", "Bob, help."], ["bob"]),
            ("bob", ["I help."], []),
            ("ann", ["More."], []),
        ]
        assert [message["status"] for message in state] == ["final"] * 4
        bob = run_by(house, "bob")
        assert bob["trigger"] == {
            "type": "mention",
            "spaceId": "room",
            "messageId": state[1]["id"],
            "entityId": "ann",
        }
        assert (bob["rootRunId"], bob["depth"]) == (first, 1)
        assert (state[1]["runId"], state[2]["runId"], state[3]["runId"]) == (first, bob["id"], first)
        closed = _index(listener.events, lambda e: _is_final(e, state[1]["id"]))
        started = _index(listener.events, lambda e: e.name == "run.started" and e.data["runId"] == bob["id"])
        assert closed < started
        assert cast.told[0][1] == {
            "sent": True,
            "messageId": state[1]["id"],
            "started": [{"agentId": "bob", "runId": bob["id"]}],
        }
        asked = next(one for one in model.requests if "You are bob." in one.messages[0]["content"])
        assert "Bob, help." in str(asked.messages)


def _index(events: list[Event], found: Callable[[Event], bool]) -> int:
    return next(number for number, event in enumerate(events) if found(event))


def _is_final(event: Event, message_id: str) -> bool:
    message = event.data.get("message", {})
    return event.name == "smartSpace.message" and (message.get("id"), message.get("status")) == (
        message_id,
        "final",
    )


@pytest.mark.parametrize("tool", ["card", "look"])
def test_parts_that_are_not_settled_yet_stay_in_the_closed_message(
    house: InHouse, ada: Caller, tool: str
) -> None:
    """A card that a person answers later, and a call that is executed when the step is over."""
    answers = iter(
        [
            Answer([*call(tool, {"query": "x"}), *say("bob", index=1), hold("step")]),
            Answer([hold("later"), *say(words="More.")]),
        ]
    )
    cast = Cast(
        ann=lambda _, __: next(answers, Answer(text("Done."))),
        bob=once(*say(words="I help.")),
    )
    with FakeOpenAI(cast) as model:
        house.agent("ann", openai(model.base_url), CARD, LOOK, instructions="You are ann.")
        house.agent("bob", openai(model.base_url), instructions="You are bob.")
        house.space("room", "ada", "ann", "bob")
        with ada.listen("room") as listener:
            first = ada.say("room", "go", mentions=["ann"])["runs"][0]["runId"]
            listener.wait_for("text-end")
            [_, closed] = check_alike(listener, ada)
            assert (closed["status"], closed["mentions"]) == ("open", ["bob"])
            model.release("step")
            listener.wait_for("run.completed")
            check_alike(listener, ada)
            model.release("later")
            listener.wait_for("run.completed", runId=first)
            state = check_alike(listener, ada)
            assert bubbles(state)[1:] == [
                ("ann", [tool, "Go on."], ["bob"]),
                ("bob", ["I help."], []),
                ("ann", ["More."], []),
            ]
            assert [message["status"] for message in state] == ["final"] * 4
            part = state[1]["parts"][0]
            if tool == "look":
                assert (part["status"], part["result"]) == ("complete", {"found": ["x"]})
                return
            assert part["status"] == "waiting"
            answer = {"toolCallId": part["toolCallId"], "result": {"ok": 1}}
            ada.post(f"/api/runs/{first}/tool-results", answer)
            calm(house)
            assert check_alike(listener, ada)[1]["parts"][0]["result"] == {"ok": 1}


NOBODY = {
    "a code block": "Write\n```\n@bob hello\n```\n",
    "code in a line": "Write `@bob`.",
    "a quote": "They said:\n> @bob come\nand left.",
    "an address": "Mail to me@bob or x.@bob.org.",
    "half a name": "Ask @bobby or @bob-2.",
}


@pytest.mark.parametrize("why", NOBODY)
@pytest.mark.parametrize("speaks", ["tools", "text"])
def test_code_and_quotes_mention_nobody(house: InHouse, ada: Caller, why: str, speaks: str) -> None:
    words = NOBODY[why]
    with FakeOpenAI(Cast(ann=once(*(say(words=words) if speaks == "tools" else text(words))))) as model:
        people(house, model, "ann", "bob", speaks=speaks)
        with seen_alike(ada) as listener:
            ada.say("room", "go", mentions=["ann"])
            listener.wait_for("run.completed")
        assert bubbles(ada.messages("room"))[1] == ("ann", [words], [])
        assert len(runs_of(house)) == 1


@requirement("T-14")
def test_a_tools_arguments_and_result_mention_nobody(house: InHouse, ada: Caller) -> None:
    cast = Cast(ann=once(*call("look", {"query": "@bob"}), *call("card", {"query": "@bob"}, index=1, id="c")))
    with FakeOpenAI(cast) as model:
        house.agent("ann", openai(model.base_url), CARD, LOOK, instructions="You are ann.")
        house.agent("bob", openai(model.base_url), instructions="You are bob.")
        house.space("room", "ada", "ann", "bob")
        with seen_alike(ada) as listener:
            ada.say("room", "go", mentions=["ann"])
            listener.wait_for("run.completed")
        assert bubbles(ada.messages("room"))[1:] == [("ann", ["look", "card"], [])]
        assert len(runs_of(house)) == 1


@pytest.mark.parametrize("word", ["@bob", "@Bob", "@BOB"])
@pytest.mark.parametrize("speaks", ["text", "both"])
def test_plain_words_mention_too(house: InHouse, ada: Caller, speaks: str, word: str) -> None:
    cast = Cast(
        ann=lambda _, turn: [
            Answer([*text(f"Help, {word}!"), *call("look", {"query": "x"})]),
            Answer(text("Thanks.")),
        ][turn],
        bob=lambda _, __: Answer(text("I help.")),
    )
    with FakeOpenAI(cast) as model:
        for agent in ("ann", "bob"):
            instructions = f"You are {agent}."
            house.agent(agent, openai(model.base_url), LOOK, instructions=instructions, speaks=speaks)
        house.space("room", "ada", "ann", "bob")
        with seen_alike(ada):
            ada.say("room", "go", mentions=["ann"])
            calm(house)
        state = ada.messages("room")
        assert bubbles(state)[1] == ("ann", [f"Help, {word}!"], ["bob"])
        assert sorted(bubbles(state)[2:]) == [("ann", ["look", "Thanks."], []), ("bob", ["I help."], [])]
        assert run_by(house, "bob")["trigger"]["messageId"] == state[1]["id"]


def test_a_mentioned_person_closes_the_message_and_starts_nothing(house: InHouse, ada: Caller) -> None:
    cast = Cast(ann=lambda _, turn: Answer(say("ada") if turn == 0 else say() if turn == 1 else text(".")))
    with FakeOpenAI(cast) as model:
        people(house, model, "ann", "bob")
        with seen_alike(ada) as listener:
            ada.say("room", "go", mentions=["ann"])
            listener.wait_for("run.completed")
        assert bubbles(ada.messages("room"))[1:] == [("ann", ["Go on."], ["ada"]), ("ann", ["Go on."], [])]
        assert len(runs_of(house)) == 1
        assert cast.told[0][1].keys() == {"sent", "messageId"}


def test_who_mentions_itself_mentions_nobody(house: InHouse, ada: Caller) -> None:
    cast = Cast(ann=once(*say("ann", words="I, @ann, go on."), *say(words="So.", index=1)))
    with FakeOpenAI(cast) as model:
        people(house, model, "ann", "bob")
        with seen_alike(ada) as listener:
            ada.say("room", "go", mentions=["ann"])
            listener.wait_for("run.completed")
        assert bubbles(ada.messages("room"))[1:] == [("ann", ["I, @ann, go on.", "So."], [])]
        assert len(runs_of(house)) == 1


def test_whoever_is_not_there_is_named_in_the_result(house: InHouse, ada: Caller) -> None:
    cast = Cast(ann=mentions("cyd", "nobody", "bob"), bob=quiet, cyd=quiet)
    with FakeOpenAI(cast) as model:
        people(house, model, "ann", "bob")
        house.agent("cyd", openai(model.base_url), instructions="You are cyd.")
        with seen_alike(ada):
            ada.say("room", "go", mentions=["ann"])
            calm(house)
        told = cast.told[0][1]
        assert [one["agentId"] for one in told["started"]] == ["bob"]
        assert [one["entityId"] for one in told["notStarted"]] == ["cyd", "nobody"]
        assert {one["reason"] for one in told["notStarted"]} == {
            "is not a member of this space whom you can address"
        }
        assert sorted(run["agentId"] for run in runs_of(house)) == ["ann", "bob"]


def test_one_call_can_start_two_and_one_step_can_mention_twice(house: InHouse, ada: Caller) -> None:
    cast = Cast(
        ann=once(*say("bob", "cyd", words="Both."), *say("bob", words="Bob again, and @dan.", index=1)),
        **dict.fromkeys(["bob", "cyd", "dan"], once(*say(words="Here."))),
    )
    with FakeOpenAI(cast) as model:
        people(house, model, "ann", "bob", "cyd", "dan")
        with seen_alike(ada):
            ada.say("room", "go", mentions=["ann"])
            calm(house)
        state = ada.messages("room")
        assert bubbles(state)[1:3] == [
            ("ann", ["Both."], ["bob", "cyd"]),
            ("ann", ["Bob again, and @dan."], ["bob", "dan"]),
        ]
        started = sorted(
            (run["agentId"], run["trigger"]["messageId"]) for run in runs_of(house) if run["depth"] == 1
        )
        one, two = state[1]["id"], state[2]["id"]
        assert started == sorted([("bob", one), ("bob", two), ("cyd", one), ("dan", two)])
        assert len(state) == 7
        assert len({message["runId"] for message in state[3:]}) == 4


@pytest.mark.parametrize("busy", ["queue", "steer"])
def test_a_message_that_notes_whom_it_woke_keeps_its_words(house: InHouse, ada: Caller, busy: str) -> None:
    words = [f"Bob, number {n}." for n in range(20)]
    calls = [piece for n in range(20) for piece in say("bob", words=words[n], index=n)]
    cast = Cast(ann=once(*calls), bob=lambda _, __: Answer([hold("work"), *text("Done.")]))
    with FakeOpenAI(cast) as model:
        people(house, model, "ann", "bob", onBusy=busy)
        with seen_alike(ada) as listener:
            ada.say("room", "go", mentions=["bob"])
            model.wait_for_requests(1)
            ann = ada.say("room", "go", mentions=["ann"])["runs"][0]["runId"]
            listener.wait_for("run.completed", runId=ann)
            model.release("work", times=100)
            calm(house)
        state = ada.messages("room")[2:]
        assert bubbles(state) == [("ann", [one], ["bob"]) for one in words]
        assert {message["status"] for message in state} == {"final"}
        assert {note["how"] for message in state for note in message["woke"]} == {
            "queued" if busy == "queue" else "steered"
        }


def test_a_note_about_the_woken_shows_nobody_what_is_for_one_alone(house: InHouse, ada: Caller) -> None:
    eve = house.person("eve")
    card = call("card", {"targetEntityId": "ada", "query": "canary"})
    cast = Cast(
        ann=once(*card, *say("bob", index=1)), bob=lambda _, __: Answer([hold("work"), *text("Done.")])
    )
    with FakeOpenAI(cast) as model:
        house.agent("ann", openai(model.base_url), CARD, instructions="You are ann.")
        house.agent("bob", openai(model.base_url), instructions="You are bob.", onBusy="queue")
        house.space("room", "ada", "eve", "ann", "bob")
        with seen_alike(ada), seen_alike(eve) as listener:
            ada.say("room", "go", mentions=["bob"])
            model.wait_for_requests(1)
            ann = ada.say("room", "go", mentions=["ann"])["runs"][0]["runId"]
            listener.wait_for("run.completed", runId=ann)
            model.release("work", times=2)
            calm(house)
            assert "canary" not in str([event.data for event in listener.events])
        assert bubbles(ada.messages("room"))[2:] == [("ann", ["card", "Go on."], ["bob"])]
        assert bubbles(eve.messages("room"))[2:] == [("ann", ["Go on."], ["bob"])]
        assert [note["how"] for note in eve.messages("room")[2]["woke"]] == ["queued"]


# Killed in between.


def settle(house: Roomful) -> None:
    """Returns when no run is active."""
    deadline = time.monotonic() + PATIENCE
    while house.admin.get("/api/runs", params={"status": ACTIVE, "limit": 1})["runs"]:
        assert time.monotonic() < deadline, "a run goes on"
        time.sleep(0.02)


def check_each_once(house: Roomful, ada: Caller, *whom: str) -> None:
    """Each is mentioned by one message and has one run, which that message started."""
    state = ada.messages("room")
    assert {message["status"] for message in state} == {"final"}
    mentioned = {one: message["id"] for message in state[1:] for one in message["mentions"]}
    assert sum(len(message["mentions"]) for message in state[1:]) == len(whom), bubbles(state)
    runs = {run["agentId"]: run for run in runs_of(house)}
    assert len(runs) == len(runs_of(house)) == 1 + len(whom)
    for one in whom:
        assert runs[one]["trigger"]["messageId"] == mentioned[one]
        assert (runs[one]["status"], runs[one]["rootRunId"]) == ("completed", runs["ann"]["id"])
    said = [bubble for bubble in bubbles(state) if bubble[0] in whom]
    assert sorted(said) == sorted((one, ["Here."], []) for one in whom)


def _twice(_: Asked, turn: int) -> Answer:
    both_calls = [*say("bob", words="Bob."), *say("cyd", words="Cyd.", index=1)]
    return Answer(both_calls if turn == 0 else text("Done."), held=True)


@pytest.mark.parametrize("moment", range(12))
def test_killed_at_any_moment_each_mention_starts_one_run(tmp_path: Path, moment: int) -> None:
    """The first answer has 8 pieces; later ones are those of the second step and of those who were woken."""

    def here(_: Asked, turn: int) -> Answer:
        return Answer(say(words="Here.") if turn == 0 else text("Done."), held=True)

    with FakeOpenAI(Cast(ann=_twice, bob=here, cyd=here)) as model, Roomful(tmp_path) as house:
        ada = house.person("ada")
        people(house, model, "ann", "bob", "cyd")
        ada.say("room", "go", mentions=["ann"])
        model.wait_for_requests(1)
        model.release(times=moment)
        if moment > 8:
            model.wait_for_requests(2)
        house.kill()
        house.start()
        model.release(times=1000)
        settle(house)
        check_each_once(house, ada, "bob", "cyd")


@pytest.mark.parametrize("moment", range(8))
def test_killed_while_it_speaks_plainly_each_mention_starts_one_run(tmp_path: Path, moment: int) -> None:
    def speaks(_: Asked, turn: int) -> Answer:
        calls = call("look", {"query": "x"}, size=40)
        return Answer([*text("Help, @bob!", size=6), *calls] if turn == 0 else text("Done."), held=True)

    here = once(*say(words="Here."))
    with FakeOpenAI(Cast(ann=speaks, bob=here)) as model, Roomful(tmp_path) as house:
        ada = house.person("ada")
        house.agent("ann", openai(model.base_url), LOOK, instructions="You are ann.", speaks="text")
        house.agent("bob", openai(model.base_url), instructions="You are bob.")
        house.space("room", "ada", "ann", "bob")
        ada.say("room", "go", mentions=["ann"])
        model.wait_for_requests(1)
        model.release(times=moment)
        if moment > 6:
            model.wait_for_requests(2)
        house.kill()
        house.start()
        model.release(times=1000)
        settle(house)
        check_each_once(house, ada, "bob")


LOOKS = call("look", {"query": "x"}, size=40)
GAPS: dict[str, tuple[str, list[bytes], list[bytes]]] = {
    "between two mentions": ("tools", say("bob"), say("cyd", index=1)),
    "before the step's end": ("tools", say("bob"), []),
    "behind plain words": ("text", [*text("Help, @bob!"), *LOOKS[:1]], LOOKS[1:]),
}


@pytest.mark.parametrize("gap", GAPS)
def test_killed_once_the_message_is_closed_the_mention_still_starts_one_run(tmp_path: Path, gap: str) -> None:
    """What the model had not written yet when it was cut off is not said."""
    speaks, before, after = GAPS[gap]
    cast = Cast(
        ann=lambda _, turn: Answer([*before, hold("gap"), *after] if turn == 0 else text("Done.")),
        bob=once(*say(words="Here.")),
        cyd=once(*say(words="Here.")),
    )
    with FakeOpenAI(cast) as model, Roomful(tmp_path) as house:
        ada = house.person("ada")
        house.agent("ann", openai(model.base_url), LOOK, instructions="You are ann.", speaks=speaks)
        for agent in ("bob", "cyd"):
            house.agent(agent, openai(model.base_url), instructions=f"You are {agent}.")
        house.space("room", "ada", "ann", "bob", "cyd")
        with ada.listen("room") as listener:
            ada.say("room", "go", mentions=["ann"])
            listener.wait(lambda events: any(_mentions_bob(event) for event in events))
            house.kill()
        house.start()
        model.release("gap")
        settle(house)
        started = [run["agentId"] for run in runs_of(house) if run["depth"] == 1]
        assert started == ["bob"]
        assert {run["status"] for run in runs_of(house)} == {"completed"}
        check_each_once(house, ada, "bob")


def _mentions_bob(event: Event) -> bool:
    return event.data.get("message", {}).get("mentions") == ["bob"]


def test_plain_words_are_not_said_twice_when_the_answer_is_cut_behind_them(
    tmp_path: Path, model: FakeOpenAI
) -> None:
    look = {
        "name": "look",
        "description": "Look.",
        "executionType": "basic",
        "execution": {"mode": "static", "output": "seen"},
    }
    with Roomful(tmp_path) as house:
        ada = house.person("ada")
        house.agent("talker", openai(model.base_url), look, speaks="text")
        house.space("room", "ada", "talker")
        model.answer(
            Answer([*text("Hello."), *call("look", {})[:1], CUT]),
            Answer([*text("Hello."), *call("look", {})]),
            Answer([*text("Bye."), *call("look", {})[:1], hold("never")]),
            Answer(text("Bye.")),
        )
        with ada.listen("room") as listener:
            ada.say("room", "hi")
            listener.wait_for("text-end", count=3)
            house.kill()
        house.start()
        with ada.listen("room") as listener:
            listener.wait_for("snapshot")
            eventually(lambda: not house.admin.get("/api/runs?status=running")["runs"], "the run's end")
            listener.wait(lambda events: fold(events) == ada.messages("room"))
        said = [part["text"] for part in ada.messages("room")[1]["parts"]]
        assert said == ["Hello.", "Bye."]
