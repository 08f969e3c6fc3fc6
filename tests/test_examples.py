"""Every example is short and runs offline."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from roomful.bus import RedisBus
from tests.http.outside import furnish
from tests.requirements import requirement
from tests.servers.postgres import postgres_server
from tests.servers.redis import redis_server
from tests.servers.roomful import Roomful

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name: str, **environment: str) -> list[str]:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name)]
    clean = {key: value for key, value in os.environ.items() if key in ("PATH", "PYTHONPATH", "HOME")}
    done = subprocess.run(command, env=clean | environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@contextmanager
def running(name: str, **environment: str) -> Iterator[Iterator[str]]:
    """An example that goes on until it is stopped, and what it says."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / name)]
    clean = {key: value for key, value in os.environ.items() if key in ("PATH", "PYTHONPATH", "HOME")}
    process = subprocess.Popen(
        command, env=clean | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert process.stdout is not None
        yield iter(process.stdout)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_is_short(example: Path) -> None:
    assert len(example.read_text(encoding="utf-8").splitlines()) <= 80


@requirement("B-03")
def test_an_agent_of_the_sdk_speaks_through_chat_send_alone() -> None:
    *published, last = run("01_chat_send.py")
    topics, payloads = zip(*(line.split(" ", 1) for line in published), strict=True)
    assert topics == ("chat:expedition", "chat:Planner")
    assert payloads[0] == payloads[1]
    payload = json.loads(payloads[0])
    assert (payload["sender"], payload["content"]) == ("agent:Scout", "The pass is open.")
    assert last == "I told Planner."


@requirement("B-08")
def test_what_an_agent_in_another_process_says_is_read_from_redis_here() -> None:
    with redis_server() as server:
        run("01_chat_send.py", REDIS_URL=server.url, AGENT_NAME="Ranger")
        bus = RedisBus(server.url)
        [message] = bus.read("chat:Planner")
        bus.close()
    assert (message.payload["sender"], message.payload["recipient"]) == ("agent:Ranger", "agent:Planner")


@requirement("B-10")
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_an_agent_outside_talks_with_a_person_in_a_space(tmp_path: Path, database: str) -> None:
    with ExitStack() as servers:
        redis = servers.enter_context(redis_server())
        url = servers.enter_context(postgres_server()).url if database == "postgres" else None
        house = servers.enter_context(Roomful(tmp_path, "--bus", redis.url, database=url))
        ada = furnish(house)
        with running("02_agent_outside.py", REDIS_URL=redis.url, AGENT_NAME="scout") as lines:
            assert next(lines) == "waiting on chat:scout\n"
            with ada.listen("room") as listener:
                ada.say("room", "@scout hello")
                listener.wait_for("smartSpace.message", count=2)
                ada.say("room", "and again", mentions=["scout"])
                listener.wait_for("smartSpace.message", count=4)
            assert next(lines) == "user:ada: @scout hello -> I answered.\n"
        said = [(message["entityId"], message["parts"][0]["text"]) for message in ada.messages("room")]

    assert said == [
        ("ada", "@scout hello"),
        ("scout", "You said: @scout hello"),
        ("ada", "and again"),
        ("scout", "You said: and again"),
    ]


def test_a_program_with_a_gateway_inside_shares_its_port_and_its_functions_with_agents() -> None:
    assert run("03_embedded.py") == ["[in_stock {'product': 'laptop'}: 3]", "There are 3 left."]
