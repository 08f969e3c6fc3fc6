"""How much of a call a space sees, and that what is hidden never leaves the house."""

import contextlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.requirements import requirement
from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.roomful import Caller, Event, Listener, Roomful, openai
from tests.tools.documents import document

CANARY = "c4n4ry-7f3a"
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roomful]:
    with Roomful(tmp_path_factory.mktemp("house")) as house:
        yield house


@dataclass
class Scene:
    """Ada in the spaces a, b and c, Bob in b, and an agent in all three. The ids are new each time."""

    house: Roomful
    model: FakeOpenAI
    agent: str
    ada: Caller
    bob: Caller
    a: str
    b: str
    c: str

    @property
    def spaces(self) -> tuple[str, str, str]:
        return self.a, self.b, self.c

    @contextlib.contextmanager
    def listening(self, **params: str) -> Iterator[dict[str, Listener]]:
        """Ada listens everywhere."""
        with contextlib.ExitStack() as stack:
            yield {
                space_id: stack.enter_context(self.ada.listen(space_id, **params)) for space_id in self.spaces
            }

    def plays(self, *steps: list[tuple[str, Any]]) -> None:
        """The model answers with the calls of each step in turn, and then has nothing more to do."""
        self.model.answer(*(calling(*step) for step in steps), Answer(text("ok")))

    def begins(self, space_id: str | None = None) -> str:
        """Ada says something that wakes the agent."""
        return self.ada.say(space_id or self.a, "go")["runs"][0]["runId"]

    def runs(self, *steps: list[tuple[str, Any]]) -> tuple[str, dict[str, list[Event]]]:
        """A whole run that waits for nobody, and all that Ada heard of it in each space."""
        self.plays(*steps)
        with self.listening() as heard:
            run_id = self.begins()
            heard[self.a].wait_for("run.completed", runId=run_id)
            return run_id, {space_id: self.so_far(ears, space_id) for space_id, ears in heard.items()}

    def so_far(self, listener: Listener, space_id: str) -> list[Event]:
        """Everything that was sent until now: a role that is set again is the mark behind it."""
        count = listener.names().count("member.joined")
        self.house.admin.post(f"/api/spaces/{space_id}/members", {"entityId": self.ada.id}, expect=200)
        listener.wait_for("member.joined", count + 1)
        return [event for event in listener.events if event.name not in ("snapshot", "member.joined")]

    def bubble(self, space_id: str) -> list[dict[str, Any]]:
        """The parts of the agent's only message in a space; none when it said nothing there."""
        said = [m for m in self.ada.messages(space_id) if m["entityId"] == self.agent]
        assert len(said) <= 1
        return said[0]["parts"] if said else []

    def told(self, request: int = -1) -> Any:
        """What the model was last told of a call."""
        message = self.model.requests[request].messages[-1]
        assert message["role"] == "tool"
        return message["content"]

    def offered(self) -> dict[str, dict[str, Any]]:
        """The tools as the model was told of them."""
        [asked, *_] = self.model.requests
        return {tool["function"]["name"]: tool["function"] for tool in asked.body["tools"]}


def scene(house: Roomful, model: FakeOpenAI, *tools: Any, **more: Any) -> Scene:
    number = next(_numbers)
    ada, bob = house.person(f"ada-{number}"), house.person(f"bob-{number}")
    agent = house.agent(f"agent-{number}", openai(model.base_url), *tools, **more)
    a = house.space(f"a-{number}", ada.id, agent)
    b = house.space(f"b-{number}", ada.id, bob.id, agent)
    c = house.space(f"c-{number}", ada.id, agent)
    return Scene(house, model, agent, ada, bob, a, b, c)


def calling(*calls: tuple[str, Any], size: int = 7) -> Answer:
    made = [call(name, args, index=at, id=f"c{at}", size=size) for at, (name, args) in enumerate(calls)]
    return Answer([piece for pieces in made for piece in pieces])


def of_calls(events: list[Event]) -> list[Event]:
    return [event for event in events if event.name.startswith(("tool-", "text-"))]


def static(name: str, **more: Any) -> dict[str, Any]:
    """A server tool whose output nobody may see unless it says so."""
    return {
        "name": name,
        "executionType": "basic",
        "execution": {"mode": "static", "output": {"secret": f"output {CANARY}"}},
        "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}},
        **more,
    }


QUERY = {"query": f"input {CANARY}"}
OUTPUT = {"secret": f"output {CANARY}"}


def everything(scene: Scene, run_id: str, heard: dict[str, list[Event]]) -> str:
    """All that a member who does not own the agent can get of a run, in one text."""
    ada, spaces = scene.ada, [ada_space["id"] for ada_space in scene.ada.get("/api/spaces")["spaces"]]
    seen = [
        [event.data for events in heard.values() for event in events],
        [ada.messages(space_id) for space_id in spaces],
        [ada.messages(space_id, q=CANARY) for space_id in spaces],
        ada.get(f"/api/runs/{run_id}"),
        ada.get("/api/runs"),
        ada.get(f"/api/agents/{scene.agent}"),
    ]
    return json.dumps(seen)


def _hidden_part(part: dict[str, Any]) -> dict[str, Any]:
    """A part without what is different each time."""
    return {key: value for key, value in part.items() if key not in ("id", "toolCallId", "runId")}


@requirement("C-07", "C-08")
@pytest.mark.parametrize("more", [{}, {"visibility": "hidden"}], ids=["default", "written"])
def test_a_hidden_server_tool_shows_nothing_at_all(
    house: Roomful, model: FakeOpenAI, more: dict[str, str]
) -> None:
    play = scene(house, model, static("lookUp", **more))

    with Listener(play.ada, "/api/stream") as mine:
        run_id, heard = play.runs([("lookUp", QUERY)])
        mine.wait_for("run.completed", runId=run_id)
        whole = everything(play, run_id, heard) + json.dumps([event.data for event in mine.events])

    assert CANARY not in whole
    assert "lookUp" not in whole
    assert [event for events in heard.values() for event in of_calls(events)] == []
    assert all(play.bubble(space_id) == [] for space_id in play.spaces)
    assert json.loads(play.told()) == OUTPUT


@requirement("C-07")
def test_a_minimal_tool_shows_its_name_and_its_status_from_calling_to_done(
    house: Roomful, model: FakeOpenAI
) -> None:
    play = scene(house, model, static("lookUp", visibility="minimal"))

    run_id, heard = play.runs([("lookUp", QUERY)])

    assert CANARY not in everything(play, run_id, heard)
    [part] = play.bubble(play.a)
    shown = {"id": part["id"], "type": "tool_call", "toolName": "lookUp", "status": "complete"}
    assert part == shown | {"toolCallId": part["toolCallId"], "runId": run_id}
    events = of_calls(heard[play.a])
    assert [event.name for event in events] == ["tool-call.start", "tool-call", "tool-call.complete"]
    assert not any({"args", "output", "partialArgs"} & event.data.keys() for event in events)
    assert json.loads(play.told()) == OUTPUT


@requirement("C-07")
def test_a_full_tool_shows_its_name_arguments_and_result(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, static("lookUp", visibility="full"))

    _, heard = play.runs([("lookUp", QUERY)])

    [part] = play.bubble(play.a)
    shown = {"type": "tool_call", "toolName": "lookUp", "status": "complete"}
    assert _hidden_part(part) == shown | {"args": QUERY, "result": OUTPUT}
    [complete] = [event for event in heard[play.a] if event.name == "tool-call.complete"]
    assert (complete.data["args"], complete.data["output"]) == (QUERY, OUTPUT)


@requirement("C-07")
@pytest.mark.parametrize(
    ("visibility", "expected"),
    [
        pytest.param("hidden", None, id="hidden"),
        pytest.param("minimal", {"error": "failed"}, id="minimal"),
        pytest.param("full", {"args": QUERY}, id="full"),
    ],
)
def test_a_failure_is_as_visible_as_the_tool(
    house: Roomful, model: FakeOpenAI, visibility: str, expected: dict[str, Any] | None
) -> None:
    tool = {
        **static("compute", visibility=visibility),
        "executionType": "compute",
        "execution": {"operation": "evaluate", "expression": "{{input.query}}"},
    }
    play = scene(house, model, tool)

    run_id, heard = play.runs([("compute", QUERY)])

    assert play.told().startswith("Error: ")
    failed = [event for event in heard[play.a] if event.name == "tool-call.error"]
    if expected is None:
        assert (play.bubble(play.a), failed) == ([], [])
        assert CANARY not in everything(play, run_id, heard)
        return
    [part], [event] = play.bubble(play.a), failed
    assert (part["status"], event.data["error"]) == ("error", part["error"])
    if visibility == "full":
        assert part["args"] == QUERY
        assert part["error"] == play.told().removeprefix("Error: ")
    else:
        assert CANARY not in everything(play, run_id, heard)
        assert _hidden_part(part) == {
            "type": "tool_call",
            "toolName": "compute",
            "status": "error",
            "error": "failed",
        }


@requirement("C-07")
@pytest.mark.parametrize("visibility", ["hidden", "minimal"])
def test_a_call_that_the_model_got_wrong_is_no_more_visible(
    house: Roomful, model: FakeOpenAI, visibility: str
) -> None:
    play = scene(house, model, static("lookUp", visibility=visibility))

    run_id, heard = play.runs([("lookUp", {"query": [CANARY]})])

    assert play.told().startswith("Error: ")
    assert CANARY not in everything(play, run_id, heard)


BUILT_IN = [
    pytest.param("readSpaceMessages", lambda play: {"spaceId": play.b}, id="readSpaceMessages"),
    pytest.param("getMyRuns", lambda play: {}, id="getMyRuns"),
    pytest.param("skipResponse", lambda play: {}, id="skipResponse"),
    pytest.param("delegateToAgent", lambda play: {"targetAgentEntityId": "nobody"}, id="delegateToAgent"),
]


@requirement("C-07", "C-08")
@pytest.mark.parametrize(("name", "arguments"), BUILT_IN)
def test_a_built_in_tool_is_hidden(house: Roomful, model: FakeOpenAI, name: str, arguments: Any) -> None:
    play = scene(house, model)

    run_id, heard = play.runs([(name, arguments(play))])

    assert name not in everything(play, run_id, heard)
    assert [event for events in heard.values() for event in of_calls(events)] == []
    assert all(play.bubble(space_id) == [] for space_id in play.spaces)


@requirement("C-08")
def test_send_space_message_is_its_text_and_nothing_else(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model)

    run_id, heard = play.runs([("sendSpaceMessage", {"spaceId": play.a, "text": "Hello there"})])

    [part] = play.bubble(play.a)
    assert _hidden_part(part) == {"type": "text", "text": "Hello there", "status": "complete"}
    assert {event.name for event in of_calls(heard[play.a])} == {"text-start", "text-delta", "text-end"}
    assert "sendSpaceMessage" not in everything(play, run_id, heard)


FORM = document("composite-client-tool")


@requirement("C-08")
@pytest.mark.parametrize("more", [{}, {"visibility": "full"}], ids=["default", "written"])
def test_a_client_tool_is_always_visible(house: Roomful, model: FakeOpenAI, more: dict[str, str]) -> None:
    tool = FORM | {"execution": {"mode": "no-execution", "wait": False}} | more
    play = scene(house, model, tool)

    play.runs([("showApprovalForm", {"amount": 5, "description": "pens"})])

    [part] = play.bubble(play.a)
    assert (part["args"], part["result"]) == ({"amount": 5, "description": "pens"}, None)


@requirement("C-08")
@pytest.mark.parametrize(
    ("tool", "named"),
    [
        pytest.param(FORM | {"visibility": "hidden"}, "visibility", id="hidden client tool"),
        pytest.param(FORM | {"visibility": "minimal"}, "visibility", id="minimal client tool"),
        pytest.param(static("lookUp", visibility="visible"), "visibility", id="word of another dialect"),
        pytest.param(static("lookUp", visibility="loud"), "visibility", id="no such word"),
        pytest.param(static("lookUp", visible=True), "visible", id="no such field"),
        pytest.param(static("sendSpaceMessage"), "sendSpaceMessage", id="name of a built-in"),
        pytest.param(
            {"name": "getMyRuns", "executionType": "prebuilt", "visibility": "full"},
            "executionType",
            id="prebuilt",
        ),
    ],
)
def test_a_config_that_contradicts_is_refused_by_name(house: Roomful, tool: Any, named: str) -> None:
    number = next(_numbers)
    config = {
        "id": f"refused-{number}",
        "name": "R",
        "model": "scripted:x",
        "dialect": "composite",
        "tools": [tool],
    }

    refused = house.admin.post("/api/agents", config, expect=422)

    assert refused["code"] == "invalid"
    assert named in refused["detail"]
    house.admin.get(f"/api/agents/refused-{number}", expect=404)


@requirement("C-09")
def test_the_model_sees_routing_parameters_first_and_the_author_does_not(
    house: Roomful, model: FakeOpenAI
) -> None:
    tools = [FORM, static("seen", visibility="minimal"), static("unseen")]
    play = scene(house, model, *tools, dialect="composite")

    play.runs()

    offered = play.offered()
    built = document("composite-client-tool-built")["properties"]
    for name, own in (("showApprovalForm", ["amount", "description"]), ("seen", ["query"])):
        parameters = offered[name]["parameters"]
        routing = ["targetSpaceId", "targetSpaceIds", "targetEntityId"]
        assert list(parameters["properties"]) == [*routing, *own]
        assert not set(routing) & set(parameters.get("required", []))
        for key in ("targetSpaceId", "targetSpaceIds"):
            given = dict(parameters["properties"][key])
            assert given.pop("description").startswith(built[key]["description"])
            assert given.items() >= {k: v for k, v in built[key].items() if k != "description"}.items()
    for name in ("sendSpaceMessage", "readSpaceMessages", "getMyRuns", "skipResponse", "unseen"):
        assert "target" not in json.dumps(offered[name]["parameters"])
    assert play.house.admin.get(f"/api/agents/{play.agent}")["config"]["tools"] == tools


@requirement("C-10")
def test_routing_fields_are_gone_before_the_tool_executes(house: Roomful, model: FakeOpenAI) -> None:
    echo = {
        "name": "echo",
        "executionType": "basic",
        "visibility": "full",
        "execution": {"mode": "pass-through"},
        "inputSchema": {"properties": {"x": {"type": "integer"}}, "additionalProperties": False},
    }
    play = scene(house, model, echo)
    routing = {"targetSpaceId": play.b, "targetSpaceIds": [play.a], "targetEntityId": play.ada.id}

    _, heard = play.runs([("echo", routing | {"x": 1})])

    assert json.loads(play.told()) == {"x": 1}
    for space_id in (play.a, play.b):
        [part] = play.bubble(space_id)
        assert (part["args"], part["result"]) == ({"x": 1}, {"x": 1})
        shown = [event.data for event in of_calls(heard[space_id])]
        assert "targetSpaceId" not in json.dumps(shown)
