"""A gateway asked everything that its OpenAPI document offers, and what it does not, by everybody."""

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from random import Random
from typing import Any, NamedTuple
from urllib.parse import urlencode

import jsonschema_rs

from roomful.app import Gateway
from tests.fuzz import grammar
from tests.fuzz.engine import target
from tests.fuzz.furniture import EXAMPLES, RPC, SCRIPT, SHOP
from tests.fuzz.schemas import Sampler
from tests.web.visiting import PATIENCE, Answer, FirstAnswers, Visit

ADMIN_KEY = "the-admin-key"
CODES = frozenset({
    "invalid", "unauthorized", "forbidden", "not_found", "conflict", "too_large", "rate_limited",
    "unavailable",
})  # fmt: skip


class Knock(NamedTuple):
    """One request. `unknown` is a field of its body that the route does not know, all else being right."""

    who: str
    method: str
    route: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes | None
    unknown: str | None = None


class Scene:
    """A house with people in it, and what they know of it."""

    def __init__(self, visit: Visit, document: Mapping[str, Any], tokens: Mapping[str, str]) -> None:
        self.visit = visit
        self.document = document
        self.tokens = tokens
        self.operations = [
            (method.upper(), path, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        ]
        self.known: dict[str, list[str]] = {
            "spaceId": ["room", "other"],
            "entityId": ["ada", "bob", "rita", "eve"],
            "agentId": ["shop"],
            "adminAgentId": ["shop"],
            "mentions": ["shop", "bob"],
            "threadId": ["room", "room", "chat-1"],
            "sender": ["user:ada"],
            "recipient": ["chat:room", "agent:shop"],
            "conversation_id": ["room"],
            "attachments": [],
            "created_at": ["2026-03-02T08:00:00Z"],
        }
        self.sampler = Sampler(document["components"]["schemas"], self.known)
        self.succeeded: set[tuple[str, str]] = set()
        self._judges: dict[str, jsonschema_rs.Draft202012Validator] = {}

    async def furnish(self) -> None:
        """Something of each kind, by the ordinary way."""
        posted = await self.post("ada", "/api/spaces/room/messages", {"text": "ask me"})
        self.known["messageId"] = self.known["replyTo"] = [posted["message"]["id"]]
        self.known["runId"] = [run["runId"] for run in posted["runs"]]
        made = await self.post("ada", "/api/blobs", b"bytes")
        self.known["blobId"] = self.known["attachments"] = [made["blobId"]]
        run = await self.rested_run(self.known["runId"][0])
        self.known["token"] = [self.tokens["ada"]]
        invite = await self.post("ada", "/api/spaces/room/invites", {})
        self.known["secret"] = [invite["url"].rpartition("/")[2]]
        self.known["toolCallId"] = self.known["callId"] = [
            call["toolCallId"] for call in run["pendingToolCalls"]
        ]

    async def post(self, who: str, path: str, body: Any) -> Any:
        answer = await self.visit.ask("POST", path, body, token=self.tokens[who])
        assert answer.status == 201, answer.body
        return answer.json

    async def rested_run(self, run_id: str) -> Any:
        await self.visit.house.worker.idle()
        return (await self.visit.ask("GET", f"/api/runs/{run_id}", token=self.tokens["ada"])).json

    # What is asked.

    def knock(self, chance: Random, operation: tuple[str, str, Any], who: str, *, well: bool) -> Knock:
        """Well: as the document says. Otherwise nearly so."""
        method, route, said = operation
        body, unknown = self._body(chance, route, said, well=well)
        well = well or unknown is not None
        headers = {"content-type": "application/json"} if body is not None else {}
        if not well and chance.random() < 0.2:
            name = chance.choice(
                ("idempotency-key", "x-roomful-as", "content-type", "last-event-id", "accept", "range")
            )
            headers[name] = chance.choice(
                ("text/event-stream", "bob", "x" * 300, "ep.1", "bytes=0-1", "é", "*/*")
            )
        return Knock(
            who,
            method,
            route,
            self._path(chance, route, well=well),
            self._query(chance, said, well=well),
            headers,
            body,
            unknown,
        )

    def _path(self, chance: Random, route: str, *, well: bool) -> str:
        path = route
        for holder in ("{id}", "{messageId}", "{entityId}", "{agentId}", "{secret}"):
            if holder in path:
                path = path.replace(holder, self._id_for(chance, route, holder[1:-1], well=well))
        while "{" in path:
            begin, end = path.index("{"), path.index("}")
            path = path[:begin] + chance.choice(("none", "x.y", "key-1")) + path[end + 1 :]
        return path

    def _id_for(self, chance: Random, route: str, name: str, *, well: bool) -> str:
        if not well and chance.random() < 0.4:
            return chance.choice(
                ("nope", "..", "a b", "é", "x" * 65, "-", "%00", "\x00", "room ", "ROOM", "0", "None")
            )
        owner = {
            "spaces": "spaceId",
            "agents": "agentId",
            "entities": "entityId",
            "runs": "runId",
            "blobs": "blobId",
        }
        kinds = [kind for part, kind in owner.items() if f"/{part}/{{id}}" in route]
        return chance.choice(self.known[name if name in self.known else kinds[0] if kinds else "threadId"])

    def _query(self, chance: Random, said: Any, *, well: bool) -> str:
        pairs: dict[str, Any] = {}
        parameters = {each["name"]: each["schema"] for each in said["parameters"] if each["in"] == "query"}
        if well:
            parameters.pop("lastEventId", None)
        for name, schema in parameters.items():
            if name in ("q", "threadId") or chance.random() < 0.3:
                pairs[name] = self.sampler.fitting(chance, schema, name)
        if not well and chance.random() < 0.3:
            name = chance.choice([*pairs, "extra", "limit", "before", "token"])
            pairs[name] = chance.choice(
                ("-1", "0", "99999999999999999999", "é", "\x00", "null", "1.5", "a" * 5000)
            )
        given = {name: value for name, value in pairs.items() if value is not None}
        return urlencode(given, errors="replace")

    def _body(self, chance: Random, route: str, said: Any, *, well: bool) -> tuple[bytes | None, str | None]:
        if route == "/mcp":
            return self._rpc(chance, well=well), None
        content = said.get("requestBody", {}).get("content", {})
        if "application/json" not in content:
            return (chance.randbytes(20) if content else None), None
        schema = content["application/json"]["schema"]
        if route.startswith("/api/agents") and "title" not in schema and "$ref" not in schema:
            config = {**SHOP, "id": chance.choice(("shop", "shop-2"))}
            return _encoded(config if well else grammar.damaged_value(chance, config, tuple(SHOP))), None
        draw = 1.0 if well else chance.random()
        if draw < 0.2 and (wrong := self.sampler.unknown_field(chance, schema)) is not None:
            return _encoded(wrong[0]), wrong[1]
        value = (
            EXAMPLES[route]
            if route in EXAMPLES and chance.random() < 0.7
            else self.sampler.fitting(chance, schema)
        )
        if draw < 0.6:
            names = tuple(value) if isinstance(value, dict) and value else grammar.NAMES
            value = grammar.damaged_value(chance, value, names)
        data = _encoded(value)
        if draw < 0.75:
            data = data if draw >= 0.65 else grammar.damaged_bytes(chance, data)
        return data if well or draw < 0.98 else b'{"text": "' + b"x" * 1_100_000 + b'"}', None

    def _rpc(self, chance: Random, *, well: bool) -> bytes:
        method, params = chance.choice(RPC)
        call: Any = {"jsonrpc": "2.0", "method": method, "params": params}
        if not method.startswith("notifications/"):
            call["id"] = chance.choice((1, "a", 2**40))
        if well:
            return _encoded(call)
        call = grammar.damaged_value(
            chance, call, ("jsonrpc", "id", "method", "params", "name", "arguments", "_meta")
        )
        return _encoded(call) if chance.random() < 0.8 else grammar.damaged_bytes(chance, _encoded(call))

    # What is answered.

    async def try_knock(self, knock: Knock) -> str:
        answer = await self.ask(knock)
        try:
            return self.check(knock, answer)
        except AssertionError as wrong:
            raise AssertionError(
                f"{knock}\nanswered {answer.status} {answer.body[:600]!r}\n{wrong}"
            ) from wrong

    async def ask(self, knock: Knock) -> Answer:
        path = f"{knock.path}?{knock.query}" if knock.query else knock.path
        headers = {name: value.encode().decode("latin-1") for name, value in knock.headers.items()}
        stream = self.visit.open(
            knock.method, path, knock.body, token=self.tokens.get(knock.who), headers=headers
        )
        await stream.until(lambda begun: begun.start)
        given = {name.decode(): value.decode("latin-1") for name, value in stream.start["headers"]}
        if given.get("content-type", "").startswith("text/event-stream"):
            stream.hang_up()
        await stream.over()
        return Answer(stream.start["status"], given, b"".join(stream.sends))

    def check(self, knock: Knock, answer: Answer) -> str:
        said = self.document["paths"][knock.route][knock.method.lower()]["responses"]
        kind = answer.headers.get("content-type", "")
        assert answer.status < 500 or (answer.status == 503 and kind.startswith("application/problem")), "5xx"
        if knock.route == "/mcp" and kind == "application/json":
            return self._check_rpc(answer)
        if answer.status >= 400:
            return self._check_problem(knock, answer, kind)
        expected = {int(status) for status in said if status != "default"}
        assert answer.status in expected, "a status that the document does not know"
        assert knock.unknown is None, "a field that nobody knows was passed over"
        self.succeeded.add((knock.method, knock.route))
        schema = said.get(str(answer.status), {}).get("content", {}).get("application/json", {}).get("schema")
        if schema is not None:
            self._judge(f"{knock.method} {knock.route}", schema).validate(json.loads(answer.body))
        return "done"

    def _judge(self, key: str, schema: Any) -> jsonschema_rs.Draft202012Validator:
        if key not in self._judges:
            whole = {**schema, "components": self.document["components"]}
            self._judges[key] = jsonschema_rs.Draft202012Validator(whole)
        return self._judges[key]

    def _check_problem(self, knock: Knock, answer: Answer, kind: str) -> str:
        assert kind.startswith("application/problem+json"), kind
        problem = json.loads(answer.body)
        assert {"type", "title", "status", "detail", "code"} <= problem.keys()
        assert problem["status"] == answer.status
        assert problem["code"] in CODES, problem["code"]
        assert len(problem["detail"]) > 10, "no sentence"
        if knock.unknown is not None and answer.status == 422:
            assert knock.unknown in problem["detail"], "does not name the field"
        return "refused"

    def _check_rpc(self, answer: Answer) -> str:
        reply = json.loads(answer.body)
        assert reply["jsonrpc"] == "2.0"
        assert ("result" in reply) != ("error" in reply)
        if "error" in reply:
            assert isinstance(reply["error"]["code"], int)
            assert reply["error"]["message"].strip()
            return "refused"
        assert answer.status == 200
        self.succeeded.add(("POST", "/mcp"))
        return "done"


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


@contextlib.asynccontextmanager
async def open_scene() -> AsyncIterator[Scene]:
    settings = {"database": "sqlite:///:memory:", "admin_key": ADMIN_KEY, "limit_posts": 0}
    async with Gateway.opened(agents=[SHOP], scripts={"shop": SCRIPT}, **settings) as gateway:
        tokens = {who: await gateway.person(who) for who in ("ada", "bob", "rita", "eve")} | {
            "admin": ADMIN_KEY
        }
        await gateway.space("room", "ada", role="owner")
        await gateway.space("room", "bob", "shop")
        await gateway.space("room", "rita", role="reader")
        await gateway.space("other", "bob")
        visit = Visit(gateway.house, FirstAnswers(gateway.house.store))
        document = (await visit.ask("GET", "/openapi.json")).json
        scene = Scene(visit, document, tokens)
        await scene.furnish()
        yield scene
        await asyncio.wait_for(gateway.house.worker.idle(), PATIENCE)


EVERYBODY = ("nobody", "eve", "rita", "bob", "ada", "admin")


async def ask_everything(chance: Random, rounds: int = 1) -> tuple[Counter[str], set[tuple[str, str]]]:
    """In a new house each route once a round, by somebody. How many were done and refused, and which routes
    did something."""
    tally: Counter[str] = Counter()
    async with open_scene() as scene:
        for _ in range(rounds):
            for operation in chance.sample(scene.operations, len(scene.operations)):
                who = chance.choice(EVERYBODY[2:] if chance.random() < 0.7 else EVERYBODY)
                knock = scene.knock(chance, operation, who, well=chance.random() < 0.5)
                tally[await scene.try_knock(knock)] += 1
        return tally, scene.succeeded


def check_api(seed: int) -> str:
    tally, _ = asyncio.run(ask_everything(Random(seed)))
    assert tally.total() == sum(tally[word] for word in ("done", "refused"))
    return "asked"


TARGETS = (target("api", lambda chance: chance.getrandbits(48), check_api, ("asked",), short=4, long=400),)
