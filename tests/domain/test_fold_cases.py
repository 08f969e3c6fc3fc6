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

    assert msgspec.to_builtins([view.messages(), list(view.members.values())]) == [
        case["after"]["messages"],
        case["after"]["members"],
    ]
    assert {run.run_id: run.status for run in view.runs.values()} == case["after"]["runs"]
