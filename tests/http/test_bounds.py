"""Loops end: every bound of `limits`, hit on purpose, stops what it bounds and nothing else, and is seen."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from roomful.spaces.own_messages import MOST_PARTS
from tests.http.casting import Cast, mentions, once, people, quiet, runs_of, say, seen_alike
from tests.http.storming import calm
from tests.http.test_delegation import SEARCH, both, delegate
from tests.requirements import requirement
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, call, hold, text, usage
from tests.servers.inhouse import InHouse
from tests.servers.roomful import Caller, openai

pytestmark = requirement("X-06")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[InHouse]:
    with InHouse(tmp_path) as house:
        yield house


@pytest.fixture
def ada(house: InHouse) -> Caller:
    return house.person("ada")


def limits_seen(ada: Caller, space_id: str = "room") -> list[tuple[str, str]]:
    """The agent and the name of each limit that a part of this space says was hit."""
    found: list[tuple[str, str]] = []
    for message in ada.messages(space_id):
        for part in message["parts"]:
            if part.get("toolName") != "limit":
                continue
            name = part["args"]["limit"]
            assert (part["type"], part["status"], part["args"]) == ("tool_call", "error", {"limit": name})
            assert f"(limits.{name})" in part["error"]
            assert part["runId"] == message["runId"]
            found.append((message["entityId"], name))
    return found


# Depth.


def test_a_chain_of_mentions_is_so_deep_and_no_deeper(house: InHouse, ada: Caller) -> None:
    cast = Cast(ann=mentions("bob"), bob=mentions("ann"))
    with FakeOpenAI(cast) as model:
        people(house, model, "ann", "bob", limits={"depth": 3})
        for _ in range(2):
            with seen_alike(ada):
                ada.say("room", "go", mentions=["ann"])
                calm(house)
        first, second = runs_of(house)[:4], runs_of(house)[4:]
        for chain in (first, second):
            assert [(run["agentId"], run["depth"]) for run in chain] == [
                ("ann", 0),
                ("bob", 1),
                ("ann", 2),
                ("bob", 3),
            ]
            assert {run["rootRunId"] for run in chain} == {chain[0]["id"]}
            assert {run["status"] for run in chain} == {"completed"}
        assert limits_seen(ada) == [("bob", "depth")] * 2
        [(who, told)] = [one for one in cast.told if "notStarted" in one[1]][:1]
        assert who == "bob"
        assert told["notStarted"] == [
            {"entityId": "ann", "reason": "runs may start runs 3 deep (limits.depth)"}
        ]
        assert "started" not in told


def test_nested_delegation_is_so_deep_and_the_call_that_goes_deeper_says_so(
    house: InHouse, ada: Caller
) -> None:
    def asks(name: str) -> Callable[[Asked, int], Answer]:
        return once(*call(f"ask_{name}", {"prompt": "x"}))

    cast = Cast(boss=asks("one"), one=asks("two"), two=asks("three"), three=quiet)
    deep = delegate("one", delegate("two", delegate("three", SEARCH)))
    with FakeOpenAI(cast) as model:
        house.agent("boss", openai(model.base_url), deep, instructions="You are boss.", limits={"depth": 2})
        house.space("room", "ada", "boss")
        with seen_alike(ada):
            ada.say("room", "go")
            calm(house)
        part = ada.messages("room")[1]["parts"][0]
        two = part["child"]["calls"][0]["child"]
        assert (part["status"], two["status"]) == ("complete", "completed")
        [refused] = two["calls"]
        assert (refused["toolName"], refused["status"]) == ("ask_three", "error")
        assert refused["error"] == "runs may start runs 2 deep (limits.depth)"
        assert [run["depth"] for run in runs_of(house)] == [0, 1, 2]
        assert "limits.depth" in str([told for who, told in cast.told if who == "two"])


@pytest.mark.parametrize("visibility", ["full", "minimal", "hidden"])
def test_a_refused_delegation_is_seen_whatever_is_seen_of_it(
    house: InHouse, ada: Caller, visibility: str
) -> None:
    cast = Cast(ann=mentions("boss"), boss=once(*call("ask_scout", {"prompt": "x"})), scout=quiet)
    with FakeOpenAI(cast) as model:
        house.agent("ann", openai(model.base_url), instructions="You are ann.")
        tool = {**delegate("scout", SEARCH), "visibility": visibility}
        house.agent("boss", openai(model.base_url), tool, instructions="You are boss.", limits={"depth": 1})
        house.space("room", "ada", "ann", "boss")
        with seen_alike(ada):
            ada.say("room", "go", mentions=["ann"])
            calm(house)
        errors = [
            part["error"]
            for message in ada.messages("room")
            for part in message["parts"]
            if part["status"] == "error" and part["error"] != "failed"
        ]
        assert errors == ["runs may start runs 1 deep (limits.depth)"]
        assert limits_seen(ada) == ([] if visibility == "full" else [("boss", "depth")])
        assert "limits.depth" in str([told for who, told in cast.told if who == "boss"][-1])
        assert {run["status"] for run in runs_of(house)} == {"completed"}


def test_handing_over_and_over_ends(house: InHouse, ada: Caller) -> None:
    def hands_to(whom: str) -> Callable[[Asked, int], Answer]:
        return once(*call("delegateToAgent", {"targetAgentEntityId": whom}))

    cast = Cast(ann=hands_to("bob"), bob=hands_to("ann"))
    with FakeOpenAI(cast) as model:
        people(house, model, "ann", "bob", limits={"depth": 4, "runsPerRoot": 20})
        with seen_alike(ada):
            ada.say("room", "go", mentions=["ann"])
            calm(house)
        runs = runs_of(house)
        assert [run["agentId"] for run in runs] == ["ann", "bob", "ann", "bob", "ann"]
        assert [run["status"] for run in runs] == ["canceled"] * 4 + ["completed"]
        assert limits_seen(ada) == [("ann", "depth")]
        assert "limits.depth" in str(cast.told)


# How many, how often.


def test_one_trigger_leads_to_so_many_runs(house: InHouse, ada: Caller) -> None:
    others = ["bob", "cyd", "dan", "eve"]
    cast = Cast(ann=mentions(*others, times=2), **dict.fromkeys(others, quiet))
    with FakeOpenAI(cast) as model:
        people(house, model, "ann", *others, limits={"runsPerRoot": 3})
        for count in (1, 2):
            with seen_alike(ada):
                ada.say("room", "go", mentions=["ann"])
                calm(house)
            assert len(runs_of(house)) == 3 * count
            assert limits_seen(ada) == [("ann", "runsPerRoot")] * 2 * count
        first, second = [told for _, told in cast.told][:2]
        assert [one["agentId"] for one in first["started"]] == ["bob", "cyd"]
        assert [one["entityId"] for one in first["notStarted"]] == ["dan", "eve"]
        assert [one["entityId"] for one in second["notStarted"]] == others
        assert {one["reason"] for one in second["notStarted"]} == {
            "one trigger may lead to 3 runs (limits.runsPerRoot)"
        }
        assert {run["status"] for run in runs_of(house)} == {"completed"}


def test_one_agent_wakes_another_so_often_a_minute(house: InHouse, ada: Caller) -> None:
    cast = Cast(ann=mentions("bob", "cyd", times=3), bob=quiet, cyd=quiet)
    with FakeOpenAI(cast) as model:
        people(house, model, "ann", "bob", "cyd", limits={"runsPerPair": 2})

        def go() -> list[str]:
            before = {run["id"] for run in runs_of(house)}
            with seen_alike(ada):
                ada.say("room", "go", mentions=["ann"])
                calm(house)
            return sorted(run["agentId"] for run in runs_of(house) if run["id"] not in before)

        assert go() == ["ann", "bob", "bob", "cyd", "cyd"]
        refused = cast.told[2][1]["notStarted"]
        assert [one["entityId"] for one in refused] == ["bob", "cyd"]
        assert refused[0]["reason"] == "ann may start bob 2 times a minute (limits.runsPerPair)"
        assert limits_seen(ada) == [("ann", "runsPerPair")]
        assert go() == ["ann"], "a new root changes nothing about the pair"
        house.clock.move(seconds=61)
        assert go() == ["ann", "bob", "bob", "cyd", "cyd"]


def test_what_steered_runs_were_told_too_late_stays_in_the_bounds(house: InHouse, ada: Caller) -> None:
    """Each hands the other a message at every step, and there is always one left when a run ends."""

    def always(whom: str) -> Callable[[Asked, int], Answer]:
        return lambda _, __: Answer(say(whom))

    cast = Cast(ann=always("bob"), bob=always("ann"))
    with FakeOpenAI(cast) as model:
        people(house, model, "ann", "bob", onBusy="steer", limits={"maxSteps": 4, "runsPerRoot": 6})
        with seen_alike(ada):
            ada.say("room", "go", mentions=["ann"])
            calm(house)
        runs = runs_of(house)
        assert len({run["rootRunId"] for run in runs}) == 1
        assert len(runs) <= 6
        assert "maxSteps" in {name for _, name in limits_seen(ada)}


def test_nobody_waits_for_somebody_who_may_not_start(house: InHouse, ada: Caller) -> None:
    args = {"spaceId": "room", "text": "Well?", "mention": "bob", "wait": True}
    cast = Cast(ann=once(*call("sendSpaceMessage", args)), bob=quiet)
    with FakeOpenAI(cast) as model:
        people(house, model, "ann", "bob", limits={"runsPerRoot": 1})
        with seen_alike(ada) as listener:
            ada.say("room", "go", mentions=["ann"])
            listener.wait_for("run.completed")
        assert limits_seen(ada) == [("ann", "runsPerRoot")]
        [(_, told)] = cast.told
        assert told["notStarted"][0]["entityId"] == "bob"
        assert (told["reply"], told["reason"]) == (None, "nobody whose reply you wait for is in this space")


def test_agents_that_wait_for_each_others_replies_end(house: InHouse, ada: Caller) -> None:
    """Each says something to the other and waits for an answer, which is a question again."""

    def asks(whom: str) -> Callable[[Asked, int], Answer]:
        wait = {"for": [{"type": "entity", "entityId": whom}], "timeout": 60}
        args = {"spaceId": "room", "text": "Well?", "mention": whom, "wait": wait}
        return lambda _, __: Answer(call("sendSpaceMessage", args, size=80))

    cast = Cast(ann=asks("bob"), bob=asks("ann"))
    with FakeOpenAI(cast) as model:
        people(house, model, "ann", "bob", limits={"maxSteps": 5})
        with seen_alike(ada) as listener:
            ada.say("room", "go", mentions=["ann"])
            listener.wait_for("run.failed")
            house.clock.move(minutes=2)
            calm(house)
        runs = runs_of(house)
        assert sorted(run["agentId"] for run in runs) == ["ann", "bob"], "a reply wakes nobody once more"
        assert {name for _, name in limits_seen(ada)} == {"maxSteps"}


# One run.


def test_a_run_takes_so_many_steps(house: InHouse, ada: Caller) -> None:
    cast = Cast(ann=lambda _, turn: Answer(say(words=f"Step {turn}.")))
    with FakeOpenAI(cast) as model:
        people(house, model, "ann", limits={"maxSteps": 3})
        with seen_alike(ada) as listener:
            ada.say("room", "go")
            failed = listener.wait_for("run.failed")
        [run] = runs_of(house)
        why = "the run took its 3 steps (limits.maxSteps) and was not done"
        assert run["error"] == {"code": "limit", "message": why}
        assert failed.data["error"]["code"] == "limit"
        assert len(model.requests) == 3
        assert limits_seen(ada) == [("ann", "maxSteps")]
        [_, message] = ada.messages("room")
        assert [part.get("text") for part in message["parts"]] == ["Step 0.", "Step 1.", "Step 2.", None]


def test_a_run_that_ends_with_its_last_step_or_call_has_hit_no_bound(house: InHouse, ada: Caller) -> None:
    with FakeOpenAI(Cast(ann=mentions(times=2))) as model:
        people(house, model, "ann", limits={"maxSteps": 3, "callsPerRun": 2})
        with seen_alike(ada) as listener:
            ada.say("room", "go")
            listener.wait_for("run.completed")
        assert limits_seen(ada) == []


def _looks(count: int) -> Answer:
    return both(*(call("look", {"query": str(n)}, index=n, id=f"call_{n}") for n in range(count)))


@pytest.mark.parametrize("calls_in_a_step", [1, 2, 7])
def test_a_run_makes_so_many_calls_and_none_beyond(house: InHouse, ada: Caller, calls_in_a_step: int) -> None:
    look = {**SEARCH, "name": "look", "visibility": "full"}
    with FakeOpenAI(Cast(ann=lambda _, __: _looks(calls_in_a_step))) as model:
        config = {"instructions": "You are ann.", "limits": {"callsPerRun": 3}}
        house.agent("ann", openai(model.base_url), look, **config)
        house.space("room", "ada", "ann")
        with seen_alike(ada) as listener:
            ada.say("room", "go")
            listener.wait_for("run.failed")
        [run] = runs_of(house)
        assert run["error"]["code"] == "limit"
        assert limits_seen(ada) == [("ann", "callsPerRun")]
        parts = [p for p in ada.messages("room")[1]["parts"] if p["toolName"] == "look"]
        done = [part["status"] for part in parts]
        assert done == ["complete"] * 3 + ["error"] * (len(parts) - 3)
        assert all("limits.callsPerRun" in part["error"] for part in parts[3:])


def test_a_form_beyond_the_bound_waits_for_nobody(house: InHouse, ada: Caller) -> None:
    form = {**SEARCH, "name": "form", "execution": {"mode": "no-execution"}}
    asks = both(*(call("form", {"query": str(n)}, index=n, id=f"call_{n}") for n in range(2)))
    with FakeOpenAI(Cast(ann=lambda _, __: asks)) as model:
        config = {"instructions": "You are ann.", "limits": {"callsPerRun": 1}}
        house.agent("ann", openai(model.base_url), form, **config)
        house.space("room", "ada", "ann")
        with seen_alike(ada) as listener:
            ada.say("room", "go")
            waiting = listener.wait_for("run.waiting_tool").data
            [pending] = waiting["pendingToolCalls"]
            answer = {"toolCallId": pending["toolCallId"], "result": {"ok": True}}
            ada.post(f"/api/runs/{waiting['runId']}/tool-results", answer)
            listener.wait_for("run.failed")
        assert limits_seen(ada) == [("ann", "callsPerRun")]


def test_a_run_takes_so_long(house: InHouse, ada: Caller) -> None:
    with FakeOpenAI(Cast(ann=lambda _, __: Answer([*say()[:-2], hold("never")]))) as model:
        people(house, model, "ann", limits={"runSeconds": 0.3})
        with seen_alike(ada) as listener:
            ada.say("room", "go")
            listener.wait_for("run.failed")
        [run] = runs_of(house)
        assert run["error"]["code"] == "limit"
        assert limits_seen(ada) == [("ann", "runSeconds")]


@pytest.mark.parametrize("visibility", ["full", "minimal", "hidden"])
@pytest.mark.parametrize("who", ["inline", "configured", "elsewhere"])
def test_a_bound_that_a_called_run_hits_is_seen_where_its_caller_is(
    house: InHouse, ada: Caller, visibility: str, who: str
) -> None:
    search = call("search", {"query": "again"})
    cast = Cast(boss=once(*call("ask_scout", {"prompt": "x"})), scout=lambda _, __: Answer(search))
    with FakeOpenAI(cast) as model:
        tool = delegate("scout", SEARCH, limits={"maxSteps": 2}) | {"visibility": visibility}
        if who != "inline":
            tool["execution"] = {"agentId": "scout"}
            config = {"instructions": "You are scout.", "limits": {"maxSteps": 2}}
            house.agent("scout", openai(model.base_url), SEARCH, **config)
        house.agent("boss", openai(model.base_url), tool, instructions="You are boss.")
        house.space("room", "ada", "boss", *(["scout"] if who == "configured" else []))
        with seen_alike(ada):
            ada.say("room", "go", mentions=["boss"])
            calm(house)
        root, child = runs_of(house)
        assert (root["status"], child["status"], child["error"]["code"]) == ("completed", "failed", "limit")
        assert "stopped at a limit" in str(cast.told[-1])
        parts = [part for message in ada.messages("room")[1:] for part in message["parts"]]
        if visibility == "full":
            assert "(limits.maxSteps)" in parts[0]["error"]
            assert limits_seen(ada) == []
        else:
            assert limits_seen(ada) == [("boss" if who == "inline" else "scout", "maxSteps")]


# What it costs.


def _costly(pieces: list[bytes]) -> Answer:
    return Answer([*pieces, usage(70, 30)])


def test_one_trigger_uses_so_many_tokens(house: InHouse, ada: Caller) -> None:
    cast = Cast(ann=lambda _, turn: _costly(say(words=f"Step {turn}.")))
    with FakeOpenAI(cast) as model:
        people(house, model, "ann", limits={"tokensPerRoot": 250})
        for count in (1, 2):
            with seen_alike(ada) as listener:
                ada.say("room", "go")
                listener.wait_for("run.failed")
            assert len(model.requests) == 3 * count
            assert limits_seen(ada) == [("ann", "tokensPerRoot")] * count
        why = "what one trigger led to has used 300 tokens of 250 (limits.tokensPerRoot)"
        assert [run["error"] for run in runs_of(house)] == [{"code": "limit", "message": why}] * 2


def test_what_mentioned_runs_use_counts_and_the_roots_bound_holds_for_them(
    house: InHouse, ada: Caller
) -> None:
    """Bob has no bound of his own."""
    cast = Cast(
        ann=lambda _, turn: _costly(say("bob") if turn == 0 else text("Done.")),
        bob=lambda _, turn: _costly(say(words=f"Step {turn}.")),
    )
    with FakeOpenAI(cast) as model:
        limits = {"tokensPerRoot": 550}
        house.agent("ann", openai(model.base_url), instructions="You are ann.", limits=limits)
        house.agent("bob", openai(model.base_url), instructions="You are bob.")
        house.space("room", "ada", "ann", "bob")
        with seen_alike(ada):
            ada.say("room", "go", mentions=["ann"])
            calm(house)
        ann, bob = runs_of(house)
        assert (ann["status"], bob["status"], bob["error"]["code"]) == ("completed", "failed", "limit")
        assert limits_seen(ada) == [("bob", "tokensPerRoot")]
        assert len(model.requests) == 6
        with seen_alike(ada) as listener:
            ada.say("room", "go", mentions=["bob"])
            listener.wait(lambda events: sum("Step 9" in str(one.data) for one in events))
            house.admin.post(f"/api/runs/{runs_of(house)[-1]['id']}/cancel")


def test_what_called_runs_use_counts(house: InHouse, ada: Caller) -> None:
    cast = Cast(
        boss=lambda _, turn: _costly(call("ask_scout", {"prompt": "x"})),
        scout=lambda _, turn: _costly(call("search", {"query": "x"}) if turn < 2 else text("Found.")),
    )
    with FakeOpenAI(cast) as model:
        config = {"instructions": "You are boss.", "limits": {"tokensPerRoot": 600}}
        house.agent("boss", openai(model.base_url), delegate("scout", SEARCH), **config)
        house.space("room", "ada", "boss")
        with seen_alike(ada):
            ada.say("room", "go")
            calm(house)
        boss, first, second = runs_of(house)
        assert (first["status"], second["status"]) == ("completed", "failed")
        assert (boss["status"], boss["error"]["code"]) == ("failed", "limit")
        assert len(model.requests) == 6
        assert limits_seen(ada) == [("boss", "tokensPerRoot")]
        parts = [part for part in ada.messages("room")[1]["parts"] if "child" in part]
        assert [part["status"] for part in parts] == ["complete", "error"]
        assert "(limits.tokensPerRoot)" in parts[1]["error"]


def test_a_sub_agent_goes_no_further_than_the_root_may(house: InHouse, ada: Caller) -> None:
    """The sub-agent that is written in the tool names wider limits than its caller has."""
    inner = delegate("two", SEARCH)
    cast = Cast(
        boss=once(*call("ask_one", {"prompt": "x"})), one=once(*call("ask_two", {"prompt": "x"})), two=quiet
    )
    with FakeOpenAI(cast) as model:
        config = {"instructions": "You are boss.", "limits": {"depth": 1}}
        wider = delegate("one", inner, limits={"depth": 8})
        house.agent("boss", openai(model.base_url), wider, **config)
        house.space("room", "ada", "boss")
        with seen_alike(ada):
            ada.say("room", "go")
            calm(house)
        assert [run["depth"] for run in runs_of(house)] == [0, 1]
        assert "limits.depth" in json.dumps(ada.messages("room"))


# Configuration.

WRONG: list[tuple[str, Any]] = [
    *((name, 0) for name in ("maxSteps", "callsPerRun", "depth", "runsPerRoot", "runsPerPair", "runSeconds")),
    *((name, -1) for name in ("runsPerPair", "tokensPerRoot")),
    *((name, 1.5) for name in ("depth", "runsPerPair", "callsPerRun", "tokensPerRoot")),
    *((name, "8") for name in ("depth", "runsPerPair", "maxSteps", "runSeconds")),
    *((name, True) for name in ("runsPerPair", "runsPerRoot")),
    *((name, []) for name in ("runsPerPair", "depth")),
    ("depth", 65),
    ("runsPerPair", 100_001),
    ("runsPerPairs", 5),
    ("rate", 5),
]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=[f"{name}={value}" for name, value in WRONG])
def test_limits_of_the_wrong_kind_are_refused(house: InHouse, name: str, value: Any) -> None:
    body = {"id": "ann", "name": "Ann", "model": "openai:x", "limits": {name: value}}
    answer = house.admin.request("POST", "/api/agents", body)
    assert answer.status_code == 422
    assert f"limits.{name}" in answer.json()["detail"]


def test_every_limit_is_accepted(house: InHouse) -> None:
    limits = {
        "maxSteps": 5,
        "callsPerRun": 5,
        "depth": 2,
        "runsPerRoot": 4,
        "runsPerPair": 3,
        "tokensPerRoot": 1000,
        "modelSilenceSeconds": 1.5,
        "runSeconds": 60,
        "answerSeconds": 3600,
    }
    house.agent("ann", "openai:x", limits=limits)
    assert house.admin.get("/api/agents/ann")["config"]["limits"] == limits


# Parts.


def test_a_message_has_so_many_parts_and_what_comes_after_them_is_in_another(
    house: InHouse, ada: Caller
) -> None:
    count = MOST_PARTS + 7
    calls = [piece for n in range(count) for piece in call("search", {"query": str(n)}, index=n, id=f"c{n}")]
    with FakeOpenAI([Answer(calls), Answer(text("Done."))]) as model:
        house.agent(
            "bot", openai(model.base_url), SEARCH | {"visibility": "full"}, limits={"callsPerRun": count}
        )
        house.space("room", "ada", "bot")
        with seen_alike(ada):
            ada.say("room", "go")
            calm(house)
        said = ada.messages("room")[1:]
        assert [len(message["parts"]) for message in said] == [MOST_PARTS, 7]
        parts = [part for message in said for part in message["parts"]]
        assert [part["args"]["query"] for part in parts] == [str(number) for number in range(count)]
        assert {part["status"] for part in parts} == {"complete"}
        assert {message["status"] for message in said} == {"final"}
