"""The files under `deploy/` work: their very command lines serve, and stop with 0."""

import configparser
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from roomful.settings import Settings
from tests.servers.postgres import PostgresServer, postgres_server
from tests.servers.redis import RedisServer, redis_server
from tests.servers.roomful import PATIENCE, free_port
from tests.servers.watched import ROOMFUL, Watched, get

DEPLOY = Path(__file__).parent.parent / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
AGENT = '{"id": "helper", "name": "Helper", "model": "scripted:nothing", "tools": []}'


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


class Here:
    """This machine's addresses in the place of those that a file has."""

    def __init__(self, folder: Path, postgres: PostgresServer, redis: RedisServer) -> None:
        (folder / "agents").mkdir()
        (folder / "agents" / "helper.json").write_text(AGENT)
        self.folder = folder
        self.port = free_port()
        self._postgres, self._redis = postgres.url, redis.url

    def environment(self, written: Mapping[str, str]) -> dict[str, str]:
        assert {name.removeprefix("ROOMFUL_").lower() for name in written} <= set(Settings.__struct_fields__)
        written = {name: re.sub(r"\$\{\w+:\?\}", "given", value) for name, value in written.items()}
        assert written["ROOMFUL_DATABASE"].startswith("postgresql://")
        assert written["ROOMFUL_BUS"].startswith("redis://")
        schema = written["ROOMFUL_DATABASE"].partition("?")[2]
        here = {"ROOMFUL_DATABASE": f"{self._postgres}&{schema}", "ROOMFUL_BUS": self._redis}
        return {**written, **here, "ROOMFUL_ADMIN_KEY": "key"}

    def command(self, arguments: Sequence[str]) -> list[str]:
        places = {"8000": str(self.port), "0.0.0.0": "127.0.0.1"}
        agents = (place for place in arguments if place.endswith("/agents"))
        places |= dict.fromkeys(agents, str(self.folder / "agents"))
        return [places.get(each, each) for each in arguments]

    def serves_until_told(self, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        command = [*ROOMFUL, *self.command(arguments)]
        with Watched(command, self.folder, **self.environment(environment)) as running:
            running.said(f"Roomful is at http://127.0.0.1:{self.port}")
            assert len(running.children()) == 2
            answer = get(f"http://127.0.0.1:{self.port}/api/agents", "key").json()
            assert [agent["id"] for agent in answer["agents"]] == ["helper"]
            self.check_health()
            assert running.terminate() == 0

    def check_health(self) -> None:
        [_, python, *rest] = COMPOSE["services"]["roomful"]["healthcheck"]["test"]
        assert python == "python"
        asked = [each.replace("8000", str(self.port)) for each in rest]
        subprocess.run([sys.executable, *asked], check=True, timeout=PATIENCE)


@pytest.fixture
def here(tmp_path: Path, postgres: PostgresServer, redis: RedisServer) -> Here:
    return Here(tmp_path, postgres, redis)


def test_the_compose_file_serves(here: Here) -> None:
    service = COMPOSE["services"]["roomful"]
    assert [*_entrypoint(), *service["command"]][:2] == ["roomful", "serve"]
    here.serves_until_told(service["command"], service["environment"])


def test_the_compose_file_is_whole() -> None:
    services: dict[str, Any] = COMPOSE["services"]
    assert set(services["roomful"]["depends_on"]) == set(services) - {"roomful"}
    assert all("healthcheck" in service for service in services.values())
    assert (DEPLOY / services["roomful"]["build"]["context"] / "deploy/Dockerfile").is_file()
    for name, service in services.items():
        image = service.get("image", "")
        assert name == "roomful" or re.fullmatch(r"[a-z]+(/[a-z]+)?:\d+\.\d+", image), "pinned, from nowhere"


def test_what_the_image_is_made_of_is_there() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    copied = [name for line in lines if line.startswith("COPY ") for name in line.split()[1:-1]]
    assert [name for name in copied if not (DEPLOY.parent / name).exists()] == []


def test_the_unit_serves(here: Here) -> None:
    [program, *arguments] = shlex.split(_unit()["Service"]["ExecStart"])
    assert program.endswith("/bin/roomful")
    here.serves_until_told(arguments, _settings())


def test_without_its_first_lines_the_unit_is_one_process_on_sqlite(here: Here) -> None:
    [_, *arguments] = shlex.split(_unit()["Service"]["ExecStart"])
    settings = dict(list(_settings().items())[3:])
    with Watched([*ROOMFUL, *here.command(arguments)], here.folder, **settings) as running:
        running.said("Roomful is at")
        here.check_health()
        assert running.terminate() == 0
    assert (here.folder / "roomful.db").is_file()


def test_the_unit_leaves_time_to_stop() -> None:
    service = _unit()["Service"]
    assert service["KillMode"] == "mixed"
    assert int(service["TimeoutStopSec"]) > 30
    assert int(COMPOSE["services"]["roomful"]["stop_grace_period"].removesuffix("s")) > 30


def _entrypoint() -> list[str]:
    [line] = re.findall(r"^ENTRYPOINT (.*)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    return json.loads(line)


def _unit() -> configparser.ConfigParser:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # pyright: ignore[reportAttributeAccessIssue] - names as systemd writes them
    unit.read_string((DEPLOY / "roomful.service").read_text())
    return unit


def _settings() -> dict[str, str]:
    lines = (DEPLOY / "roomful.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
