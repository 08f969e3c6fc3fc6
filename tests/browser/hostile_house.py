"""A demo with agents in it that say and call whatever the corpus has."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.browser.hostile_cards import CardCase
from tests.servers.roomful import Caller, Roomful

_EXECUTION: dict[str, dict[str, Any]] = {
    "shows": {"mode": "pass-through"},
    "gives": {"mode": "static"},
    "asks": {"mode": "no-execution"},
    "needs consent": {"mode": "pass-through"},
}


def tool_of(case: CardCase) -> dict[str, Any]:
    execution = {**_EXECUTION[case.acts], **({"output": case.result} if case.acts == "gives" else {})}
    return {
        "name": case.tool,
        "description": "Draw it.",
        "executionType": "basic",
        "execution": execution,
        "visibility": "full",
        "display": {"customUI": case.ui},
        **({"approval": True} if case.acts == "needs consent" else {}),
    }


def _call(case: CardCase, arguments: str) -> str:
    return f"{{tool: {case.tool}, arguments: {arguments}}}"


def script_of(cases: list[CardCase]) -> str:
    """All at once, and for finding out which one it was, each alone."""
    together = ",\n  ".join(_call(case, f"&a{case.number} {json.dumps(case.args)}") for case in cases)
    alone = [
        f"- when: {{contains: case {case.number}.}}\n  calls: [{_call(case, f'*a{case.number}')}]"
        for case in cases
    ]
    return "\n".join(["chunk: 4000", "turns:", f"- when: {{contains: all}}\n  calls: [{together}]", *alone])


def agent_of(agent_id: str, cases: list[CardCase], name: str = "Mallory") -> dict[str, Any]:
    return {
        "id": agent_id,
        "name": name,
        "model": f"scripted:{agent_id}",
        "dialect": "composite",
        "speaks": "both",
        "limits": {"callsPerRun": 1000},
        "tools": [tool_of(case) for case in cases],
    }


def _agents(folder: Path, agents: Iterable[dict[str, Any]], scripts: dict[str, str]) -> None:
    (folder / "scripts").mkdir(parents=True)
    for name, script in scripts.items():
        (folder / "scripts" / f"{name}.yaml").write_text(script, encoding="utf-8")
    for agent in agents:
        (folder / f"{agent['id']}.json").write_text(json.dumps(agent), encoding="utf-8")


@contextmanager
def hostile_house(
    folder: Path, agents: Iterable[dict[str, Any]], scripts: dict[str, str]
) -> Iterator[Roomful]:
    _agents(folder / "agents", agents, scripts)
    with Roomful(folder, "--demo", "--agents", str(folder / "agents")) as house:
        yield house


def person_of(house: Roomful, who: str) -> Caller:
    people = house.client.get(f"{house.url}/api/door").json()["people"]
    return Caller(house, next(each["token"] for each in people if each["id"] == who), who)
