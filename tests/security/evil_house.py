"""A house in which a hostile model lives, what it must not reach, and what is seen of whatever it does."""

import contextlib
import http.server
import json
import re
import threading
from pathlib import Path
from typing import Any, Self

from tests.security.evil import DIALECTS, Case, Prey
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, call, text
from tests.servers.roomful import Caller, Listener, Roomful, openai

SECRET = "evil-key-6f1d2c3b4a5968778695a4b3c2d1e0f9"
CANARY = "the-vault-holds-4711"
PLAN = "keep-the-vault-0815"
ENDS = ("run.completed", "run.failed", "run.canceled", "run.waiting_tool", "run.waiting_reply")
LIMITS = {"maxSteps": 6, "callsPerRun": 12, "runsPerRoot": 6, "depth": 3}
WORDS = {"type": "object", "properties": {"words": {}, "key": {}, "url": {}, "image_url": {}}}
EXPRESSION = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}


class Outside:
    """A service that writes down what it is sent, and says it again, headers too."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], str]] = []
        outside = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", "0"))).decode()
                outside.requests.append((self.path, dict(self.headers.items()), body))
                said = json.dumps([self.path, dict(self.headers.items()), body]).encode()
                with contextlib.suppress(OSError):
                    self.send_response(200)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(said)))
                    self.end_headers()
                    self.wfile.write(said)

            def do_GET(self) -> None:
                self.do_POST()

            def log_request(self, *_: object, **__: object) -> None:
                """Quiet."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def pair(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(30)


class EvilHouse:
    """Ada talks with three hostile agents, one of each dialect, in `lobby` and `back`. Grace and a keeper,
    her agent, are in `vault`. `outside` may be reached by tools, `inner` by nobody."""

    def __init__(self, folder: Path) -> None:
        self.cases: list[Case] = []
        self.told: dict[int, list[Any]] = {}
        """What the model was told of its calls, by case."""
        self.outside, self.inner, self.model = Outside(), Outside(), FakeOpenAI(self._say)
        self._stack = contextlib.ExitStack()
        self.folder = folder

    def __enter__(self) -> Self:
        enter = self._stack.enter_context
        for server in (self.outside, self.inner, self.model):
            enter(server)
        environment = {
            "EVIL_KEY": SECRET,
            "ROOMFUL_TOOL_ENV": "EVIL_KEY",
            "ROOMFUL_ALLOW_HOSTS": self.outside.pair,
        }
        self.house = enter(Roomful(self.folder, **environment))
        self.ada, self.grace = self.house.person("ada"), self.house.person("grace")
        self.house.space("lobby", "ada:owner")
        self.house.space("back", "ada:owner")
        self.house.space("vault", "grace:owner")
        for dialect in DIALECTS:
            self._move_in(f"evil-{dialect}", dialect)
        self.prey = self._prey()
        self.lobby = enter(self.ada.listen("lobby"))
        self.vault = enter(self.grace.listen("vault"))
        self.graces = enter(Listener(self.grace, "/api/stream"))
        self.adas = enter(Listener(self.ada, "/api/stream"))
        self.vault.wait_for("snapshot")
        self.graces.wait_for("snapshot")
        self.before = self.vault_state()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _move_in(self, agent: str, dialect: str) -> None:
        tools = {"composite": self._composite_tools(), "display": [_card(displayTool=True)], "active": []}[
            dialect
        ]
        self.house.agent(
            agent,
            openai(self.model.base_url),
            *tools,
            dialect=dialect,
            limits=LIMITS,
            instructions=f"You are {agent}.",
        )
        for space in ("lobby", "back"):
            self.house.admin.post(f"/api/spaces/{space}/members", {"entityId": agent}, expect=201)

    def _composite_tools(self) -> list[dict[str, Any]]:
        """`paid` has an effect, `leak` carries a secret and says it again, `costly` needs consent."""
        sent = {
            "url": f"http://{self.outside.pair}/{{{{key}}}}",
            "method": "POST",
            "body": {"words": "{{words}}"},
        }
        headers = {"authorization": "Bearer ${env.EVIL_KEY}", "x-key": "{{key}}"}
        http = {"executionType": "http", "inputSchema": WORDS, "description": "Send."}
        reckoned = {"operation": "evaluate", "expression": "{{input.expression}}"}
        return [
            _card(visibility="full"),
            {**_card(), "name": "form", "execution": {"mode": "no-execution", "wait": False}},
            {**http, "name": "paid", "execution": sent, "visibility": "full"},
            {**http, "name": "leak", "execution": {**sent, "headers": headers}},
            {**http, "name": "costly", "execution": sent, "visibility": "full", "approval": True},
            {**_card(), "name": "fixed", "execution": {"mode": "static", "output": {"said": "{{words}}"}}},
            {
                "name": "reckon",
                "description": "Reckon.",
                "executionType": "compute",
                "execution": reckoned,
                "inputSchema": EXPRESSION,
            },
        ]

    def _prey(self) -> Prey:
        ask = {
            "name": "open_vault",
            "description": "Open.",
            "executionType": "space",
            "execution": {},
            "inputSchema": WORDS,
        }
        config = {"id": "keeper", "name": "keeper", "model": openai(self.model.base_url), "tools": [ask]}
        self.grace.post(
            "/api/agents", {**config, "dialect": "active", "instructions": "You are keeper."}, expect=201
        )
        self.grace.post("/api/spaces/vault/members", {"entityId": "keeper"}, expect=201)
        blob = self.grace.request(
            "POST", "/api/blobs", CANARY.encode(), headers={"content-type": "text/plain"}
        ).json()
        with self.grace.listen("vault") as ears:
            body = {"text": f"{CANARY} @keeper", "attachments": [blob["blobId"]]}
            run = self.grace.post("/api/spaces/vault/messages", body, expect=201)["runs"][0]["runId"]
            waiting = ears.wait_for("run.waiting_tool", runId=run).data
        kept = {
            what: self.grace.get(f"/api/agents/keeper/{what}")[what][0]["id"] for what in ("plans", "goals")
        }
        return Prey(
            space="vault",
            run=run,
            call=waiting["pendingToolCalls"][0]["toolCallId"],
            plan=kept["plans"],
            goal=kept["goals"],
            blob=blob["blobId"],
            agent="keeper",
            person="grace",
            tool="open_vault",
            inner_url=f"http://{self.inner.pair}",
        )

    # The model.

    def _say(self, asked: Asked) -> Answer:
        who = asked.messages[0]["content"].split("You are ")[1].partition(".")[0]
        turn = sum(message["role"] == "assistant" for message in asked.messages)
        if who == "keeper":
            return self._keeper(turn)
        said = next(m["content"] for m in reversed(asked.messages) if m["role"] == "user")
        found = re.findall(r"(case|ping) (\d+)\b", said)
        if not found:
            return Answer(text("nothing to do"))
        kind, number = found[-1][0], int(found[-1][1])
        if kind == "ping":
            return self._pong(who, number) if turn == 0 else Answer(text("done"))
        case = self.cases[number]
        self.told[number] = [m["content"] for m in asked.messages if m["role"] == "tool"]
        return Answer(case.steps[turn]) if turn < len(case.steps) else Answer(text("done"))

    def _keeper(self, turn: int) -> Answer:
        calls: tuple[tuple[str, Any], ...] = (
            ("set_goals", {"goals": [{"description": PLAN}]}),
            ("set_plans", {"plans": [{"name": PLAN, "instruction": PLAN, "runAfter": "9 days"}]}),
            ("set_memories", {"memories": [{"key": PLAN, "value": CANARY}]}),
        )
        if turn:
            return Answer(call("open_vault", {"words": CANARY}))
        pieces = [call(name, args, size=99, index=n, id=f"c{n}") for n, (name, args) in enumerate(calls)]
        return Answer([piece for each in pieces for piece in each])

    def _pong(self, who: str, number: int) -> Answer:
        words = {"text": f"pong {number}"}
        if who == "evil-active":
            return Answer(call("send_message", words))
        return Answer(call("sendSpaceMessage", {"spaceId": "lobby", **words}))

    # What is done and seen.

    def play(self, case: Case) -> int:
        """The model says it all, and the space goes on: its number."""
        number = len(self.cases)
        self.cases.append(case)
        self._talk(f"@evil-{case.dialect} case {number}")
        self._talk(f"@evil-{case.dialect} ping {number}")
        self.lobby.wait_for("text-end", toolCallId=self._pong_call(number))
        return number

    def _pong_call(self, number: int) -> str:
        """The call whose words were the answer."""

        def found(events: list[Any]) -> str | None:
            texts: dict[str, str] = {}
            for event in events[-400:]:
                if event.name == "text-start":
                    texts[event.data["partId"]] = ""
                    calls[event.data["partId"]] = event.data["toolCallId"]
                elif event.name == "text-delta" and event.data["partId"] in texts:
                    texts[event.data["partId"]] += event.data["delta"]
            return next((calls[part] for part, said in texts.items() if said == f"pong {number}"), None)

        calls: dict[str, str] = {}
        return self.lobby.wait(found)

    def _talk(self, words: str) -> None:
        [run] = self.ada.say("lobby", words)["runs"]

        def ended(events: list[Any]) -> Any:
            return next(
                (e for e in events[-400:] if e.name in ENDS and e.data["runId"] == run["runId"]), None
            )

        end = self.lobby.wait(ended)
        if end.name == "run.waiting_tool":
            self._refuse(end.data)

    def _refuse(self, waiting: dict[str, Any]) -> None:
        """Ada does not agree to anything."""
        for pending in waiting["pendingToolCalls"]:
            body = {"toolCallId": pending["toolCallId"], "result": {"approved": False}}
            answer = self.ada.request("POST", f"/api/runs/{waiting['runId']}/tool-results", body)
            assert answer.status_code in (200, 409, 422), answer.text

    def vault_state(self) -> dict[str, Any]:
        """All that belongs to Grace, as she sees it."""
        paths = [f"/api/spaces/vault{rest}" for rest in ("", "/members", "/messages", "/grants")]
        paths += [f"/api/agents/keeper{rest}" for rest in ("", "/plans", "/goals", "/memories")]
        paths += [f"/api/runs/{self.prey.run}", "/api/runs", "/api/spaces"]
        return {path: self.grace.get(path) for path in paths}

    def callers(self) -> tuple[Caller, ...]:
        return self.ada, *(
            Caller(
                self.house, self.house.admin.post(f"/api/entities/evil-{dialect}/tokens", expect=201)["token"]
            )
            for dialect in DIALECTS
        )


def _card(**more: Any) -> dict[str, Any]:
    shown = {"name": "card", "description": "Show.", "executionType": "basic", "inputSchema": WORDS}
    return {**shown, "execution": {"mode": "pass-through"}, **more}
