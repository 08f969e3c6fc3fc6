"""The gateway under test: `roomful serve` on a database of its own, and who and what is in it."""

import itertools
import secrets
import time
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from roomful.bench import wire
from roomful.bench.load import Answer, Line
from roomful.bench.model import SPACE, TOOLS, parse
from roomful.bench.processes import CannotMeasure, Child, Cores, free_port, until_it_answers

TEXT: Final = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
CARD: Final[dict[str, Any]] = {
    "name": TOOLS["calls"],
    "description": "Show a card.",
    "executionType": "basic",
    "visibility": "full",
    "execution": {"mode": "static", "output": "ok"},
    "inputSchema": TEXT,
}
FORM: Final = {**CARD, "name": TOOLS["ask"], "execution": {"mode": "no-execution"}}
STREAM: Final = {"accept": "text/event-stream"}


class House:
    """Nothing in it is limited but what the machine can do."""

    def __init__(self, folder: Path, cores: Cores, model_port: int) -> None:
        self.database = folder / "roomful.db"
        self._folder = folder
        self._cores = cores
        self._model = f"http://127.0.0.1:{model_port}/v1"
        self._key = secrets.token_urlsafe(24)
        self._numbers = itertools.count()
        self._token = ""
        self._seal = secrets.token_urlsafe(24)

    async def start(self) -> float:
        """Seconds until it answers."""
        began = time.monotonic()
        self.port = free_port()
        words = ("serve", "--port", str(self.port), "--database", f"sqlite:///{self.database}")
        self.child = Child(
            self._folder,
            "roomful.cli",
            *words,
            ROOMFUL_ADMIN_KEY=self._key,
            ROOMFUL_SECRET_KEY=self._seal,
            ROOMFUL_LIMIT_STREAMS="0",
            ROOMFUL_LIMIT_POSTS="0",
            ROOMFUL_LIMIT_SPACE_POSTS="0",
            ROOMFUL_LOG_LEVEL="warning",
        )
        self._cores.give(self.child)
        self._line = Line(self.port)
        await until_it_answers(self.port, "/readyz", self.child)
        return time.monotonic() - began

    def stop(self) -> None:
        self._line.close()
        self.child.stop()

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            self.child.stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop()

    # Who and what is there.

    async def space(self, *agents: str, id: str | None = None) -> str:
        """A space of its own for the person who asks, and these."""
        space_id = id or f"space-{next(self._numbers)}"
        if not self._token:
            made = await self.call(
                "POST", "/api/entities", {"id": "person", "name": "Person", "kind": "human"}
            )
            self._token = made["token"]
        await self.call("POST", "/api/spaces", {"id": space_id, "name": space_id})
        for entity_id in ("person", *agents):
            await self.call("POST", f"/api/spaces/{space_id}/members", {"entityId": entity_id})
        return space_id

    async def agent(self, model: str) -> str:
        """One who does what the scripted model of this name says."""
        agent_id = f"agent-{next(self._numbers)}"
        helper = {
            "name": "Helper",
            "instructions": "Help.",
            "tools": [CARD],
            "model": self._ref("calls-1x20"),
        }
        delegation = {
            "name": TOOLS["delegate"],
            "description": "Ask the helper.",
            "executionType": "ai-agent",
            "visibility": "full",
            "execution": {"agentConfig": helper},
        }
        tools = {"ask": FORM, "delegate": delegation}
        config = {"id": agent_id, "name": agent_id, "instructions": "Do.", "dialect": "composite"}
        more = {"model": self._ref(model), "tools": [tools.get(parse(model).kind, CARD)]}
        await self.call("POST", "/api/agents", config | more)
        return agent_id

    async def spaces_for(self, model: str) -> str:
        """As many as its calls go to; the first is where it is asked."""
        agent_id = await self.agent(model)
        if parse(model).kind != "spaces":
            return await self.space(agent_id)
        for number in range(parse(model).calls):
            await self.space(agent_id, id=SPACE.format(number))
        return SPACE.format(0)

    def _ref(self, model: str) -> dict[str, str]:
        return {"name": f"openai:{model}", "baseUrl": self._model, "apiKey": "none"}

    # What is asked of it.

    def run(self, space_id: str) -> bytes:
        """A message, and all that its runs show."""
        return self._request("POST", f"/api/spaces/{space_id}/messages?args=ops", {"text": "Go."}, STREAM)

    def post(self, space_id: str, text: str = "Go.") -> bytes:
        return self._request("POST", f"/api/spaces/{space_id}/messages", {"text": text})

    def read(self, space_id: str, last: str = "") -> bytes:
        """A reader's stream, from the event behind `last` or from a snapshot on."""
        behind = {"last-event-id": last} if last else {}
        return self._request("GET", f"/api/spaces/{space_id}/stream?args=ops", None, STREAM | behind)

    def get(self, path: str) -> bytes:
        return self._request("GET", path)

    def answer(self, run_id: str, call_id: str) -> bytes:
        result = {"toolCallId": call_id, "result": {"text": "Yes."}}
        return self._request("POST", f"/api/runs/{run_id}/tool-results", result)

    def _request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, token: str = ""
    ) -> bytes:
        told = {"authorization": f"Bearer {token or self._token}", **(headers or {})}
        return wire.request(method, path, b"" if body is None else msgspec.json.encode(body), told)

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        """As the operator."""
        asked = self._request(method, path, body, token=self._key)
        return msgspec.json.decode(expect(await self._line.ask(asked, keeps=True)).body)


def expect(answer: Answer) -> Answer:
    if answer.status not in (200, 201):
        told = answer.body[:300].decode(errors="replace")
        raise CannotMeasure(f"the gateway answered with {answer.status}: {told}")
    return answer
