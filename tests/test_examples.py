"""Every example is short, runs offline, uses public names alone and prints what its table says."""

import ast
import itertools
import json
import re
from contextlib import ExitStack
from pathlib import Path

import pytest

from roomful.bus import RedisBus
from tests.http.outside import furnish
from tests.requirements import requirement
from tests.servers.examples import EXAMPLES, run, running
from tests.servers.postgres import postgres_server
from tests.servers.redis import redis_server
from tests.servers.roomful import Roomful

PROGRAMS = sorted(EXAMPLES.rglob("*.py"))
PUBLIC = {"roomful", "roomful.agents_sdk", "roomful.bus", "roomful.client", "roomful.testing"}
README = (EXAMPLES / "README.md").read_text(encoding="utf-8")


def prints(name: str, **environment: str) -> None:
    """Just what the README says."""
    [shown] = re.findall(rf"^## {re.escape(name)}\n.*?```\n(.*?)```", README, re.DOTALL | re.MULTILINE)
    assert run(name, **environment) == shown.splitlines()


@pytest.mark.parametrize("example", PROGRAMS, ids=lambda path: path.stem)
def test_an_example_is_short_and_uses_public_names_alone(example: Path) -> None:
    text = example.read_text(encoding="utf-8")
    modules = {
        module
        for node in ast.walk(ast.parse(text))
        for module in (
            [one.name for one in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert {module for module in modules if module.split(".")[0] == "roomful"} <= PUBLIC
    assert len(text.splitlines()) <= 80


def test_the_table_has_every_example_with_its_command() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| .+? \| `([^`]+)` \|", README, re.MULTILINE)
    there = sorted(path.name for path in EXAMPLES.iterdir() if re.match(r"\d\d_", path.name))
    assert [name for name, _ in rows] == there
    for _, command in rows:
        assert (EXAMPLES.parent / command.split()[-1]).is_file()


@pytest.mark.parametrize(
    "name",
    [
        "01_hello_space.py",
        "02_python_tool.py",
        "04_approval_after_restart.py",
        "05_two_spaces_one_run.py",
        "06_sub_agent.py",
        "07_mcp_tool.py",
        "08_webhook.py",
        "13_embedded.py",
    ],
)
def test_an_example_prints_what_the_readme_shows(name: str) -> None:
    prints(name)


def test_a_cards_arguments_are_seen_growing() -> None:
    *grown, last = [line.split(" ", 1) for line in run("03_growing_card.py")]
    assert {status for status, _ in grown} == {"streaming"}
    titles = [ast.literal_eval(args)["title"] for _, args in grown]
    assert len(set(titles)) > 1
    assert all(after.startswith(before) for before, after in itertools.pairwise([*titles, "Summer party"]))
    assert last == ["ready", "{'title': 'Summer party', 'copies': 40}"]


def test_a_run_is_seen_at_both_gateways() -> None:
    with postgres_server() as postgres, redis_server() as redis:
        prints("12_two_gateways.py", DATABASE_URL=postgres.url, REDIS_URL=redis.url)


@requirement("B-03")
def test_an_agent_of_the_sdk_speaks_through_chat_send_alone() -> None:
    *published, last = run("10_chat_send.py")
    topics, payloads = zip(*(line.split(" ", 1) for line in published), strict=True)
    assert topics == ("chat:expedition", "chat:Planner")
    assert payloads[0] == payloads[1]
    payload = json.loads(payloads[0])
    assert (payload["sender"], payload["content"]) == ("agent:Scout", "The pass is open.")
    assert last == "I told Planner."


@requirement("B-08")
def test_what_an_agent_in_another_process_says_is_read_from_redis_here() -> None:
    with redis_server() as server:
        run("10_chat_send.py", REDIS_URL=server.url, AGENT_NAME="Ranger")
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
        with running("11_agent_outside.py", REDIS_URL=redis.url, AGENT_NAME="scout") as lines:
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
