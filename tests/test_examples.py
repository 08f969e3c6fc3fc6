"""Every example is short and runs offline."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from roomful.bus import RedisBus
from tests.requirements import requirement
from tests.servers.redis import redis_server

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name: str, **environment: str) -> list[str]:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name)]
    clean = {key: value for key, value in os.environ.items() if key in ("PATH", "PYTHONPATH", "HOME")}
    done = subprocess.run(command, env=clean | environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


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
