"""The tool system of the active space: kinds of execution, defaults of visibility, one pipeline for all."""

import ast
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import roomful
from tests.http.shopping import seen
from tests.http.test_display import Api
from tests.http.test_routing_tables import answer
from tests.http.test_visibility import Scene, of_calls, scene
from tests.requirements import requirement
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.roomful import Event, Roomful, fold, openai
from tests.tools.documents import document

KEY = "s3cr3t-api-k3y"


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with Api() as api:
        yield api


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, api: Api) -> Iterator[Roomful]:
    environment = {
        "ROOMFUL_ALLOW_HOSTS": api.host,
        "ROOMFUL_TOOL_ENV": "API_KEY,SERVICE_KEY",
        "API_KEY": KEY,
        "SERVICE_KEY": KEY,
    }
    with Roomful(tmp_path_factory.mktemp("house"), **environment) as house:
        yield house


SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}}
ARGS = {"query": "sun"}


def tool(kind: str, execution: Any, **more: Any) -> dict[str, Any]:
    return {"name": "doIt", "inputSchema": SCHEMA, "executionType": kind, "execution": execution, **more}


def get(api: Api) -> dict[str, Any]:
    return {"url": f"http://{api.host}/things?q={{{{input.query}}}}", "method": "GET"}


COMPUTE = {"operation": "evaluate", "expression": "[query, 1 + 1]"}
DRAW = {"provider": "builtin"}
STATIC = {"mode": "static", "output": {"status": "ok"}}
PASS = {"mode": "pass-through"}


def _shown(play: Scene, *calls: tuple[str, Any]) -> tuple[list[Any], Any, list[Event]]:
    """What stands in the active space, what the model was told, and the events."""
    _, heard = play.runs(list(calls))
    return seen({"parts": play.bubble(play.a)}), json.loads(play.told()), heard[play.a]


def _config(**fields: Any) -> dict[str, Any]:
    return {"id": "refused", "name": "R", "model": "scripted:x", "dialect": "active", **fields}


@requirement("T-01")
@pytest.mark.parametrize(
    ("older", "newer", "is_visible"),
    [
        pytest.param(("basic", STATIC), ("internal", {"output": {"status": "ok"}}), False, id="basic static"),
        pytest.param(("basic", PASS), ("gateway", PASS), True, id="basic pass-through"),
        pytest.param(("request", get), ("gateway", get), True, id="request"),
        pytest.param(("compute", COMPUTE), ("gateway", COMPUTE), True, id="compute"),
        pytest.param(("image-generator", DRAW), ("gateway", DRAW), True, id="image"),
    ],
)
def test_an_older_kind_behaves_as_the_one_it_is_mapped_onto(
    house: Roomful, model: FakeOpenAI, api: Api, older: Any, newer: Any, is_visible: bool
) -> None:
    shown: list[Any] = []
    for kind, execution in (older, newer):
        made = tool(kind, execution(api) if callable(execution) else execution)
        if "provider" in made["execution"]:
            made["inputSchema"] = {"type": "object", "properties": {"prompt": {"type": "string"}}}
        play = scene(house, model, made, dialect="active")
        args = {"prompt": "sun"} if "provider" in made["execution"] else ARGS
        parts, told, events = _shown(play, ("doIt", args))
        names = [event.name for event in of_calls(events) if event.name != "tool-input-delta"]
        shown.append((_without_blobs(parts), _without_blobs(told), names))
        model.requests.clear()

    assert shown[0] == shown[1]
    assert bool(shown[0][0]) is is_visible


def _without_blobs(value: Any) -> Any:
    """Equal images have urls of their own."""
    if isinstance(value, dict):
        return {
            key: None if key in ("url", "blobId") else _without_blobs(item) for key, item in value.items()
        }
    return [_without_blobs(item) for item in value] if isinstance(value, list | tuple) else value


@requirement("T-01", "T-10")
@pytest.mark.parametrize(
    "made",
    [
        pytest.param(tool("basic", {"mode": "no-execution"}), id="basic"),
        pytest.param(tool("basic", None), id="basic null"),
        pytest.param(tool("space", {}), id="space"),
        pytest.param(tool("space", document("active-execution-space")), id="as in the document"),
    ],
)
def test_a_space_tool_shows_a_form_and_the_run_pauses(
    house: Roomful, model: FakeOpenAI, made: dict[str, Any]
) -> None:
    play = scene(house, model, made, dialect="active")
    play.plays([("doIt", ARGS)])
    with play.ada.listen(play.a) as ears:
        run_id = play.begins()
        paused = ears.wait_for("run.waiting_tool", runId=run_id).data
        [part] = play.bubble(play.a)
        assert (part["status"], part["args"], part["result"]) == ("waiting", ARGS, None)
        component = ((made["execution"] or {}).get("display") or {}).get("customUI")
        assert part.get("customUI") == component
        assert [one["toolCallId"] for one in paused["pendingToolCalls"]] == [part["toolCallId"]]
        assert house.admin.get(f"/api/runs/{run_id}")["status"] == "waiting_tool"
        assert len(model.requests) == 1

        answer(play.ada, run_id, part["toolCallId"], {"confirmed": True})

        ears.wait_for("run.completed", runId=run_id)
        assert json.loads(play.told()) == {"confirmed": True}
        assert fold(ears.events) == play.ada.messages(play.a)


@requirement("T-01")
@pytest.mark.parametrize(
    ("kind", "advice"), [("waiting", '"wait"'), ("prebuilt", "built-in"), ("magic", "gateway")]
)
def test_a_kind_that_is_no_more_is_refused_with_advice(house: Roomful, kind: str, advice: str) -> None:
    refused = house.admin.post("/api/agents", _config(tools=[tool(kind, {})]), expect=422)

    assert "executionType" in refused["detail"]
    assert advice in refused["detail"]


@requirement("T-01")
@pytest.mark.parametrize("kind", ["ai-agent", "gateway"])
def test_a_sub_agent_is_accepted_as_a_gateway_tool(house: Roomful, kind: str) -> None:
    inner = {"name": "Helper", "model": "scripted:x", "instructions": "Help."}
    made = tool(kind, document("active-execution-agent") | {"agentConfig": inner})
    config = _config(id=f"with-{kind}", tools=[made])

    assert house.admin.post("/api/agents", config, expect=201)["config"]["tools"] == [made]


def webhook(api: Api) -> dict[str, Any]:
    example = document("active-execution-webhook")
    return {**example, "webhookUrl": f"http://{api.host}/tools/process"}


@requirement("T-02")
@pytest.mark.parametrize(
    ("kind", "execution", "visibility", "level"),
    [
        pytest.param("gateway", PASS, None, "visible", id="gateway"),
        pytest.param("external", webhook, None, "visible", id="external"),
        pytest.param("internal", {"output": 1}, None, "hidden", id="internal"),
        pytest.param("gateway", PASS, "visible", "visible", id="gateway visible"),
        pytest.param("gateway", PASS, "hidden", "hidden", id="gateway hidden"),
        pytest.param("gateway", PASS, "result-only", "result-only", id="gateway result-only"),
        pytest.param("external", webhook, "hidden", "hidden", id="external hidden"),
        pytest.param("external", webhook, "result-only", "result-only", id="external result-only"),
        pytest.param("internal", {"output": 1}, "hidden", "hidden", id="internal hidden"),
    ],
)
def test_visibility_and_its_defaults(
    house: Roomful, model: FakeOpenAI, api: Api, kind: str, execution: Any, visibility: str | None, level: str
) -> None:
    more = {} if visibility is None else {"visibility": visibility}
    made = tool(kind, execution(api) if callable(execution) else execution, **more)
    play = scene(house, model, made, dialect="active")

    parts, told, events = _shown(play, ("doIt", ARGS))

    names = [event.name for event in of_calls(events) if event.name != "tool-input-delta"]
    if level == "visible":
        assert parts == [("doIt", ARGS, told)]
        assert names == ["tool-call.start", "tool-call", "tool-call.complete"]
    elif level == "hidden":
        assert (parts, names) == ([], [])
        assert "doIt" not in json.dumps([event.data for event in events])
    else:
        assert parts == [("doIt", None, told)]
        assert names == ["tool-call.complete"]
    assert fold(events) == play.ada.messages(play.a)


@requirement("T-02")
def test_result_only_sends_the_result_and_the_message_and_nothing_before(
    house: Roomful, model: FakeOpenAI
) -> None:
    made = tool("gateway", STATIC, visibility="result-only", display={"customUI": "Sun"})
    play = scene(house, model, made, dialect="active")

    run_id, heard = play.runs([("doIt", {"query": "not to be seen"})])

    events = [e for e in heard[play.a] if e.name != "agent.active" and not e.name.startswith("run.")]
    assert [event.name for event in events] == [
        "smartSpace.message",
        "tool-call.complete",
        "smartSpace.message",
        "smartSpace.message",
        "agent.inactive",
    ]
    complete, changed = events[1].data, events[2].data
    assert complete["output"] == {"status": "ok"}
    part = {
        "id": complete["partId"],
        "type": "tool_call",
        "toolCallId": complete["toolCallId"],
        "toolName": "doIt",
        "runId": run_id,
        "result": {"status": "ok"},
        "status": "complete",
        "customUI": "Sun",
    }
    assert changed["message"]["parts"] == [part]
    assert play.bubble(play.a) == [part]
    assert "not to be seen" not in json.dumps([event.data for event in events])


@requirement("T-02")
@pytest.mark.parametrize(
    ("kind", "visibility"),
    [("space", "hidden"), ("space", "result-only"), ("internal", "visible"), ("gateway", "minimal")],
)
def test_a_visibility_that_contradicts_the_kind_is_refused(
    house: Roomful, kind: str, visibility: str
) -> None:
    made = tool(kind, {} if kind != "gateway" else PASS, visibility=visibility)

    refused = house.admin.post("/api/agents", _config(tools=[made]), expect=422)

    assert "visibility" in refused["detail"]


def _trigger(house: Roomful, play: Scene) -> str:
    body = {"serviceName": "billing", "payload": {"invoice": 7}}
    return house.admin.post(f"/api/agents/{play.agent}/trigger", body, expect=202)["runId"]


def _until_done(house: Roomful, play: Scene, requests: int) -> None:
    play.model.wait_for_requests(requests)
    assert play.model.requests[requests - 1].answered.wait(10)


@requirement("T-03")
def test_without_an_active_space_a_tool_runs_unseen_and_a_warning_is_logged(
    house: Roomful, model: FakeOpenAI
) -> None:
    play = scene(house, model, tool("gateway", PASS), dialect="active")
    play.plays([("doIt", ARGS)])
    with play.listening() as heard:
        run_id = _trigger(house, play)
        _until_done(house, play, 2)
        assert [play.so_far(ears, space_id) for space_id, ears in heard.items()] == [[], [], []]

    assert json.loads(play.told()) == ARGS
    assert all(play.ada.messages(space_id) == [] for space_id in play.spaces)
    warnings = [line for line in house.log.read_text().splitlines() if run_id in line]
    assert any("doIt" in line and "no active space" in line for line in warnings), warnings


@requirement("T-03")
def test_without_an_active_space_a_client_tool_fails(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, tool("space", {}), dialect="active")
    play.plays([("doIt", ARGS)])

    _trigger(house, play)
    _until_done(house, play, 2)

    assert play.told().startswith("Error: nobody can see this: there is no space to show it in")
    assert all(play.ada.messages(space_id) == [] for space_id in play.spaces)


@requirement("T-03")
def test_a_service_call_starts_in_no_space_and_a_message_in_its_own(
    house: Roomful, model: FakeOpenAI
) -> None:
    play = scene(house, model, tool("gateway", PASS), dialect="active")
    play.plays([("enter_space", {"spaceId": play.b}), ("doIt", ARGS)])
    with play.ada.listen(play.b) as ears:
        _trigger(house, play)
        ears.wait_for("run.completed")
    assert seen({"parts": play.bubble(play.b)}) == [("doIt", ARGS, ARGS)]
    assert "invoice" in model.requests[0].messages[-1]["content"]
    model.requests.clear()

    parts, _, _ = _shown(play, ("doIt", ARGS))

    assert parts == [("doIt", ARGS, ARGS)]


@requirement("T-05")
def test_an_http_tool_sends_what_its_author_wrote(house: Roomful, model: FakeOpenAI, api: Api) -> None:
    example = document("active-execution-http")
    made = tool("gateway", {**example, "url": f"http://{api.host}/data/{{{{input.query}}}}"})
    play = scene(house, model, made, dialect="active")
    before = len(api.requests)

    parts, told, _ = _shown(play, ("doIt", {"query": "a sun & moon"}))

    [asked] = api.requests[before:]
    assert (asked.method, asked.path) == ("POST", "/data/a%20sun%20%26%20moon")
    assert asked.body == {"query": "a sun & moon"}
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert told == {"path": asked.path, "key": "Bearer [secret]", "body": asked.body}
    assert parts == [("doIt", {"query": "a sun & moon"}, told)]


@requirement("T-05")
def test_an_http_tool_that_takes_too_long_fails(house: Roomful, model: FakeOpenAI, api: Api) -> None:
    made = tool("gateway", get(api) | {"timeout": 200})
    play = scene(house, model, made, dialect="active")
    api.gate = threading.Event()
    try:
        _, heard = play.runs([("doIt", ARGS)])
    finally:
        api.gate.set()
        api.gate = None

    assert play.told().startswith("Error: ")
    assert "0.2" in play.told()
    [part] = play.bubble(play.a)
    assert part["status"] == "error"
    assert "tool-call.error" in [event.name for event in heard[play.a]]


@requirement("T-05")
@pytest.mark.parametrize(
    ("url", "words"),
    [
        pytest.param("http://127.0.0.1:9/", "ROOMFUL_ALLOW_HOSTS", id="private address"),
        pytest.param("http://{host}/${{env.HOME}}", "HOME", id="variable that is not listed"),
    ],
)
def test_an_http_tool_reaches_and_reads_only_what_the_operator_listed(
    house: Roomful, model: FakeOpenAI, api: Api, url: str, words: str
) -> None:
    made = tool("gateway", {"url": url.format(host=api.host), "method": "GET"})
    play = scene(house, model, made, dialect="active")
    before = len(api.requests)

    play.runs([("doIt", ARGS)])

    assert play.told().startswith("Error: ")
    assert words in play.told()
    assert api.requests[before:] == []


EXPRESSION = {
    "type": "object",
    "properties": {"expression": {"type": "string"}, "prices": {"type": "array"}},
}


@requirement("T-08")
@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 + 3 * 4", 14),
        ("sum(prices) / 2", 3),
        ("prices[0] > 0 ? ['some'] : ['none']", ["some"]),
        ('{"total": sum(prices), "many": len(prices) > 2}', {"total": 6, "many": True}),
    ],
)
def test_compute_evaluates_arithmetic_and_data(
    house: Roomful, model: FakeOpenAI, expression: str, value: Any
) -> None:
    made = tool("gateway", document("active-execution-compute"), inputSchema=EXPRESSION)
    play = scene(house, model, made, dialect="active")
    args = {"expression": expression, "prices": [1, 2, 3]}

    parts, told, _ = _shown(play, ("doIt", args))

    assert told == value
    assert parts == [("doIt", args, value)]


@requirement("T-08")
@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('id')",
        "open('/etc/passwd').read()",
        "().__class__.__bases__[0].__subclasses__()",
        "[x for x in prices]",
        "(lambda: 1)()",
        "9 ** 9 ** 9 ** 9",
        "'a' * 10 ** 12",
    ],
)
def test_compute_is_never_python(house: Roomful, model: FakeOpenAI, expression: str) -> None:
    made = tool("gateway", document("active-execution-compute"), inputSchema=EXPRESSION)
    play = scene(house, model, made, dialect="active")

    play.runs([("doIt", {"expression": expression})], [("doIt", {"expression": "1 + 1"})])

    failed, worked = [m["content"] for m in model.requests[-1].messages if m["role"] == "tool"]
    assert failed.startswith("Error: ")
    assert "Traceback" not in failed
    assert worked == "2"


@requirement("T-11")
@pytest.mark.parametrize(
    ("execution", "output"),
    [
        pytest.param(document("active-execution-internal"), {"status": "ok"}, id="as in the document"),
        pytest.param({"output": [1, None]}, [1, None], id="any JSON"),
        pytest.param({}, None, id="no output"),
    ],
)
def test_an_internal_tool_gives_its_output_and_is_never_shown(
    house: Roomful, model: FakeOpenAI, execution: Any, output: Any
) -> None:
    play = scene(house, model, tool("internal", execution), dialect="active")

    parts, told, events = _shown(play, ("doIt", ARGS))

    assert (parts, told) == ([], output)
    assert "doIt" not in json.dumps([event.data for event in events])
    refused = _config(tools=[tool("internal", execution, display={"customUI": "X"})])
    assert "display" in house.admin.post("/api/agents", refused, expect=422)["detail"]


@requirement("T-14")
def test_a_visible_call_is_structured_and_its_content_mentions_nobody(
    house: Roomful, model: FakeOpenAI
) -> None:
    play = scene(house, model, tool("gateway", PASS), dialect="active")
    other = house.agent(f"other-{play.a}", openai(model.base_url))
    house.admin.post(f"/api/spaces/{play.a}/members", {"entityId": other}, expect=201)
    said = {"query": f"@{other} @{other.title()} please look"}
    play.plays([("doIt", said)])
    with play.ada.listen(play.a) as ears:
        play.ada.say(play.a, "go", mentions=[play.agent])
        ears.wait_for("run.completed")
        events = play.so_far(ears, play.a)

    [_, message] = play.ada.messages(play.a)
    assert (message["mentions"], seen(message)) == ([], [("doIt", said, said)])
    assert house.admin.get("/api/runs", params={"agentId": other})["runs"] == []
    assert {e.data["runId"] for e in events if e.name == "run.started"} == {message["runId"]}
    body = {"text": "what is this?", "replyTo": message["id"]}
    refused = play.ada.post(f"/api/spaces/{play.a}/messages", body, expect=422)
    assert "replyTo" in refused["detail"]
    assert len(play.ada.messages(play.a)) == 2


@requirement("T-16")
def test_a_display_only_tool_continues_and_an_interactive_one_pauses(
    house: Roomful, model: FakeOpenAI
) -> None:
    shows = tool("gateway", PASS, name="renderChart", visibility="visible")
    asks = tool("space", {}, name="getApproval", visibility="visible")
    play = scene(house, model, shows, asks, dialect="active")
    play.plays([("renderChart", ARGS)], [("getApproval", ARGS)])
    with play.ada.listen(play.a) as ears:
        run_id = play.begins()
        ears.wait_for("run.waiting_tool", runId=run_id)
        assert len(model.requests) == 2
        chart, approval = play.bubble(play.a)
        assert (chart["status"], approval["status"]) == ("complete", "waiting")

        answer(play.ada, run_id, approval["toolCallId"], "fine")

        ears.wait_for("run.completed", runId=run_id)
        assert seen({"parts": play.bubble(play.a)}) == [
            ("renderChart", ARGS, ARGS),
            ("getApproval", ARGS, "fine"),
        ]
        assert ears.names().count("run.waiting_tool") == 1


def _told_apart(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in part.items() if key not in ("id", "toolCallId", "runId")}
        for part in parts
    ]


@requirement("T-18")
def test_a_built_in_does_the_same_under_another_name(house: Roomful, model: FakeOpenAI) -> None:
    said: list[Any] = []
    for dialect, speak, read in (
        ("composite", "sendSpaceMessage", "readSpaceMessages"),
        ("active", "send_message", "read_messages"),
    ):
        play = scene(house, model, dialect=dialect)
        where = {"spaceId": play.a} if dialect == "composite" else {}
        _, heard = play.runs([(speak, where | {"text": "Hello"})], [(read, where)])
        names = [event.name for event in heard[play.a] if event.name != "text-delta"]
        read_back = [m["text"] for m in json.loads(play.told())["messages"]]
        said.append((_told_apart(play.bubble(play.a)), names, read_back))
        model.requests.clear()

    assert said[0] == said[1]
    assert said[0][2] == ["go", "Hello"]


@requirement("T-18")
@pytest.mark.parametrize(
    ("dialect", "name"),
    [("composite", "send_message"), ("active", "sendSpaceMessage"), ("display", "enter_space")],
)
def test_the_name_of_another_dialects_built_in_means_nothing(
    house: Roomful, model: FakeOpenAI, dialect: str, name: str
) -> None:
    kinds: dict[str, dict[str, Any]] = {
        "composite": {"executionType": "basic", "visibility": "full"},
        "active": {"executionType": "gateway"},
        "display": {"executionType": "basic", "displayTool": True},
    }
    properties = {"spaceId": {"type": "string"}, "text": {"type": "string"}}
    schema = {"type": "object", "properties": properties}
    made = {"name": name, "execution": PASS, "inputSchema": schema, **kinds[dialect]}
    play = scene(house, model, made, dialect=dialect)
    routing = {} if dialect == "active" else {"targetSpaceId": play.a}
    args = {"spaceId": play.b, "text": f"@{play.agent}"}

    parts, told, _ = _shown(play, (name, routing | args))

    assert (parts, told) == ([(name, args, args)], args)
    assert play.bubble(play.b) == []


SOURCE = Path(roomful.__file__).parent
BUILT_IN = {
    "sendSpaceMessage", "readSpaceMessages", "getMyRuns", "delegateToAgent", "skipResponse", "enter_space",
    "send_message", "send_reply", "read_messages", "stop_run", "set_goals", "delete_goals", "set_memories",
    "delete_memories", "set_plans", "delete_plans", "get_plans", "get_my_runs",
}  # fmt: skip


def branches_on_names(source: str) -> list[str]:
    """Comparisons and patterns with a tool's name in them: a known one, or `tool_name` with any literal."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        compared: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            compared = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            compared = [node.value]
        elif isinstance(node, ast.match_case):
            continue
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            compared = [node.func.value, *node.args] if node.func.attr in ("startswith", "endswith") else []
        inner = [part for one in compared for part in ast.walk(one)]
        literals = {part.value for part in inner if isinstance(part, ast.Constant)} - {None}
        is_a_name = any(isinstance(part, ast.Attribute) and part.attr == "tool_name" for part in inner)
        if literals & BUILT_IN or (is_a_name and any(isinstance(value, str) for value in literals)):
            found.append(ast.unparse(node))
    return found


@requirement("T-18")
def test_no_source_file_branches_on_a_tools_name() -> None:
    found = {
        str(path.relative_to(SOURCE)): branches
        for path in SOURCE.rglob("*.py")
        if "newproject" not in path.parts  # that are files for somebody's own agent and its tests
        if (branches := branches_on_names(path.read_text(encoding="utf-8")))
    }

    assert found == {}


@requirement("T-18")
@pytest.mark.parametrize(
    ("source", "count"),
    [
        ('if name == "sendSpaceMessage": pass', 1),
        ('if tool.name in ("enter_space", "x"): pass', 1),
        ('if call.tool_name != "mine": pass', 1),
        ('match name:\n    case "stop_run": pass', 1),
        ('if call.tool_name.startswith("mcp_"): pass', 1),
        ("if call.tool_name == name: pass", 0),
        ('operations = {"enter_space": 1}', 0),
    ],
)
def test_a_branch_on_a_tools_name_would_be_found(source: str, count: int) -> None:
    assert len(branches_on_names(source)) == count


WHOLE = {
    "name": "doIt",
    "description": "Does it.",
    "inputSchema": SCHEMA,
    "executionType": "gateway",
    "visibility": "visible",
    "execution": {"url": "https://api.example.com/data", "method": "GET", "timeout": 30000},
    "display": {"customUI": "component-name"},
}
EXPRESSED = {"type": "object", "properties": {"query": {"type": "string"}, "expression": {"type": "string"}}}


@requirement("T-04")
@pytest.mark.parametrize(
    "made",
    [
        pytest.param(WHOLE, id="every field"),
        pytest.param(document("active-visible-tool"), id="visible tool"),
        *(
            pytest.param(
                tool(kind, document(f"active-execution-{name}"), inputSchema=EXPRESSED), id=f"{kind} {name}"
            )
            for kind, name in (
                ("gateway", "http"),
                ("gateway", "compute"),
                ("external", "webhook"),
                ("space", "space"),
                ("internal", "internal"),
            )
        ),
        pytest.param(
            tool("gateway", document("active-execution-image"), inputSchema={"properties": {"prompt": {}}}),
            id="gateway image",
        ),
    ],
)
def test_a_tool_is_accepted_as_the_document_spells_it(house: Roomful, made: dict[str, Any]) -> None:
    config = {"name": "Accepted", "model": "scripted:x", "dialect": "active", "tools": [made]}

    agent = house.admin.post("/api/agents", config, expect=201)

    assert agent["config"]["tools"] == [made]
    assert house.admin.get(f"/api/agents/{agent['id']}")["config"]["tools"] == [made]


@requirement("T-04")
@pytest.mark.parametrize(
    ("change", "named"),
    [
        pytest.param({"colour": "red"}, "colour", id="unknown field"),
        pytest.param({"parameters": {}}, "inputSchema", id="another name"),
        pytest.param({"display": {"format": "text"}}, "format", id="unknown field inside display"),
        pytest.param({"execution": {"url": "https://x.example", "retries": 3}}, "retries", id="in execution"),
        pytest.param(
            {"execution": {"url": "https://x.example", "provider": "x"}}, "provider", id="two kinds"
        ),
        pytest.param({"displayTool": True}, "displayTool", id="another dialect"),
        pytest.param({"executionType": None}, "executionType", id="no kind"),
        pytest.param({"name": "no good name!"}, "name", id="bad name"),
        pytest.param({"inputSchema": {"type": "array"}}, "inputSchema", id="no object"),
    ],
)
def test_a_field_that_is_unknown_or_contradicts_is_refused_by_name(
    house: Roomful, change: dict[str, Any], named: str
) -> None:
    refused = house.admin.post("/api/agents", _config(tools=[WHOLE | change]), expect=422)

    assert refused["code"] == "invalid"
    assert named in refused["detail"]
    house.admin.get("/api/agents/refused", expect=404)


@requirement("T-04")
def test_the_url_of_an_image_is_that_of_a_blob(house: Roomful, model: FakeOpenAI) -> None:
    schema = {"type": "object", "properties": {"prompt": {"type": "string"}}}
    play = scene(house, model, tool("gateway", DRAW, inputSchema=schema), dialect="active")

    parts, told, _ = _shown(play, ("doIt", {"prompt": "sun"}))

    [image] = told["images"]
    assert image["url"].startswith("/api/blobs/")
    assert parts == [("doIt", {"prompt": "sun"}, told)]


@requirement("T-04")
def test_a_built_schema_contains_the_documented_one(house: Roomful, model: FakeOpenAI) -> None:
    made, built = document("display-image-tool"), document("display-image-tool-built")
    play = scene(house, model, made)

    play.runs()

    offered = play.offered()["generateImage"]["parameters"]
    wanted = built["inputSchema"]
    assert (offered["type"], offered["required"]) == (wanted["type"], wanted["required"])
    assert offered["properties"].keys() == wanted["properties"].keys()
    for name, schema in wanted["properties"].items():
        given = offered["properties"][name]
        assert given["type"] == schema["type"]
        assert given["description"].startswith(schema["description"])
