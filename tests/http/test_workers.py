"""`roomful serve --workers N`: equal processes on one port, looked after by one that only looks."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.servers.fake_openai import HANG, Answer, FakeOpenAI, text
from tests.servers.postgres import PostgresServer, postgres_server
from tests.servers.redis import RedisServer, redis_server
from tests.servers.roomful import PATIENCE, free_port
from tests.servers.watched import ROOMFUL, Watched, get, is_gone, wait_until


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


class Pair(Watched):
    """Two processes that serve, and the one that looks after them."""

    def __init__(self, folder: Path, port: int, database: str, bus: str) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.serve = ["serve", "--port", str(port), "--database", database, "--bus", bus, "--workers", "2"]
        super().__init__([*ROOMFUL, *self.serve], folder)


@pytest.fixture
def pair(
    tmp_path: Path, postgres: PostgresServer, redis: RedisServer, request: pytest.FixtureRequest
) -> Iterator[Pair]:
    schema = re.sub(r"\W", "_", request.node.name)[:60]
    with Pair(tmp_path, free_port(), f"{postgres.url}&schema={schema}", redis.url) as pair:
        pair.said("Roomful is at")
        yield pair


def test_all_of_them_serve_and_sigterm_ends_them_with_zero(pair: Pair) -> None:
    [one, other] = pair.children()
    key = pair.said("admin key").split()[-1]
    assert len([line for line in pair.lines if "admin key" in line]) == 1
    for stopped in (one, other):
        os.kill(stopped, signal.SIGSTOP)
        try:
            assert get(f"{pair.url}/readyz").status_code == 200
            assert get(f"{pair.url}/api/spaces", key).status_code == 200
        finally:
            os.kill(stopped, signal.SIGCONT)
    assert pair.terminate() == 0
    assert is_gone(one)
    assert is_gone(other)


def test_a_process_that_died_is_replaced_while_the_others_serve(pair: Pair) -> None:
    [first, _] = pair.children()
    os.kill(first, signal.SIGKILL)
    assert get(f"{pair.url}/readyz").status_code == 200
    pair.said("a process ended (exit code -9)")
    pair.said("serves", 3)
    assert pair.terminate() == 0


def test_one_that_dies_again_and_again_is_waited_for_longer_and_longer(pair: Pair) -> None:
    for count in range(1, 4):
        pair.said("serves", count + 1)
        os.kill(pair.children()[-1], signal.SIGKILL)
        pair.said("the next one starts in", count)
    pauses = [line.rpartition(" in ")[2] for line in pair.lines if "the next one starts in" in line]
    assert pauses == ["0.5 s\n", "1 s\n", "2 s\n"]
    assert pair.terminate(signal.SIGINT) == 0


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_goes_on_in_another_process(pair: Pair, model: FakeOpenAI, how: signal.Signals) -> None:
    """Both are ended, one after the other: the one that drives it is among them."""
    admin = {"authorization": f"Bearer {pair.said('admin key').split()[-1]}"}
    brain = {"name": "openai:fake", "baseUrl": model.base_url}
    agent = {"id": "helper", "name": "Helper", "model": brain, "tools": []}
    alone = httpx.Limits(max_keepalive_connections=0)
    model.answer(Answer([HANG]), Answer(text("Done.")))
    with httpx.Client(base_url=pair.url, headers=admin, timeout=PATIENCE, limits=alone) as client:
        client.post("/api/agents", json=agent).raise_for_status()
        started = client.post("/api/agents/helper/trigger", json={"serviceName": "timer", "payload": {}})
        model.wait_for_requests(1)
        for number, child in enumerate(pair.children()):
            os.kill(child, how)
            pair.said("serves", 3 + number)
        run = f"/api/runs/{started.json()['runId']}"
        wait_until(lambda: client.get(run).json()["status"] == "completed")
    assert len(model.requests) == 2
    assert pair.terminate() == 0


def test_when_the_supervisor_is_killed_the_others_stop_by_themselves(pair: Pair) -> None:
    children = pair.children()
    pair.kill()
    wait_until(lambda: all(is_gone(child) for child in children))
    with pytest.raises(httpx.TransportError):
        get(f"{pair.url}/readyz")


@pytest.mark.long
def test_one_that_does_not_end_is_killed_and_that_is_no_success(pair: Pair) -> None:
    [stuck, _] = pair.children()
    os.kill(stuck, signal.SIGSTOP)
    assert pair.terminate(seconds=2 * PATIENCE) == 1
    assert is_gone(stuck)


def test_a_port_that_is_taken_is_said_in_words(pair: Pair, tmp_path: Path) -> None:
    assert "cannot listen on 127.0.0.1" in _refusal(tmp_path, *pair.serve)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--database", "sqlite:///x.db", "--bus", "redis://x"], "Use --database postgresql://"),
        (["--database", "postgresql://x", "--bus", "memory:"], "Use --bus redis://"),
        (["--workers", "0"], "settings: Expected `int` >= 1 - at `$.workers`"),
    ],
)
def test_several_processes_without_anything_to_share_are_refused(
    tmp_path: Path, flags: list[str], words: str
) -> None:
    assert words in _refusal(tmp_path, "serve", "--workers", "2", *flags)
    assert list(tmp_path.iterdir()) == []


def _refusal(folder: Path, *arguments: str) -> str:
    refused = subprocess.run(
        [*ROOMFUL, *arguments], cwd=folder, capture_output=True, text=True, timeout=PATIENCE
    )
    assert refused.returncode == 1
    return refused.stderr
