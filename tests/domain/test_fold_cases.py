"""The fold's golden cases. The page's own fold passes the same ones, in web/client/test/fold.test.ts."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roomful.domain.answers import Snapshot, run_as_told
from roomful.domain.events import SpaceEvent
from roomful.domain.fold import SpaceView
from roomful.domain.reading import Draining, Truncated, read_event

CASES = json.loads((Path(__file__).parents[1] / "data" / "fold_cases.json").read_text())


def event_of(name: str, data: dict[str, Any]) -> SpaceEvent:
    event = read_event(name, json.dumps(data).encode())
    assert event is not None
    assert not isinstance(event, Snapshot | Draining | Truncated)
    return event


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_folds(case: dict[str, Any]) -> None:
    first = msgspec.convert(case["snapshot"], Snapshot)
    view = SpaceView()
    view.load(first.messages, first.members, [run_as_told(run, "room") for run in first.runs])
    for name, data in case["events"]:
        view.apply(event_of(name, data))

    after = {"messages": view.messages(), "members": [*view.members.values()], "runs": [*view.runs.values()]}
    expected = case["after"] | {"runs": [{"spaceId": "room", **run} for run in case["after"]["runs"]]}
    assert msgspec.to_builtins(after) == expected


def test_an_event_stays_as_it_was_told_when_its_message_grows() -> None:
    place = {"spaceId": "room", "messageId": "m", "partId": "p", "runId": "r"}
    part = {"type": "text", "id": "p", "text": "so ", "status": "streaming"}
    message = {
        "id": "m",
        "spaceId": "room",
        "entityId": "bot",
        "seq": 1,
        "status": "open",
        "role": "assistant",
        "parts": [part],
        "createdAt": "2026-01-02T12:00:00.000Z",
        "updatedAt": "2026-01-02T12:00:00.000Z",
    }
    told = event_of("smartSpace.message", {"spaceId": "room", "message": message})
    before = msgspec.json.encode(told)
    view = SpaceView()
    view.apply(told)
    view.apply(event_of("text-delta", {**place, "delta": "far", "offset": 3}))
    view.apply(event_of("text-end", place))

    [grown] = view.messages()
    assert msgspec.to_builtins(grown.parts) == [{**part, "text": "so far", "status": "complete"}]
    assert msgspec.json.encode(told) == before
