"""The owner of an agent looks into its runs; nobody else does, and nobody sees more of another's agent."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.casting import runs_of
from tests.http.shopping import INVENTORY, PRODUCT_CARD
from tests.http.storming import calm
from tests.http.test_delegation import SEARCH, Script, delegate
from tests.servers.fake_openai import Answer, FakeOpenAI, call, hold, text, usage
from tests.servers.inhouse import InHouse
from tests.servers.roomful import Caller, openai

PRICE = {"input": 0.25, "output": 2}
HIDDEN_SEARCH = {**SEARCH, "visibility": "hidden"}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[InHouse]:
    with InHouse(tmp_path) as house:
        yield house


@pytest.fixture
def ada(house: InHouse) -> Caller:
    return house.person("ada")


def owned(
    who: Caller, agent_id: str, model: FakeOpenAI, *tools: Any, price: Any = PRICE, **more: Any
) -> None:
    """An agent of theirs, which is in the room."""
    written = {**openai(model.base_url), **({"price": price} if price else {})}
    words = {"id": agent_id, "name": agent_id.title(), "instructions": f"You are {agent_id}."}
    who.post("/api/agents", {**words, "model": written, "tools": list(tools), **more}, expect=201)


def inspect(who: Caller, run_id: str) -> Any:
    return who.get(f"/api/runs/{run_id}/inspection")


def without(value: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in keys}


def test_the_owner_sees_routes_visibility_steps_tokens_cost_and_bounds(house: InHouse, ada: Caller) -> None:
    pieces = [
        *text("Let me see. "),
        *call("sendSpaceMessage", {"spaceId": "aside", "text": "Psst"}, index=0, id="c0"),
        *call("showProductCard", {"name": "MacBook", "price": 1299}, index=1, id="c1"),
        *call("searchInventory", {"query": "laptop"}, index=2, id="c2"),
    ]
    answers = [Answer([*pieces, usage(1000, 500)]), Answer([*text("Done."), usage(2000, 10)])]
    with FakeOpenAI(answers) as model:
        tools = ({**PRODUCT_CARD, "visibility": "full"}, INVENTORY)
        owned(ada, "shop", model, *tools, dialect="composite", limits={"tokensPerRoot": 9000})
        for space_id in ("room", "aside"):
            house.space(space_id, "ada", "shop")
        run_id = ada.say("room", "laptops?")["runs"][0]["runId"]
        calm(house)
    seen = inspect(ada, run_id)

    assert seen["run"] == ada.get(f"/api/runs/{run_id}") == seen["runs"][0]["run"]
    [whole] = seen["runs"]
    assert whole["agentName"] == "Shop"
    first, second = whole["steps"]
    assert without(first, "startedAt", "endedAt") == {
        "number": 0,
        "text": "Let me see. ",
        "usage": {"inputTokens": 1000, "outputTokens": 500},
    }
    said, card, hidden = whole["calls"]
    assert (said["toolName"], said["spaceIds"], said["step"], said["index"]) == (
        "sendSpaceMessage",
        ["aside"],
        0,
        0,
    )
    assert [place["spaceId"] for place in said["places"]] == ["aside"]
    assert set(card["places"][0]) == {"spaceId", "messageId", "partId"}
    assert (card["visibility"], card["spaceIds"], card["activeSpaceId"]) == ("full", ["room"], "room")
    assert without(hidden, "startedAt", "endedAt", "toolCallId") == {
        "toolName": "searchInventory",
        "step": 0,
        "index": 2,
        "status": "complete",
        "visibility": "hidden",
        "args": {"query": "laptop"},
        "result": {"found": 2},
        "spaceIds": ["room"],
        "places": [],
        "activeSpaceId": "room",
    }
    times = [first["startedAt"], hidden["startedAt"], first["endedAt"], hidden["endedAt"]]
    times += [second["startedAt"], second["endedAt"]]
    assert times == sorted(times)
    assert seen["spaces"] == [{"spaceId": "room", "name": "Room"}, {"spaceId": "aside", "name": "Aside"}]
    assert seen["usage"] == whole["usage"] == {"inputTokens": 3000, "outputTokens": 510}
    assert seen["cost"] == whole["cost"] == {"amount": 0.00177, "currency": "USD"}
    bounds = {bound["name"]: (bound["used"], bound["limit"]) for bound in seen["bounds"]}
    seconds, no_limit = bounds.pop("runSeconds")
    assert seconds > 0
    assert no_limit is None
    assert bounds == {
        "maxSteps": (2, 50),
        "callsPerRun": (3, 50),
        "depth": (0, 8),
        "runsPerRoot": (1, 32),
        "tokensPerRoot": (3510, 9000),
    }


def two_deep(server: FakeOpenAI, ada: Caller, house: InHouse, **one: Any) -> str:
    owned(ada, "boss", server, delegate("one", HIDDEN_SEARCH, delegate("two", SEARCH), **one))
    house.space("room", "ada", "boss")
    return ada.say("room", "go")["runs"][0]["runId"]


def two_deep_script() -> Script:
    return Script(
        boss=[
            Answer([*call("ask_one", {"prompt": "x"}), usage(10, 1)]),
            Answer([*text("So."), usage(10, 1)]),
        ],
        one=[
            Answer([*call("ask_two", {"prompt": "y"}), *call("search", {"query": "s"}, index=1, id="b")]),
            Answer([*text("One."), usage(100, 2)]),
        ],
        two=[Answer([*call("search", {"query": "q"}), usage(1000, 3)]), Answer(text("Two."))],
    )


def test_runs_below_are_seen_at_any_depth_in_one_read(house: InHouse, ada: Caller) -> None:
    with FakeOpenAI(two_deep_script()) as model:
        run_id = two_deep(model, ada, house)
        calm(house)
        with house.reads() as asked:
            seen = inspect(ada, run_id)

    boss, one, two = seen["runs"]
    assert [each["agentName"] for each in seen["runs"]] == ["Boss", "One", "Two"]
    assert [each["run"]["depth"] for each in seen["runs"]] == [0, 1, 2]
    assert boss["calls"][0]["childRunId"] == one["run"]["id"]
    assert one["calls"][0]["childRunId"] == two["run"]["id"]
    assert two["run"]["parentCallId"] == one["calls"][0]["toolCallId"]
    assert one["calls"][1]["result"] == {"found": ["s"]}
    assert (one["calls"][1]["visibility"], one["calls"][0]["waitsFor"]) == ("hidden", "child_run")
    assert [step["text"] for step in two["steps"]] == ["", "Two."]
    assert seen["usage"] == {"inputTokens": 1120, "outputTokens": 7}
    assert seen["cost"] == {"amount": 0.000294, "currency": "USD"}
    assert {each["name"]: each["used"] for each in seen["bounds"]}["runsPerRoot"] == 3
    below = inspect(ada, one["run"]["id"])
    assert [each["agentName"] for each in below["runs"]] == ["One", "Two"]
    assert {each["name"]: each["used"] for each in below["bounds"]}["depth"] == 1
    assert len([sql for sql in asked if "RECURSIVE" in sql]) == 1
    assert len([sql for sql in asked if "FROM calls" in sql or "FROM steps" in sql]) == 2


def test_there_is_no_cost_where_something_has_no_price(house: InHouse, ada: Caller) -> None:
    with FakeOpenAI(two_deep_script()) as model:
        run_id = two_deep(model, ada, house, model=openai(model.base_url))
        calm(house)
    seen = inspect(ada, run_id)
    boss, one, _ = seen["runs"]

    assert "cost" not in seen
    assert "cost" not in one
    assert boss["cost"] == {"amount": 0.000009, "currency": "USD"}


def test_only_the_owner_and_the_admin_may(house: InHouse, ada: Caller) -> None:
    with FakeOpenAI([Answer(text("Hi."))]) as model:
        owned(ada, "boss", model)
        bob, eve = house.person("bob"), house.person("eve")
        service = house.person("clock", kind="service")
        house.space("room", "ada", "bob:owner", "boss")
        run_id = ada.say("room", "go")["runs"][0]["runId"]
        calm(house)
    token = house.admin.post("/api/entities/boss/tokens", expect=201)["token"]

    for who in (bob, eve, service, Caller(house, token, "boss")):
        refused = who.request("GET", f"/api/runs/{run_id}/inspection")
        stream = who.request("GET", f"/api/runs/{run_id}/stream")
        unknown = who.request("GET", "/api/runs/run_nowhere/inspection")
        assert (refused.status_code, refused.content) == (stream.status_code, stream.content)
        assert refused.status_code == unknown.status_code == 404
        assert refused.content == unknown.content.replace(b"run_nowhere", run_id.encode())
    assert bob.get(f"/api/runs/{run_id}")["id"] == run_id
    assert "atWorkSince" not in bob.get(f"/api/runs/{run_id}")
    assert without(inspect(house.admin, run_id), "bounds") == without(inspect(ada, run_id), "bounds")


def test_a_run_at_work_is_seen_as_it_is(house: InHouse, ada: Caller) -> None:
    script = Script(
        boss=[Answer([*call("ask_one", {"prompt": "x"}), usage(10, 1)]), Answer(text("So."))],
        one=[
            Answer([*call("search", {"query": "s"}), usage(5, 5)]),
            Answer([*text("Words"), hold(), *text(".")]),
        ],
    )
    with FakeOpenAI(script) as model:
        owned(ada, "boss", model, delegate("one", SEARCH, limits={"runSeconds": 3000}))
        house.space("room", "ada", "boss")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            listener.wait_for("subagent.text")
        seen = inspect(ada, run_id)
        child = inspect(ada, seen["runs"][1]["run"]["id"])
        house.clock.move(seconds=100)
        later = inspect(ada, child["run"]["id"])
        model.release()
        calm(house)
    boss, one = seen["runs"]
    bounds = {bound["name"]: bound["used"] for bound in later["bounds"]}

    assert (boss["run"]["status"], one["run"]["status"]) == ("waiting_tool", "running")
    assert (boss["calls"][0]["status"], boss["calls"][0]["childRunId"]) == ("waiting", one["run"]["id"])
    assert "endedAt" not in boss["calls"][0]
    assert without(one["steps"][1], "startedAt") == {
        "number": 1,
        "text": "Words",
        "usage": {"inputTokens": 0, "outputTokens": 0},
        "isOpen": True,
    }
    assert child["runs"] == [one]
    assert "atWorkSince" in one["run"], "where another gateway drives it, its row says it"
    assert {bound["name"]: bound["used"] for bound in seen["bounds"]}["runSeconds"] == 0
    assert 100 <= bounds["runSeconds"] < 200
    assert (bounds["maxSteps"], bounds["callsPerRun"]) == (1, 1)
    done = inspect(ada, run_id)
    assert [each["run"]["status"] for each in done["runs"]] == ["completed", "completed"]
    assert "isOpen" not in done["runs"][1]["steps"][1]
    assert done["runs"][1]["steps"][1]["startedAt"] == one["steps"][1]["startedAt"]


@pytest.mark.parametrize("visibility", ["full", "hidden"])
def test_of_anothers_agent_one_sees_what_the_part_shows(house: InHouse, ada: Caller, visibility: str) -> None:
    eve = house.person("eve")
    script = Script(
        boss=[Answer([*call("ask_scout", {"prompt": "x"}), usage(10, 1)]), Answer(text("So."))],
        scout=[
            Answer([*text("Well. "), *call("search", {"query": "seen"}), usage(7, 7)]),
            Answer([*call("secret", {"query": "canary"}), usage(7, 7)]),
            Answer(text("Found.")),
        ],
    )
    with FakeOpenAI(script) as model:
        owned(eve, "scout", model, SEARCH, {**HIDDEN_SEARCH, "name": "secret"})
        asks = {**delegate("scout"), "execution": {"agentId": "scout"}, "visibility": visibility}
        owned(ada, "boss", model, asks)
        house.space("room", "ada", "boss", "scout")
        run_id = ada.say("room", "go", mentions=["boss"])["runs"][0]["runId"]
        calm(house)
    seen = inspect(ada, run_id)
    [scout_run] = [run for run in runs_of(house) if run["agentId"] == "scout"]

    assert "cost" not in seen
    assert "canary" not in json.dumps(seen)
    if visibility == "hidden":
        assert [each["agentName"] for each in seen["runs"]] == ["Boss"]
        assert "childRunId" not in seen["runs"][0]["calls"][0]
    else:
        [part] = ada.messages("room")[1]["parts"]
        scout = seen["runs"][1]
        told = [without(one, "child") for one in part["child"]["calls"]]
        kept = ("toolCallId", "toolName", "status", "args", "result")
        assert [{key: one[key] for key in kept} for one in scout["calls"]] == told
        assert scout["steps"] == [{"number": 0, "text": "Well. Found.", "usage": part["child"]["usage"]}]
        assert scout["run"] == {
            "id": scout_run["id"],
            "agentId": part["child"]["agentId"],
            "status": "completed",
            "trigger": {"type": "call"},
            "rootRunId": run_id,
            "createdAt": scout_run["createdAt"],
            "parentCallId": part["toolCallId"],
            "pendingToolCalls": [],
            "shownIn": [],
            "depth": 1,
        }
    whole = inspect(eve, scout_run["id"])
    assert [one["toolName"] for one in whole["runs"][0]["calls"]] == ["search", "secret"]
    assert whole["cost"] == {"amount": 0.0000315, "currency": "USD"}
    assert [each["agentName"] for each in inspect(house.admin, run_id)["runs"]] == ["Boss", "Scout"]
