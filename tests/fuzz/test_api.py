"""Every route of the document, asked rightly and wrongly by everybody: never a 500, always a clear answer."""

import asyncio
from typing import Any, cast
from urllib.parse import quote

from roomful.web.table import TABLE
from tests.fuzz.api import EVERYBODY, Knock, Scene, open_scene
from tests.fuzz.engine import SEED, chance_of
from tests.servers.roomful import ADMIN_KEY, Caller, Roomful
from tests.web.visiting import Answer, Visit

OUT_OF_REACH = {
    ("DELETE", "/api/agents/{id}/goals/{goalId}"),
    ("DELETE", "/api/agents/{id}/plans/{planId}"),
    ("DELETE", "/api/chat/{id}/stream"),
    ("DELETE", "/api/entities/{id}/tokens/{tokenId}"),
    ("DELETE", "/api/spaces/{id}/grants/{grantId}"),
    ("POST", "/api/agents/{id}/mcp/{server}/approve"),
    ("POST", "/api/callbacks/{callId}/{key}"),
    ("POST", "/api/runs/{id}/retry"),
}
"""What only a run, a server or somebody with a secret can arrange."""


async def ask_well() -> set[tuple[str, str]]:
    """In one house each route as the document says, by several people; what removes comes last."""
    chance = chance_of("every route", SEED, 0)
    async with open_scene() as scene:
        for operation in sorted(scene.operations, key=_when):
            for who in ("ada", "admin", "eve") * 3:
                await scene.try_knock(scene.knock(chance, operation, who, well=True))
        return scene.succeeded


def _when(operation: tuple[str, str, Any]) -> tuple[bool, bool, bool, int]:
    method, path, _ = operation
    return method == "DELETE", "entities" in path, "{secret}" not in path, -len(path)


def test_every_route_does_what_it_is_for() -> None:
    wanted = {(route.method, route.path) for route in TABLE} - OUT_OF_REACH

    assert wanted - asyncio.run(ask_well()) == set()


class Outside(Scene):
    """The same of a real process, over HTTP."""

    def __init__(self, house: Roomful) -> None:
        self._house = house
        people = {who: house.person(who).token for who in ("ada", "bob", "rita", "eve")}
        house.agent("shop", "scripted:nothing")
        house.space("room", "ada:owner", "bob", "rita:reader", "shop")
        house.space("other", "bob")
        document = house.admin.get("/openapi.json")
        super().__init__(cast(Visit, None), document, people | {"admin": ADMIN_KEY})

    async def post(self, who: str, path: str, body: Any) -> Any:
        return Caller(self._house, self.tokens[who]).post(path, body, expect=201)

    async def rested_run(self, run_id: str) -> Any:
        return {"pendingToolCalls": []}

    async def ask(self, knock: Knock) -> Answer:
        headers = {name.encode(): value.encode() for name, value in knock.headers.items()}
        if knock.who in self.tokens:
            headers[b"authorization"] = f"Bearer {self.tokens[knock.who]}".encode()
        url = f"{self._house.url}{quote(knock.path)}?{knock.query}"
        sent = self._house.client.build_request(knock.method, url, headers=headers, content=knock.body)
        answer = self._house.client.send(sent, stream=True)
        try:
            is_stream = answer.headers.get("content-type", "").startswith("text/event-stream")
            return Answer(answer.status_code, answer.headers, b"" if is_stream else answer.read())
        finally:
            answer.close()


def test_a_real_process_answers_as_the_document_says(house: Roomful) -> None:
    scene = Outside(house)
    chance = chance_of("outside", SEED, 0)

    async def main() -> None:
        await scene.furnish()
        for operation in sorted(scene.operations, key=_when) * 2:
            knock = scene.knock(chance, operation, chance.choice(EVERYBODY), well=chance.random() < 0.4)
            await scene.try_knock(knock)

    asyncio.run(main())
    assert len(scene.succeeded) > 20
    assert house.is_running
    assert "Traceback" not in house.log.read_text()
