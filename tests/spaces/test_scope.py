"""Who may hear what: a table."""

import asyncio
from typing import Any, cast

import pytest

from roomful.domain.ports import Store
from roomful.domain.runs import Run, Trigger
from roomful.domain.shape import UNSET
from roomful.domain.spaces import Member
from roomful.spaces.scope import Scope, place_of, scope_at
from tests.requirements import requirement


@requirement("X-04")
@pytest.mark.parametrize(
    ("learned_in", "here", "expected"),
    [
        pytest.param("s", "s", True, id="where it was learned"),
        pytest.param("s", "t", True, id="the same people"),
        pytest.param("s", "alone", True, id="fewer people"),
        pytest.param("alone", "s", False, id="one more person"),
        pytest.param("s", "guests", False, id="a reader who is not in the other space"),
        pytest.param("guests", "s", True, id="everybody here reads there, if only as a reader"),
        pytest.param("apart", "s", False, id="other people"),
        pytest.param("left", "s", False, id="the agent itself was sent away from there"),
        pytest.param("s", "left", False, id="the agent is not here any more, and ben never was there"),
        pytest.param("s", "empty", True, id="the agent alone reads here"),
        pytest.param("left", "empty", False, id="the agent alone reads here, and may not read there"),
        pytest.param("gone", "s", False, id="a space that is gone"),
        pytest.param("gone", "empty", False, id="a space that is gone, and nobody is here"),
        pytest.param(UNSET, "s", True, id="learned nowhere"),
        pytest.param(None, "guests", True, id="the owner's own"),
        pytest.param("s", None, True, id="nobody reads along"),
        pytest.param("gone", None, True, id="nobody reads along of what is gone"),
        pytest.param(UNSET, None, True, id="nowhere at all"),
    ],
)
def test_what_may_be_told_where(learned_in: Any, here: str | None, expected: bool) -> None:
    members = {
        "s": frozenset({"bot", "ann", "bo"}),
        "t": frozenset({"bot", "ann", "bo"}),
        "alone": frozenset({"bot", "ann"}),
        "guests": frozenset({"bot", "ann", "bo", "guest"}),
        "apart": frozenset({"bot", "eve"}),
        "left": frozenset({"ann", "bo", "ben"}),
        "empty": frozenset[str](),
    }

    assert Scope("bot", here, members).covers(learned_in) is expected


def run(**more: Any) -> Run:
    trigger = more.pop("trigger", Trigger("service"))
    return Run(
        id="r", agent_id="bot", status="running", trigger=trigger, root_run_id="r", created_at="", **more
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (run(), None),
        (run(trigger=Trigger("message", "s")), "s"),
        (run(trigger=Trigger("message", "s"), active_space_id="t"), "t"),
        (run(trigger=Trigger("call"), asks_in="s"), "s"),
    ],
)
def test_where_a_run_is(given: Run, expected: str | None) -> None:
    assert place_of(given) == expected


class Members:
    def __init__(self) -> None:
        self.asked: list[str] = []

    async def members(self, space_id: str) -> list[Member]:
        self.asked.append(space_id)
        return [Member(entity_id="bot", name="Bot", kind="agent", role="member")]


@pytest.mark.parametrize(
    ("here", "sources", "asked"),
    [
        pytest.param("s", [], [], id="nothing to tell"),
        pytest.param("s", ["s", UNSET, "s"], [], id="all from here"),
        pytest.param(None, ["s", "t"], [], id="nobody reads along"),
        pytest.param("s", ["t", "t"], ["s", "t"], id="each once"),
        pytest.param("s", ["known"], ["s"], id="what is known is not read again"),
    ],
)
def test_only_members_who_matter_are_read(here: str | None, sources: list[Any], asked: list[str]) -> None:
    store = Members()
    known = {"known": [Member(entity_id="bot", name="Bot", kind="agent", role="reader")]}

    scope = asyncio.run(scope_at(cast(Store, store), "bot", here, sources, known))

    assert store.asked == asked
    assert all(scope.covers(source) for source in sources)
