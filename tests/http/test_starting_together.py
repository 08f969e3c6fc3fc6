"""Gateways that start at the same moment on an empty database: all come up, and each thing is there once."""

import asyncio
import hashlib
from pathlib import Path

from roomful.app import Gateway
from roomful.settings import Settings
from tests.servers.postgres import postgres_server
from tests.servers.roomful import free_port
from tests.servers.watched import ROOMFUL, Watched, get

AGENT = """
id: helper
name: Helper
model: "scripted:nothing"
tools: []
"""


def _agents(folder: Path) -> str:
    (folder / "agents").mkdir()
    (folder / "agents" / "helper.yaml").write_text(AGENT)
    return str(folder / "agents")


def test_four_that_open_at_once_agree_on_the_key_the_agents_and_the_demo(tmp_path: Path) -> None:
    async def opened(settings: Settings) -> tuple[list[str], set[bytes], list[str], set[object]]:
        gateways = await asyncio.gather(*(Gateway.open(settings) for _ in range(4)))
        try:
            keys = [gateway.new_admin_key for gateway in gateways if gateway.new_admin_key is not None]
            store = gateways[0].house.store
            return (
                keys,
                {gateway.house.admin_digest() for gateway in gateways},
                [agent.id for agent in await store.agents() if agent.id == "helper"],
                {tuple(person["token"] for person in gateway.house.demo_people) for gateway in gateways},
            )
        finally:
            for gateway in gateways:
                await gateway.close()

    with postgres_server() as server:
        settings = Settings(database=server.url, agents=_agents(tmp_path), demo=True)
        [key], digests, helpers, demo_tokens = asyncio.run(opened(settings))

    assert digests == {hashlib.sha256(key.encode()).digest()}
    assert helpers == ["helper"]
    assert len(demo_tokens) == 1


def test_two_processes_at_once_show_one_key_and_it_works_at_both(tmp_path: Path) -> None:
    ports = [free_port(), free_port()]
    with postgres_server() as server:
        serve = [*ROOMFUL, "serve", "--demo", "--agents", _agents(tmp_path), "--database", server.url]
        with (
            Watched([*serve, "--port", str(ports[0])], tmp_path) as one,
            Watched([*serve, "--port", str(ports[1])], tmp_path) as other,
        ):
            for each in (one, other):
                each.said("Roomful is at")
            [shown] = [line for line in one.lines + other.lines if "admin key" in line]
            for port in ports:
                agents = get(f"http://127.0.0.1:{port}/api/agents", shown.split()[-1]).json()["agents"]
                assert [agent["id"] for agent in agents].count("helper") == 1
            assert [each.terminate() for each in (one, other)] == [0, 0]
