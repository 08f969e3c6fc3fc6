"""Two hundred secrets that tools send and services say again: nobody else ever reads one of them."""

import base64
import contextlib
import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.servers.collector import Collector
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, call, text
from tests.servers.roomful import ADMIN_KEY, Caller, Listener, Roomful, openai

SECRETS = [f"cnry{number:03}/+&={number * 7919 % 100_003:05}ZyX" for number in range(200)]
EACH = 20
WAYS = ("plain", "base64", "url", "hex", "failed")


def forms(secret: str) -> tuple[str, ...]:
    encoded = base64.b64encode(secret.encode()).decode().rstrip("=")
    return secret, encoded, quote(secret, safe=""), secret.encode().hex()


FORMS = [form for secret in SECRETS for form in forms(secret)]


class Parrot(http.server.ThreadingHTTPServer):
    """Says again what it was sent, in the way that the path names."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        parrot = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length", "0")))
                values = [value for name, value in self.headers.items() if name.startswith("x-secret")]
                parrot.heard += values
                way = WAYS.index(self.path.removeprefix("/"))
                said = json.dumps({"said": [forms(value)[way % 4] for value in values]}).encode()
                with contextlib.suppress(OSError):
                    self.send_response(500 if way == 4 else 200)
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


@pytest.fixture
def parrot() -> Iterator[Parrot]:
    with Parrot() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join(30)


def tools(parrot: Parrot) -> list[dict[str, Any]]:
    """Ten tools with twenty secrets each: half of them by reference, half in the configuration itself."""
    made: list[dict[str, Any]] = []
    for number in range(len(SECRETS) // EACH):
        numbers = range(number * EACH, number * EACH + EACH)
        values = [f"${{env.CANARY_{n}}}" if n < 100 else SECRETS[n] for n in numbers]
        headers = {f"x-secret-{n}": value for n, value in zip(numbers, values, strict=True)}
        url = f"http://{parrot.pair}/{WAYS[number % 5]}"
        execution = {"url": url, "method": "POST", "headers": headers}
        schema = {"type": "object", "properties": {}}
        tool = {
            "name": f"tool{number}",
            "description": "Send.",
            "executionType": "http",
            "visibility": "full",
        }
        made.append({**tool, "execution": execution, "inputSchema": schema})
    return made


def caller_of_all(asked: Asked) -> Answer:
    if asked.messages[-1]["role"] == "tool":
        return Answer(text("ok"))
    calls = [call(f"tool{n}", {}, index=n, id=f"c{n}") for n in range(len(SECRETS) // EACH)]
    return Answer([piece for each in calls for piece in each])


def test_no_secret_is_in_any_sink(tmp_path: Path, parrot: Parrot) -> None:
    names = {f"CANARY_{number}": SECRETS[number] for number in range(100)}
    environment = {**names, "ROOMFUL_TOOL_ENV": ",".join(names), "ROOMFUL_ALLOW_HOSTS": parrot.pair}
    environment |= {"ROOMFUL_TRACE_HOSTS": parrot.pair, "ROOMFUL_LOG_FORMAT": "json"}
    with (
        Collector() as collector,
        FakeOpenAI(caller_of_all) as model,
        Roomful(tmp_path, **environment, **collector.environment) as house,
    ):
        ada = house.person("ada")
        house.agent("teller", openai(model.base_url), *tools(parrot))
        house.space("room", "ada:owner", "teller")
        with ada.listen("room") as ears, Listener(ada, "/api/stream") as mine:
            mine.wait_for("snapshot")
            run = ada.say("room", "go")["runs"][0]["runId"]
            ears.wait_for("run.completed", runId=run)
            streams = json.dumps([event.data for event in [*ears.events, *mine.events]])
        assert set(parrot.heard) == set(SECRETS)
        sinks = {
            "streams": streams,
            "model": json.dumps([request.body for request in model.requests]),
            **read_everything(house.admin, ada, run),
            "story": exported(house, tmp_path),
        }
        assert sinks["model"].count("[secret]") >= 4 * len(SECRETS) // 5
        assert house.terminate() == 0
        sinks["traces"] = b"".join(collector.raw).decode("latin-1")
        assert len([span for span in collector.spans if span.name == "tool"]) == len(SECRETS) // EACH
    for path in tmp_path.rglob("*"):
        if path.is_file():
            sinks[str(path)] = path.read_bytes().decode("latin-1")
    assert any(name.endswith("roomful.db") for name in sinks)
    assert {name for name, said in sinks.items() if any(form in said for form in FORMS)} == set()


def read_everything(admin: Caller, ada: Caller, run: str) -> dict[str, str]:
    paths = ("/api/spaces/room/messages", f"/api/runs/{run}", f"/api/runs/{run}/inspection", "/api/agents")
    paths += (
        "/api/agents/teller",
        "/metrics",
        "/api/search?q=cnry",
        "/api/chat?threadId=room",
        "/openapi.json",
    )
    said = {f"admin {path}": admin.request("GET", path).text for path in paths}
    return said | {f"ada {path}": ada.request("GET", path).text for path in paths}


def exported(house: Roomful, folder: Path) -> str:
    story = folder / "story.jsonl"
    command = [sys.executable, "-m", "roomful.cli", "export", "room", "--database", house.database]
    done = subprocess.run([*command, "--out", story], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return story.read_text() + done.stdout + done.stderr


def test_a_token_is_in_no_log_and_no_file(tmp_path: Path) -> None:
    """Neither one that was given out nor one that somebody put into an address."""
    with Roomful(tmp_path) as house:
        ada = house.person("ada")
        assert ada.get("/api/spaces") == {"spaces": []}
        for path in (f"/api/stream?token={ada.token}", f"/api/spaces?access_token={ADMIN_KEY}"):
            assert httpx.get(house.url + path).status_code == 401
        assert httpx.get(f"{house.url}/api/{ada.token}").status_code == 404
        made = httpx.post(
            f"{house.url}/api/session", json={"token": ada.token}, headers={"origin": house.url}
        )
        cookie = made.headers["set-cookie"].partition("=")[2].partition(";")[0]
        invite = ada.post("/api/spaces", {"id": "room", "name": "Room"}, expect=201)["id"]
        link = ada.post(f"/api/spaces/{invite}/invites", {}, expect=201)["url"].rsplit("/", 1)[1]
    for path in tmp_path.rglob("*"):
        if path.is_file():
            held = path.read_bytes().decode("latin-1")
            assert not [word for word in (ada.token, ADMIN_KEY, cookie, link) if word in held], path
