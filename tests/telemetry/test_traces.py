"""What a collector of traces is told: the tree of what happened, and nothing of what was said."""

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from roomful.app.tracing import find_tracer
from roomful.domain.errors import Invalid
from tests.servers.collector import Collector, Span
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, call, status, text, usage
from tests.servers.mcp_server import McpHttpServer
from tests.servers.roomful import Caller, Roomful, openai
from tests.servers.watched import wait_until

CANARY = "cnry"
"""In every word, argument, result and secret of these stories."""
ABOVE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
POST = "POST /api/spaces/{id}/messages"


class Service(http.server.ThreadingHTTPServer):
    """Answers with a canary, or as the one behind it does, and keeps the traceparents that it was sent."""

    def __init__(self, behind: str = "") -> None:
        self.named: list[str | None] = []
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if b"initialize" not in body and b"tools/list" not in body and b"discover" not in body:
                    service.named.append(self.headers.get("traceparent"))
                status, said = 200, json.dumps({"said": f"{CANARY}-result"}).encode()
                if behind:
                    kept = {n: v for n, v in self.headers.items() if n.lower() not in ("host", "connection")}
                    answer = httpx.post(behind, content=body, headers=kept)
                    status, said = answer.status_code, answer.content
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(said)))
                    self.end_headers()
                    self.wfile.write(said)

            def log_request(self, *_: object, **__: object) -> None:
                """Quiet."""

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def pair(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    def tool(self, name: str) -> dict[str, Any]:
        return {
            "name": name,
            "description": "Send.",
            "executionType": "http",
            "execution": {
                "url": f"http://{self.pair}/{CANARY}",
                "method": "POST",
                "headers": {"x-key": "${env.CANARY_KEY}"},
            },
            "inputSchema": {"type": "object", "properties": {"what": {"type": "string"}}},
        }


@contextlib.contextmanager
def serving(behind: str = "") -> Iterator[Service]:
    with Service(behind) as service:
        thread = threading.Thread(target=service.serve_forever, daemon=True)
        thread.start()
        yield service
        service.shutdown()
        thread.join(30)


ASK = {
    "name": "ask",
    "description": "Ask the helper.",
    "executionType": "ai-agent",
    "execution": {"agentId": "helper"},
}


def boss_and_helper(asked: Asked) -> Answer:
    """The boss reaches a service, asks the helper and says so; the helper reaches another service."""
    results = sum(message["role"] == "tool" for message in asked.messages)
    if "You are helper" in asked.messages[0]["content"]:
        return Answer(call("hush", {"what": f"{CANARY}-arg"}) if not results else text(f"{CANARY}-found"))
    if results == 0:
        return Answer([*call("reach", {"what": f"{CANARY}-arg"}), usage(7, 3)])
    return Answer(call("ask", {"prompt": f"{CANARY}-prompt"}) if results == 1 else text(f"{CANARY}-done"))


def test_a_run_with_a_tool_and_a_sub_agent_is_one_tree(tmp_path: Path) -> None:
    with (
        Collector() as collector,
        serving() as listed,
        serving() as unlisted,
        FakeOpenAI(boss_and_helper) as model,
        Roomful(
            tmp_path,
            **collector.environment,
            CANARY_KEY=f"{CANARY}-key",
            ROOMFUL_TOOL_ENV="CANARY_KEY",
            ROOMFUL_ALLOW_HOSTS=f"{listed.pair},{unlisted.pair}",
            ROOMFUL_TRACE_HOSTS=listed.pair,
        ) as house,
    ):
        ada = house.person("ada")
        house.agent("helper", openai(model.base_url), unlisted.tool("hush"), instructions="You are helper.")
        house.agent("boss", openai(model.base_url), listed.tool("reach"), ASK, instructions="You are boss.")
        house.space("room", "ada", "boss")
        house.space("den", "helper")
        run_id = run_to_its_end(ada, traceparent=ABOVE)
        assert house.terminate() == 0
        [root] = [span for span in collector.roots() if span.name == POST]
        raw = b"".join(collector.raw)
    helper = ("run helper", [("model helper", []), ("tool hush", []), ("model helper", [])])
    assert root.tree() == (
        POST,
        [
            (
                "run boss",
                [("model boss", []), ("tool reach", []), ("model boss", []), ("tool ask", [helper])],
            ),
            ("run boss", [("model boss", [])]),
        ],
    )
    assert (root.trace_id, root.parent_id) == (ABOVE[3:35], ABOVE[36:52])
    spans = below(root)
    assert {span.trace_id for span in spans} == {root.trace_id}
    assert {span.service for span in spans} == {"roomful"}
    [reach] = [span for span in spans if span.label == "reach"]
    assert listed.named == [f"00-{root.trace_id}-{reach.id}-01"]
    assert unlisted.named == [None]
    asked = spans[2]
    assert asked.facts.pop("roomful.first_seconds") >= 0
    assert asked.facts == {
        "roomful.run.id": run_id,
        "roomful.agent.id": "boss",
        "roomful.space.id": "room",
        "roomful.step": 0,
        "gen_ai.request.model": "openai:fake",
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 3,
    }
    assert reach.facts["roomful.executor"] == "http"
    assert reach.facts["roomful.outcome"] == "done"
    assert CANARY.encode() not in raw


def test_what_fails_is_told_by_its_code_alone(tmp_path: Path, model: FakeOpenAI) -> None:
    with Collector() as collector, Roomful(tmp_path, **collector.environment) as house:
        ada = house.person("ada")
        house.agent("boss", openai(model.base_url))
        house.space("room", "ada", "boss")
        model.answer(status(400, f"{CANARY} is wrong"))
        run_to_its_end(ada, "run.failed", traceparent="00-nonsense")
        assert ada.request("POST", f"/api/spaces/{CANARY}/messages", {"text": "x"}).status_code == 404
        assert house.terminate() == 0
        [root, refused] = [span for span in collector.roots() if span.name == POST]
        raw = b"".join(collector.raw)
    assert root.parent_id == ""
    assert refused.facts == {"http.route": POST.split()[1], "http.response.status_code": 404}
    _, run, step = below(root)
    assert (run.has_failed, run.code) == (step.has_failed, step.code) == (True, "model_rejected")
    assert run.facts["roomful.run.status"] == "failed"
    assert CANARY.encode() not in raw


def test_an_mcp_server_is_told_of_each_call_by_itself(tmp_path: Path, model: FakeOpenAI) -> None:
    with (
        Collector() as collector,
        McpHttpServer(tmp_path, "json") as server,
        serving(server.url) as service,
    ):
        given = {"name": "city", "url": f"http://{service.pair}/mcp", "allowedTools": ["weather"]}
        agents = tmp_path / "agents"
        agents.mkdir()
        config = {"id": "boss", "name": "Boss", "model": openai(model.base_url), "mcp": {"servers": [given]}}
        (agents / "boss.json").write_text(json.dumps(config))
        allowed = {"ROOMFUL_ALLOW_HOSTS": service.pair, "ROOMFUL_TRACE_HOSTS": service.pair}
        with Roomful(tmp_path, "--agents", str(agents), **allowed, **collector.environment) as house:
            ada = house.person("ada")
            house.space("room", "ada", "boss")
            for city in ("Rome", "Oslo"):
                model.answer(Answer(call("city_weather", {"city": city})), Answer(text("Done.")))
                run_to_its_end(ada)
            assert house.terminate() == 0
        called = [span for span in collector.spans if span.label == "city_weather"]
    assert len(called) == 2
    assert service.named == [f"00-{span.trace_id}-{span.id}-01" for span in called]


def test_spans_are_sent_while_the_gateway_runs(tmp_path: Path, model: FakeOpenAI) -> None:
    with Collector() as collector, Roomful(tmp_path, **collector.environment) as house:
        house.person("ada")
        wait_until(lambda: any(span.name == "POST /api/entities" for span in collector.spans))


def test_a_collector_that_is_away_stops_nobody(tmp_path: Path, model: FakeOpenAI) -> None:
    away = {"ROOMFUL_TRACES": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    with Roomful(tmp_path, **away) as house:
        ada = house.person("ada")
        house.agent("boss", openai(model.base_url))
        house.space("room", "ada", "boss")
        model.answer(Answer(text("Done.")))
        run_to_its_end(ada)
        assert house.terminate() == 0


def test_without_the_extra_the_operator_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "roomful.telemetry", None)
    with pytest.raises(Invalid, match=r"pip install 'roomful\[telemetry\]'"):
        find_tracer("otlp")


def run_to_its_end(ada: Caller, end: str = "run.completed", **headers: str) -> str:
    with ada.listen("room") as ears:
        said = ada.request("POST", "/api/spaces/room/messages", {"text": f"{CANARY}-said"}, headers=headers)
        run_id = said.json()["runs"][0]["runId"]
        ears.wait_for(end, runId=run_id)
    return run_id


def below(span: Span) -> list[Span]:
    return [span, *(inner for child in span.children for inner in below(child))]
