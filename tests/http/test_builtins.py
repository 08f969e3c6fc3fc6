"""The tools that every agent has: what the model is offered, what each does, and that no space sees them."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import jsonschema
import pytest

from tests.http.test_visibility import CANARY, Scene, calling, scene
from tests.requirements import requirement
from tests.servers.fake_openai import HANG, Answer, Asked, FakeOpenAI, text
from tests.servers.roomful import Event, Roomful, openai

ACTIVE = [
    "enter_space", "send_message", "send_reply", "read_messages", "stop_run", "set_goals", "delete_goals",
    "set_memories", "delete_memories", "set_plans", "delete_plans", "get_plans", "get_my_runs",
]  # fmt: skip
ADDRESSED = ["sendSpaceMessage", "readSpaceMessages", "getMyRuns", "delegateToAgent", "skipResponse"]
DIALECTS = {
    "active": {*ACTIVE, "read_result"},
    "composite": {*ADDRESSED, "readResult"},
    "display": {*ADDRESSED, "readResult"},
}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roomful]:
    with Roomful(tmp_path_factory.mktemp("house")) as house:
        yield house


@dataclass
class World:
    """A scene with a second agent, that is in c too and in `theirs` alone."""

    play: Scene
    other: str
    theirs: str
    known: dict[str, str] = field(default_factory=dict[str, str])
    """Ids that the case has to know: of a run, a goal, a plan."""

    def does(self, name: str, args: Any) -> Any:
        """One run that makes this call alone; gives what the model is told of it."""
        self.play.runs([(name, args)])
        return self.told()

    def told(self) -> Any:
        content = self.play.told()
        return content if content.startswith("Error: ") else json.loads(content)


def world(house: Roomful, model: FakeOpenAI, dialect: str) -> World:
    play = scene(house, model, dialect=dialect)
    other = house.agent(f"other-{play.agent}", openai(model.base_url), dialect=dialect)
    house.admin.post(f"/api/spaces/{play.c}/members", {"entityId": other}, expect=201)
    theirs = house.space(f"theirs-{play.a}", play.ada.id, other)
    return World(play, other, theirs)


def unseen(world: World, heard: dict[str, list[Event]], texts: list[str]) -> None:
    """Nothing of the run is in its spaces but these texts, live or after a reload."""
    play = world.play
    events = [event for listened in heard.values() for event in listened]
    assert not [event.name for event in events if event.name.startswith(("tool-", "subagent"))]
    said = [
        part
        for space_id in play.spaces
        for message in play.ada.messages(space_id)
        if message["entityId"] == play.agent
        for part in message["parts"]
    ]
    assert [(part["type"], part["text"]) for part in said] == [("text", text) for text in texts]
    assert CANARY not in json.dumps([event.data for event in events])
    assert CANARY not in json.dumps([play.ada.messages(space_id) for space_id in play.spaces])


@dataclass
class Works:
    """`args` and `told` of the world; `before` arranges it. `texts` is all that the spaces see."""

    name: str
    args: Callable[[World], Any]
    told: Callable[[World, Any], bool]
    texts: list[str] = field(default_factory=list[str])
    before: Callable[[World], None] = lambda _: None


def _texts(told: Any) -> list[str]:
    return [message["text"] for message in told["messages"]]


def _waiting_run(world: World) -> None:
    """A run of the agent that hangs at its model."""
    world.play.model.answer(Answer([HANG]))
    world.known["run"] = world.play.begins(world.play.b)
    world.play.model.wait_for_requests(len(world.play.model.requests) or 1)


def _a_goal(world: World) -> None:
    told = world.does("set_goals", {"goals": [{"description": f"reach {CANARY}"}]})
    world.known["goal"] = told["goals"][0]["id"]


def _a_plan(world: World) -> None:
    plan = {"name": "later", "instruction": f"do {CANARY}", "runAfter": "2 hours"}
    world.known["plan"] = world.does("set_plans", {"plans": [plan]})["plans"][0]["id"]


def _a_memory(world: World) -> None:
    world.does("set_memories", {"memories": [{"key": "k", "value": CANARY}]})


def _is_said(_: World, told: Any) -> bool:
    return told["sent"] is True and told["messageId"].startswith("msg_")


def _stopped(world: World, told: Any) -> bool:
    run = world.play.house.admin.get(f"/api/runs/{world.known['run']}")
    return told == {"runId": world.known["run"], "status": "canceled"} and run["status"] == "canceled"


def _my_runs(world: World, told: Any) -> bool:
    [mine] = told["runs"]
    place = world.play.a
    return (mine["status"], mine["trigger"], mine["spaceId"], mine["isThisRun"]) == (
        "running", "message", place, True,
    )  # fmt: skip


WORKS: dict[str, list[Works]] = {
    "active": [
        Works(
            "enter_space",
            lambda w: {"spaceId": w.play.b},
            lambda w, told: told == {"spaceId": w.play.b, "messages": []},
        ),
        Works("send_message", lambda _: {"text": "Hello"}, _is_said, ["Hello"]),
        Works("send_reply", lambda _: {"text": "Hello"}, _is_said, ["Hello"]),
        Works("read_messages", lambda _: {}, lambda _, told: _texts(told) == ["go"]),
        Works("stop_run", lambda w: {"runId": w.known["run"]}, _stopped, before=_waiting_run),
        Works(
            "set_goals",
            lambda _: {"goals": [{"description": f"reach {CANARY}"}]},
            lambda _, told: [g["description"] for g in told["goals"]] == [f"reach {CANARY}"],
        ),
        Works(
            "delete_goals",
            lambda w: {"ids": [w.known["goal"]]},
            lambda w, told: told == {"deleted": [w.known["goal"]]},
            before=_a_goal,
        ),
        Works(
            "set_memories",
            lambda _: {"memories": [{"key": "k", "value": CANARY}]},
            lambda _, told: told == {"remembered": ["k"]},
        ),
        Works(
            "delete_memories",
            lambda _: {"keys": ["k"]},
            lambda _, told: told == {"deleted": ["k"]},
            before=_a_memory,
        ),
        Works(
            "set_plans",
            lambda _: {"plans": [{"name": "later", "instruction": CANARY, "cron": "0 9 * * 1"}]},
            lambda _, told: [plan["name"] for plan in told["plans"]] == ["later"],
        ),
        Works(
            "delete_plans",
            lambda w: {"ids": [w.known["plan"]]},
            lambda w, told: told == {"deleted": [w.known["plan"]]},
            before=_a_plan,
        ),
        Works(
            "get_plans",
            lambda _: {"status": "active"},
            lambda w, told: (
                [(p["id"], p["instruction"]) for p in told["plans"]] == [(w.known["plan"], f"do {CANARY}")]
            ),
            before=_a_plan,
        ),
        Works("get_my_runs", lambda _: {"status": "running"}, _my_runs),
    ],
    "composite": [
        Works("sendSpaceMessage", lambda w: {"spaceId": w.play.a, "text": "Hello"}, _is_said, ["Hello"]),
        Works("readSpaceMessages", lambda w: {"spaceId": w.play.a}, lambda _, told: _texts(told) == ["go"]),
        Works("getMyRuns", lambda _: {"status": "running"}, _my_runs),
    ],
}
WORKS["display"] = WORKS["composite"]
ALL_WORKS = [
    pytest.param(dialect, case, id=f"{dialect} {case.name}")
    for dialect, cases in WORKS.items()
    for case in cases
]


@requirement("T-12")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_dialect_offers_its_built_ins_and_no_others(
    house: Roomful, model: FakeOpenAI, dialect: str
) -> None:
    play = scene(house, model, dialect=dialect)

    play.runs()

    offered = play.offered()
    assert offered.keys() == DIALECTS[dialect]
    for tool in offered.values():
        jsonschema.Draft202012Validator.check_schema(tool["parameters"])
        assert tool["parameters"]["type"] == "object"
        assert tool["description"]


@requirement("T-12", "C-08")
@pytest.mark.parametrize(("dialect", "case"), ALL_WORKS)
def test_a_built_in_works_and_is_seen_by_nobody(
    house: Roomful, model: FakeOpenAI, dialect: str, case: Works
) -> None:
    here = world(house, model, dialect)
    case.before(here)
    args = case.args(here)
    model.requests.clear()

    _, heard = here.play.runs([(case.name, args)])

    jsonschema.validate(args, here.play.offered()[case.name]["parameters"])
    told = here.told()
    assert case.told(here, told), told
    unseen(here, heard, case.texts)


WRONG: list[tuple[str, str, Callable[[World], Any], str]] = [
    ("active", "enter_space", lambda _: {}, "spaceId"),
    ("active", "enter_space", lambda w: {"spaceId": w.theirs}, "you are in"),
    ("active", "enter_space", lambda _: {"spaceId": "nowhere"}, "you are in"),
    ("active", "send_message", lambda _: {}, "text"),
    ("active", "send_message", lambda _: {"text": ""}, "text"),
    ("active", "send_message", lambda _: {"text": 5}, "text"),
    ("active", "send_reply", lambda _: {"mentions": ["ada"]}, "text"),
    ("active", "read_messages", lambda w: {"spaceId": w.theirs}, "you are in"),
    ("active", "read_messages", lambda _: {"offset": -1}, "offset"),
    ("active", "read_messages", lambda _: {"limit": "many"}, "limit"),
    ("active", "stop_run", lambda _: {}, "runId"),
    ("active", "stop_run", lambda _: {"runId": "run_unknown"}, "you have no run"),
    ("active", "stop_run", lambda w: {"runId": w.known["theirs"]}, "you have no run"),
    ("active", "set_goals", lambda _: {}, "goals"),
    ("active", "set_goals", lambda _: {"goals": [{"status": "open"}]}, "description"),
    ("active", "set_goals", lambda _: {"goals": [{"id": "goal_x", "description": "d"}]}, "goal_x"),
    ("active", "delete_goals", lambda _: {}, "ids"),
    ("active", "set_memories", lambda _: {"memories": []}, "memories"),
    ("active", "set_memories", lambda _: {"memories": [{"key": "k"}]}, "value"),
    ("active", "delete_memories", lambda _: {}, "keys"),
    ("active", "set_plans", lambda _: {"plans": [{"name": "n", "instruction": "i"}]}, "runAfter"),
    ("active", "set_plans", lambda _: {"plans": [{"name": "n", "runAfter": 5}]}, "instruction"),
    ("active", "delete_plans", lambda _: {"ids": ["plan_x"]}, "plan_x"),
    ("active", "delete_plans", lambda _: {}, "ids"),
    ("active", "get_plans", lambda _: {"status": "lost"}, "status"),
    ("active", "get_my_runs", lambda _: {"status": "lost"}, "status"),
    ("active", "read_result", lambda _: {"blobId": "blob_x"}, "blob_x"),
    ("active", "sendSpaceMessage", lambda w: {"spaceId": w.play.a, "text": "x"}, "there is no tool"),
    ("composite", "sendSpaceMessage", lambda w: {"spaceId": w.play.a}, "text"),
    ("composite", "sendSpaceMessage", lambda _: {"text": CANARY}, "spaceId"),
    ("composite", "sendSpaceMessage", lambda w: {"spaceId": w.theirs, "text": CANARY}, "you are in"),
    ("composite", "sendSpaceMessage", lambda _: {"spaceId": "nowhere", "text": CANARY}, "you are in"),
    ("composite", "readSpaceMessages", lambda _: {}, "spaceId"),
    ("composite", "readSpaceMessages", lambda w: {"spaceId": w.theirs}, "you are in"),
    ("composite", "getMyRuns", lambda _: {"status": 5}, "status"),
    ("composite", "delegateToAgent", lambda _: {}, "targetAgentEntityId"),
    ("composite", "skipResponse", lambda _: {"why": CANARY}, "why"),
    ("display", "send_message", lambda _: {"text": CANARY}, "there is no tool"),
]


@requirement("T-12", "C-08")
@pytest.mark.parametrize(
    ("dialect", "name", "args", "words"),
    [pytest.param(*row, id=f"{row[0]} {row[1]} {at}") for at, row in enumerate(WRONG)],
)
def test_a_wrong_call_is_told_to_the_model_and_the_run_goes_on(
    house: Roomful, model: FakeOpenAI, dialect: str, name: str, args: Callable[[World], Any], words: str
) -> None:
    here = world(house, model, dialect)
    if name == "stop_run":
        model.answer(Answer([HANG]))
        here.known["theirs"] = here.play.ada.say(here.theirs, "stay")["runs"][0]["runId"]
        model.wait_for_requests(1)
        model.requests.clear()

    _, heard = here.play.runs([(name, args(here))])

    told = here.told()
    assert isinstance(told, str), told
    assert words in told
    assert len(model.requests) == 2
    unseen(here, heard, [])
    if name == "stop_run":
        assert house.admin.get(f"/api/runs/{here.known['theirs']}")["status"] == "running"


@pytest.fixture(scope="module")
def counted(house: Roomful) -> str:
    """A space with 205 messages, the words of whose number they are."""
    ada = house.person("counting-ada")
    space_id = house.space("counted", ada.id)
    for number in range(1, 206):
        ada.say(space_id, str(number))
    return space_id


@requirement("T-12")
@pytest.mark.parametrize(("dialect", "name"), [("active", "read_messages"), ("display", "readSpaceMessages")])
@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param({}, range(186, 206), id="the latest twenty"),
        pytest.param({"limit": 2}, range(204, 206), id="the latest"),
        pytest.param({"limit": 2, "offset": 0}, range(204, 206), id="none left out"),
        pytest.param({"limit": 2, "offset": 2}, range(202, 204), id="before those"),
        pytest.param({"offset": 3}, range(183, 203), id="twenty before those"),
        pytest.param({"limit": 200}, range(6, 206), id="as many as can be"),
        pytest.param({"limit": 5, "offset": 202}, range(1, 4), id="the first ones"),
        pytest.param({"limit": 5, "offset": 204}, range(1, 2), id="the first"),
        pytest.param({"limit": 5, "offset": 205}, range(0), id="just beyond"),
        pytest.param({"limit": 5, "offset": 300}, range(0), id="beyond"),
        pytest.param({"limit": 5, "offset": 10**30}, range(0), id="far beyond"),
    ],
)
def test_an_offset_reads_what_was_said_earlier(
    house: Roomful, model: FakeOpenAI, counted: str, dialect: str, name: str, args: Any, expected: range
) -> None:
    here = world(house, model, dialect)
    house.admin.post(f"/api/spaces/{counted}/members", {"entityId": here.play.agent}, expect=201)

    told = here.does(name, {"spaceId": counted, **args})

    assert _texts(told) == [str(number) for number in expected]


@requirement("T-12")
@pytest.mark.parametrize(("dialect", "name"), [("active", "get_my_runs"), ("composite", "getMyRuns")])
def test_an_agent_knows_what_its_runs_wait_for(
    house: Roomful, model: FakeOpenAI, dialect: str, name: str
) -> None:
    kind = "space" if dialect == "active" else "basic"
    form = {"name": "form", "executionType": kind, "execution": {"mode": "no-execution"}}
    play = scene(house, model, form, dialect=dialect)
    model.answer(calling(("form", {})))
    with play.ada.listen(play.b) as ears:
        waiting = play.begins(play.b)
        ears.wait_for("run.waiting_tool", runId=waiting)

    run_id, _ = play.runs([(name, {})])

    told = {run["id"]: run for run in json.loads(play.told())["runs"]}
    assert told[waiting]["waitsFor"] == [{"toolName": "form", "for": "answer"}]
    assert "waitsFor" not in told[run_id]


@requirement("T-12")
def test_an_agent_stops_the_run_it_is_in(house: Roomful, model: FakeOpenAI) -> None:
    """Its id is known from get_my_runs."""

    def answers(asked: Asked) -> Answer:
        if asked.messages[-1]["role"] != "tool":
            return calling(("get_my_runs", {}))
        [mine] = json.loads(asked.messages[-1]["content"])["runs"]
        return calling(("stop_run", {"runId": mine["id"]}), ("set_memories", {"memories": []}))

    with FakeOpenAI(answers) as own:
        play = scene(house, own, dialect="active")
        with play.ada.listen(play.a) as ears:
            run_id = play.begins()
            ears.wait_for("run.canceled", runId=run_id)
        assert len(own.requests) == 2
        assert play.bubble(play.a) == []


@requirement("T-12")
def test_a_sub_agent_that_stops_the_run_it_works_for_ends_with_it(house: Roomful) -> None:
    """A sub-agent that is written in a tool acts for the agent that has the tool."""

    def answers(asked: Asked) -> Answer:
        last = asked.messages[-1]
        is_inner = "You are Inner" in asked.messages[0]["content"]
        if not is_inner:
            return Answer(text("done")) if last["role"] == "tool" else calling(("ask", {"prompt": "go on"}))
        if last["role"] != "tool":
            return calling(("get_my_runs", {}))
        [caller] = [run for run in json.loads(last["content"])["runs"] if not run["isThisRun"]]
        return calling(("stop_run", {"runId": caller["id"]}))

    ask = {
        "name": "ask",
        "executionType": "gateway",
        "execution": {
            "agentConfig": {"name": "Inner", "instructions": "You are Inner.", "dialect": "active"}
        },
    }
    with FakeOpenAI(answers) as own:
        play = scene(house, own, ask, dialect="active", instructions="You are outer.")
        with play.ada.listen(play.a) as ears:
            run_id = play.begins()
            ears.wait_for("run.canceled", runId=run_id)
            [part] = play.bubble(play.a)
        assert (part["status"], part["child"]["status"]) == ("canceled", "canceled")
        runs = house.admin.get("/api/runs", params={"agentId": play.agent})["runs"]
        assert [run["status"] for run in runs] == ["canceled", "canceled"]
