"""Whose runs are seen, and how much of them, when agents of several owners call each other."""

from typing import Any

from roomful.domain.ports import Descent
from roomful.domain.runs import Call, CalledAs, Place, Run, Step, Trigger
from roomful.domain.shape import UNSET
from roomful.domain.tools import Visibility
from roomful.domain.usage import Cost, Price, Usage
from roomful.recall.inspection import inspected

HERE = [Place(space_id="room", message_id="m", part_id="p")]


def run(name: str, depth: int) -> Run:
    return Run(
        id=f"run_{name}",
        agent_id=name,
        status="completed",
        trigger=Trigger(type="call", payload="a secret"),
        root_run_id="run_top",
        created_at="2026-03-02T08:00:00.000Z",
        parent_call_id=f"calls_{name}" if depth else UNSET,
        depth=depth,
        usage=Usage(input_tokens=depth, output_tokens=1),
        called_as=CalledAs(agent_id=name, name=name.title()) if depth else UNSET,
    )


def calls(by: str, whom: str, **more: Any) -> Call:
    fields: dict[str, Any] = {"visibility": Visibility.FULL, "seen_inside": Visibility.FULL, **more}
    return Call(
        id=f"calls_{whom}",
        run_id=f"run_{by}",
        step=0,
        index=0,
        tool_name=f"ask_{whom}",
        args={"prompt": whom},
        status="complete",
        **fields,
    )


def seen(*below: Call, mine: tuple[str, ...]) -> list[tuple[str, bool, list[str | None]]]:
    """Each run, whether it is seen whole, and the runs that its calls lead to."""
    names = ["top", *(call.id.removeprefix("calls_") for call in below)]
    runs = [run(name, depth) for depth, name in enumerate(names)]
    steps = [Step(run_id=one.id, number=0, text=f"{one.id} thinks") for one in runs]
    tree = Descent(runs=runs[1:], calls=list(below), steps=steps)
    found = inspected(runs[0], tree, {f"run_{name}" for name in mine}, {})
    return [
        (
            one.run.agent_id,
            one.run.trigger.payload is not UNSET,
            [call.child_run_id or None for call in one.calls],
        )
        for one in found
    ]


def test_ones_own_are_seen_whole_also_below_anothers_that_are_not_seen() -> None:
    hidden = calls("top", "other", visibility=Visibility.HIDDEN)
    assert seen(hidden, calls("other", "own"), mine=("top", "own")) == [
        ("top", True, [None]),
        ("own", True, []),
    ]


def test_anothers_are_seen_inside_a_part_however_far_above_it() -> None:
    found = seen(
        calls("top", "own", places=HERE), calls("own", "other"), calls("other", "far"), mine=("top", "own")
    )
    assert found == [
        ("top", True, ["run_own"]),
        ("own", True, ["run_other"]),
        ("other", False, ["run_far"]),
        ("far", False, []),
    ]


def test_what_anothers_agent_does_not_show_inside_is_not_seen() -> None:
    for shown, told in ((Visibility.STATUS, [None]), (Visibility.HIDDEN, [])):
        far = calls("other", "far", seen_inside=shown, places=HERE)
        assert seen(calls("top", "other", places=HERE), far, mine=("top",)) == [
            ("top", True, ["run_other"]),
            ("other", False, told),
        ]


def test_a_call_without_a_part_shows_nothing_of_anothers_run() -> None:
    assert seen(calls("top", "other"), mine=("top",)) == [("top", True, [None])]


def test_a_step_without_a_price_matters_when_it_used_tokens() -> None:
    top = run("top", 0)
    for used, cost in ((Usage(1, 0), UNSET), (Usage(), Cost(amount=0.000005))):
        steps = [
            Step(run_id=top.id, number=0, usage=used),
            Step(run_id=top.id, number=1, usage=Usage(1, 2), price=Price(input=1, output=2)),
        ]
        [seen_whole] = inspected(top, Descent(runs=[], calls=[], steps=steps), {top.id}, {})
        assert seen_whole.cost == cost
