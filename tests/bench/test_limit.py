"""The limit is one: it says the same as the gateway, and nothing of it is left out."""

import asyncio
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from roomful.bench import marks
from roomful.bench.load import Line
from roomful.bench.processes import Cores
from roomful.bench.sizes import QUICK
from roomful.bench.stage import Side, Stage


def events(body: bytes) -> list[dict[str, Any]]:
    """The data of each event in a chunked body."""
    whole = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        whole, body = whole + body[: int(size, 16)], body[int(size, 16) + 2 :]
    lines = [line for line in whole.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


async def said(side: Side) -> list[dict[str, Any]]:
    line = Line(side.port)
    answer = await line.ask(side.request, keeps=True)
    line.close()
    return events(answer.body)


def texts_of_gateway(told: list[dict[str, Any]]) -> list[str]:
    calls: defaultdict[str, str] = defaultdict(str)
    for event in told:
        for _, path, value in event.get("ops", ()):
            assert path == "/text"
            calls[event["toolCallId"]] += value
    return list(calls.values())


def texts_of_raw(told: list[dict[str, Any]]) -> list[str]:
    calls: defaultdict[str, str] = defaultdict(str)
    for event in told:
        if event["type"] == "tool-input-delta":
            calls[event["call"]] += event.get("delta", "")
    return [json.loads(arguments)["text"] for arguments in calls.values()]


@pytest.mark.parametrize("model", ["calls-1x200", "calls-5x7"])
def test_both_sides_tell_the_same_deltas(tmp_path: Path, model: str) -> None:
    async def both() -> tuple[list[str], list[str]]:
        async with Stage(tmp_path, Cores(), QUICK, lambda: None) as stage:
            gateway, raw = await stage.sides(model)
            return texts_of_gateway(await said(gateway)), texts_of_raw(await said(raw))

    gateway, raw = asyncio.run(both())
    calls, _, deltas = model.removeprefix("calls-").partition("x")
    numbers = iter(range(int(calls) * int(deltas)))
    assert raw == ["".join(marks.delta(next(numbers)) for _ in range(int(deltas))) for _ in range(int(calls))]
    assert gateway == raw
