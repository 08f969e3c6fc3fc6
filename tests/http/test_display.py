"""Display tools: a call is seen in the space it names, and is silent without one."""

import http.server
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import pytest

from tests.http.shopping import seen
from tests.http.test_routing_tables import answer
from tests.http.test_visibility import Scene, of_calls, scene
from tests.requirements import requirement
from tests.servers.fake_openai import Answer, FakeOpenAI, call, hold, text
from tests.servers.roomful import Roomful, fold, openai
from tests.tools.documents import document

KEY = "s3cr3t-weather-k3y"


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: Any


class Api:
    """An HTTP API on loopback that remembers what it was asked and repeats it, the credentials too."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.gate: threading.Event | None = None
        """Nothing is answered before it is set."""
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                content = self.rfile.read(int(self.headers.get("content-length", "0")))
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Request(self.command, self.path, headers, json.loads(content) if content else None)
                api.requests.append(asked)
                if api.gate is not None:
                    api.gate.wait(30)
                repeated = {"path": asked.path, "key": headers.get("authorization"), "body": asked.body}
                data = json.dumps(repeated).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = answer  # noqa: N815

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with Api() as api:
        yield api


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, api: Api) -> Iterator[Roomful]:
    environment = {"ROOMFUL_ALLOW_HOSTS": api.host, "ROOMFUL_TOOL_ENV": "WEATHER_KEY", "WEATHER_KEY": KEY}
    with Roomful(tmp_path_factory.mktemp("house"), **environment) as house:
        yield house


APPROVAL = document("display-case-2-approval")
CHART = document("display-case-4-chart")
BUDGET = {"amount": 50000, "reason": "Q4 campaign"}
BARS = {"type": "bar", "data": [1, 2, 3], "title": "Q4 Revenue"}


def weather(api: Api, **more: Any) -> dict[str, Any]:
    """The document's tool, with a server that can be reached from here."""
    tool = document("display-case-3-request")
    url = tool["execution"]["url"].replace("https://api.weather.com", f"http://{api.host}")
    headers = {"Authorization": "Bearer ${env.WEATHER_KEY}"}
    return {**tool, "execution": {**tool["execution"], "url": url, "headers": headers}, **more}


def _without(key: str, tool: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in tool.items() if name != key}


def _seen(play: Scene) -> dict[str, list[Any]]:
    """What stands in the spaces where the agent said something."""
    said = {space_id: seen({"parts": play.bubble(space_id)}) for space_id in play.spaces}
    return {space_id: parts for space_id, parts in said.items() if parts}


@requirement("D-01")
@pytest.mark.parametrize(
    "name",
    ["display-case-2-approval", "display-case-4-chart", "display-chart-tool-short", "display-image-tool"],
)
def test_a_display_tool_gets_an_optional_target_in_front(
    house: Roomful, model: FakeOpenAI, name: str
) -> None:
    tool = document(name)
    play = scene(house, model, tool)

    play.runs()

    parameters = play.offered()[tool["name"]]["parameters"]
    target, *own = parameters["properties"]
    assert (target, own) == ("targetSpaceId", list(tool["inputSchema"]["properties"]))
    assert parameters.get("required", []) == tool["inputSchema"].get("required", [])
    given, wanted = parameters["properties"][target], document("display-injected-parameter")[target]
    assert given["type"] == wanted["type"]
    assert given["description"].startswith(wanted["description"])
    assert house.admin.get(f"/api/agents/{play.agent}")["config"]["tools"] == [tool]


@requirement("D-01")
@pytest.mark.parametrize("flag", [{}, {"displayTool": False}], ids=["absent", "false"])
def test_without_display_tool_nothing_is_injected_and_nothing_shows(
    house: Roomful, model: FakeOpenAI, flag: dict[str, bool]
) -> None:
    tool: dict[str, Any] = _without("displayTool", CHART) | flag
    play = scene(house, model, tool, dialect="display")

    _, heard = play.runs([("showChart", BARS)])

    offered = play.offered()["showChart"]["parameters"]
    assert list(offered["properties"]) == list(tool["inputSchema"]["properties"])
    assert [event for events in heard.values() for event in of_calls(events)] == []
    assert _seen(play) == {}
    assert json.loads(play.told()) == BARS


@requirement("D-10", "D-02")
def test_a_chart_with_a_target_is_shown_there_and_the_run_goes_on(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, CHART)

    run_id, heard = play.runs([("showChart", {"targetSpaceId": play.b, **BARS})])

    assert _seen(play) == {play.b: [("showChart", BARS, BARS)]}
    assert json.loads(play.told()) == BARS
    assert "run.waiting_tool" not in {event.name for events in heard.values() for event in events}
    assert of_calls(heard[play.a]) == of_calls(heard[play.c]) == []
    assert fold(heard[play.b]) == play.ada.messages(play.b)
    assert play.bob.messages(play.b)[0]["runId"] == run_id


@requirement("D-10", "D-02")
def test_a_chart_without_a_target_is_silent(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, CHART)

    _, heard = play.runs([("showChart", BARS)])

    assert json.loads(play.told()) == BARS
    assert [event for events in heard.values() for event in of_calls(events)] == []
    assert _seen(play) == {}


@requirement("D-10")
def test_the_same_chart_goes_to_several_spaces_with_separate_calls(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, CHART)

    play.runs([("showChart", {"targetSpaceId": space_id, **BARS}) for space_id in (play.b, play.c)])

    assert _seen(play) == {play.b: [("showChart", BARS, BARS)], play.c: [("showChart", BARS, BARS)]}


@requirement("D-02", "D-08", "D-14")
@pytest.mark.parametrize("has_target", [True, False], ids=["target", "no target"])
@pytest.mark.parametrize("key", ["toolCallId", "callId"])
def test_an_approval_form_is_answered_where_it_shows(
    house: Roomful, model: FakeOpenAI, has_target: bool, key: str
) -> None:
    play = scene(house, model, APPROVAL)
    where = play.b if has_target else play.a
    routing = {"targetSpaceId": play.b} if has_target else {}
    play.plays([("showApprovalForm", routing | BUDGET)])
    with play.listening() as heard:
        run_id = play.begins()
        heard[where].wait_for("run.waiting_tool", runId=run_id)
        [waiting] = play.bubble(where)
        assert house.admin.get(f"/api/runs/{run_id}")["status"] == "waiting_tool"

        result = {"approved": True, "approvedBy": "Ahmad"}
        body = {key: waiting["toolCallId"], "result": result}
        accepted = play.ada.post(f"/api/runs/{run_id}/tool-results", body)

        assert accepted == {"status": "accepted"}
        heard[where].wait_for("tool-call.complete", toolCallId=waiting["toolCallId"], output=result)
        heard[where].wait_for("run.completed", runId=run_id)
        assert _seen(play) == {where: [("showApprovalForm", BUDGET, result)]}
        assert json.loads(play.told()) == result
        assert fold(heard[where].events) == play.ada.messages(where)
        for space_id in {*play.spaces} - {where}:
            assert of_calls(play.so_far(heard[space_id], space_id)) == []


@requirement("D-02")
def test_a_form_with_no_space_at_all_fails_at_once(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, APPROVAL)
    silent = call("getMyRuns", {})
    form = Answer(call("showApprovalForm", BUDGET))
    model.answer(Answer([*silent, hold()]), form, Answer(text("ok")))
    run_id = play.begins()
    model.wait_for_requests(1)
    house.admin.call("DELETE", f"/api/spaces/{play.a}/members/{play.agent}", expect=204)
    with play.ada.listen(play.a) as ears:
        model.release()
        ears.wait(lambda events: any(event.name == "run.completed" for event in events))

    assert play.told() == (
        "Error: nobody can see this: there is no space to show it in; name one of your spaces"
    )
    assert house.admin.get(f"/api/runs/{run_id}")["status"] == "completed"
    assert _seen(play) == {}


@requirement("D-06")
def test_a_stored_part_has_the_fields_of_the_documents(house: Roomful, model: FakeOpenAI) -> None:
    image = document("display-case-1-image") | {
        "executionType": "basic",
        "execution": {"mode": "static", "output": {"success": True, "images": [{"url": "/api/blobs/x"}]}},
    }
    play = scene(house, model, image, APPROVAL)
    [complete] = document("display-message-complete")["parts"]
    [waiting] = document("display-message-waiting")["parts"]
    play.plays(
        [
            ("generateImage", {"targetSpaceId": play.b, **complete["args"]}),
            ("showApprovalForm", {"targetSpaceId": play.b, **waiting["args"]}),
        ]
    )
    with play.ada.listen(play.b) as ears:
        run_id = play.begins()
        ears.wait_for("run.waiting_tool", runId=run_id)
        drawn, asked = play.bubble(play.b)

    drawn_ids = {key: drawn[key] for key in ("id", "toolCallId", "runId")}
    result = {"success": True, "images": [{"url": "/api/blobs/x"}]}
    assert drawn == complete | {"result": result} | drawn_ids
    asked_ids = {key: asked[key] for key in ("id", "toolCallId", "runId")}
    assert asked == waiting | asked_ids | {"asks": "answer"}
    assert drawn["runId"] == asked["runId"] == run_id
    assert drawn["toolCallId"] != asked["toolCallId"]


@requirement("D-11")
@pytest.mark.parametrize(
    ("tool", "component"),
    [
        pytest.param(CHART, "Chart", id="both"),
        pytest.param(_without("display", CHART), None, id="displayTool alone"),
        pytest.param(_without("displayTool", APPROVAL), "ApprovalForm", id="customUI alone"),
    ],
)
def test_custom_ui_and_display_tool_are_independent(
    house: Roomful, model: FakeOpenAI, tool: dict[str, Any], component: str | None
) -> None:
    is_display = "displayTool" in tool
    play = scene(house, model, tool, dialect="display")
    args: dict[str, Any] = {"targetSpaceId": play.a, **BARS} if is_display else BUDGET
    play.plays([(tool["name"], args)])
    with play.ada.listen(play.a) as ears:
        play.begins()
        start = ears.wait_for("tool-call.start").data
        ears.wait_for("run.completed" if is_display else "run.waiting_tool")
        [part] = play.bubble(play.a)

    assert part.get("customUI") == start.get("customUI") == component
    assert ("targetSpaceId" in play.offered()[tool["name"]]["parameters"]["properties"]) is is_display


@requirement("D-09", "D-03")
@pytest.mark.parametrize("has_target", [True, False], ids=["target", "no target"])
def test_a_request_reaches_the_api_and_its_key_stays_in_the_house(
    house: Roomful, model: FakeOpenAI, api: Api, has_target: bool
) -> None:
    play = scene(house, model, weather(api))
    routing = {"targetSpaceId": play.b} if has_target else {}
    before = len(api.requests)

    run_id, heard = play.runs([("fetchWeatherData", routing | {"city": "New York"})])

    [asked] = api.requests[before:]
    assert (asked.method, asked.path) == ("GET", "/v1/current?city=New%20York")
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    result = {"path": "/v1/current?city=New%20York", "key": "Bearer [secret]", "body": None}
    assert json.loads(play.told()) == result
    shown = {play.b: [("fetchWeatherData", {"city": "New York"}, result)]}
    assert _seen(play) == (shown if has_target else {})
    if not has_target:
        assert [event for events in heard.values() for event in of_calls(events)] == []
    _is_nowhere(KEY, house, model, heard, house.admin.get(f"/api/runs/{run_id}"))


def _is_nowhere(secret: str, house: Roomful, model: FakeOpenAI, heard: Any, run: Any) -> None:
    events = [event.data for events in heard.values() for event in events]
    asked = [[request.body, request.headers] for request in model.requests]
    agents = house.admin.get("/api/agents")
    assert secret not in json.dumps([events, asked, run, agents])
    files = [path for path in house.folder.iterdir() if path.is_file()]
    assert house.log in files
    assert any(path.name == "roomful.db" for path in files)
    for path in files:
        assert secret.encode() not in path.read_bytes(), path.name


@requirement("D-03")
def test_a_target_takes_no_part_in_interpolation(house: Roomful, model: FakeOpenAI, api: Api) -> None:
    tool = weather(api)
    posting = {"url": f"http://{api.host}/all", "method": "POST"}
    play = scene(house, model, tool | {"execution": posting})
    before = len(api.requests)

    play.runs([("fetchWeatherData", {"targetSpaceId": play.b, "city": "Oslo"})])

    [asked] = api.requests[before:]
    assert (asked.method, asked.body) == ("POST", {"city": "Oslo"})
    assert play.b not in json.dumps([asked.path, asked.headers, asked.body])
    url = tool["execution"]["url"] + "&space={{targetSpaceId}}"
    config = {"id": f"refused-{play.a}", "name": "R", "model": "scripted:x", "tools": [
        tool | {"execution": {**tool["execution"], "url": url}}
    ]}  # fmt: skip
    refused = house.admin.post("/api/agents", config, expect=422)
    assert "{{targetSpaceId}}" in refused["detail"]


@requirement("D-15")
@pytest.mark.parametrize("name", ["fetchWeatherData", "showApprovalForm"])
def test_a_space_that_the_agent_is_not_in_fails_the_call_before_execution(
    house: Roomful, model: FakeOpenAI, api: Api, name: str
) -> None:
    play = scene(house, model, weather(api), APPROVAL)
    closed = house.space(f"closed-{play.a}", play.ada.id)
    args = {"city": "Rome"} if name == "fetchWeatherData" else BUDGET
    before = len(api.requests)
    with play.ada.listen(closed) as ears:
        run_id, heard = play.runs([(name, {"targetSpaceId": closed, **args})])
        elsewhere = play.so_far(ears, closed)

    spaces = ", ".join(sorted(play.spaces))
    assert play.told() == f"Error: there is no space '{closed}' that you are in; your spaces: {spaces}"
    assert api.requests[before:] == []
    assert elsewhere == []
    assert [event for events in heard.values() for event in of_calls(events)] == []
    assert play.ada.messages(closed) == []
    assert house.admin.get(f"/api/runs/{run_id}")["status"] == "completed"


@requirement("D-13")
def test_another_agent_reads_a_tool_call_with_its_input_and_output(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, CHART)
    play.runs([("showChart", {"targetSpaceId": play.b, **BARS})])
    other = house.agent(f"other-{play.a}", openai(model.base_url))
    house.space(f"d-{play.a}", play.ada.id, other)
    house.admin.post(f"/api/spaces/{play.b}/members", {"entityId": other}, expect=201)
    play.plays([("readSpaceMessages", {"spaceId": play.b})])

    with play.ada.listen(f"d-{play.a}") as ears:
        play.ada.say(f"d-{play.a}", "what is in the chart?")
        ears.wait_for("run.completed")

    [message] = json.loads(play.told())["messages"]
    assert message["from"] == play.agent
    whole = json.dumps(message)
    assert "showChart" in whole
    assert whole.count("Q4 Revenue") == 2


@requirement("D-14")
@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param({"result": 1}, 422, id="no call"),
        pytest.param({"toolCallId": "call_x", "result": 1}, 404, id="no such call"),
        pytest.param({"toolCallId": "call_x"}, 422, id="no result"),
    ],
)
def test_a_result_for_no_call_is_refused(
    house: Roomful, model: FakeOpenAI, body: dict[str, Any], status: int
) -> None:
    play = scene(house, model, APPROVAL)
    run_id, _ = play.runs()

    refused = play.ada.post(f"/api/runs/{run_id}/tool-results", body, expect=status)

    assert refused["detail"]
    play.bob.post(f"/api/runs/{run_id}/tool-results", body, expect=404)
    answer(play.ada, "run_nothing", "call_x", 1, expect=404)


@requirement("D-14")
def test_a_call_is_answered_under_its_own_run_only(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, APPROVAL)
    play.plays([("showApprovalForm", BUDGET)], [("showApprovalForm", BUDGET)])
    with play.listening() as heard:
        first, second = play.begins(), play.begins()
        for run_id in (first, second):
            heard[play.a].wait_for("run.waiting_tool", runId=run_id)
        [waiting] = house.admin.get(f"/api/runs/{first}")["pendingToolCalls"]

        answer(play.ada, second, waiting["toolCallId"], {"approved": True}, expect=404)
        answer(play.ada, first, waiting["toolCallId"], {"approved": True})
        heard[play.a].wait_for("run.completed", runId=first)


IMAGE = document("display-case-1-image")
SUNSET = {"prompt": "a sunset over mountains"}


@requirement("D-07")
@pytest.mark.parametrize("has_target", [True, False], ids=["target", "no target"])
def test_an_image_is_drawn_where_the_call_says(house: Roomful, model: FakeOpenAI, has_target: bool) -> None:
    play = scene(house, model, IMAGE | {"execution": {"provider": "builtin", "quality": "hd"}})
    routing = {"targetSpaceId": play.b} if has_target else {}

    _, heard = play.runs([("generateImage", routing | SUNSET)])

    result = json.loads(play.told())
    [image] = result["images"]
    assert result["success"] is True
    assert image["url"].startswith("/api/blobs/")
    if has_target:
        assert _seen(play) == {play.b: [("generateImage", SUNSET, result)]}
        [part] = play.bubble(play.b)
        assert part["customUI"] == "ImageResult"
        drawn = play.bob.request("GET", image["url"])
        assert (drawn.status_code, drawn.headers["content-type"]) == (200, "image/png")
    else:
        assert _seen(play) == {}
        assert [event for events in heard.values() for event in of_calls(events)] == []
        assert play.ada.request("GET", image["url"]).status_code == 404


@requirement("D-07")
def test_an_image_provider_without_its_key_says_so_on_the_card(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, IMAGE)

    play.runs([("generateImage", {"targetSpaceId": play.b, **SUNSET})])

    [part] = play.bubble(play.b)
    assert (part["status"], part["args"]) == ("error", SUNSET)
    assert "dall-e" in part["error"]
    assert play.told() == f"Error: {part['error']}"
