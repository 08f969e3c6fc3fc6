"""Runs and their calls: who drives them, who may write, what they wait for."""

import asyncio

import msgspec
import pytest

from roomful.domain.changes import AddMessage, Change, RemoveSpace
from roomful.domain.errors import Conflict, LeaseLost, NotFound
from roomful.domain.messages import MemberAnswer
from roomful.domain.ports import Store
from roomful.domain.run_changes import (
    AddRun,
    Claimed,
    ClaimRun,
    EndLeases,
    ExpectCall,
    ExpectStatus,
    Guard,
    KeepAlive,
    Leave,
    Release,
    SaveCalls,
    SaveRun,
    SaveStep,
    TakeOver,
    Unblock,
)
from roomful.domain.runs import ACTIVE, Lease, RunError, Step, Usage
from tests.store.things import LATER, call, ids, message, pending, run, settle_in


async def claim(store: Store, owner: str, run_id: str = "r") -> Lease | None:
    [claimed] = await store.commit([ClaimRun(run_id, owner)])
    return claimed and claimed.lease


async def may_write(store: Store, lease: Lease) -> bool:
    try:
        await store.commit([Guard(lease)])
    except LeaseLost:
        return False
    return True


async def test_a_run_is_read_as_it_was_written(store: Store) -> None:
    whole = run(
        shown_in=["s"], usage=Usage(3, 4), pending_tool_calls=[pending("c")], error=RunError("x", "why")
    )
    await store.commit([AddRun(whole)])

    assert await store.run("r") == whole
    assert await store.run("q") is None
    with pytest.raises(Conflict):
        await store.commit([AddRun(run())])
    with pytest.raises(NotFound):
        await store.commit([SaveRun(run("q"))])


async def test_a_run_is_claimed_by_one(store: Store) -> None:
    await store.commit([AddRun(run()), *(KeepAlive(f"w{n}", 60.0) for n in range(20))])
    leases = await asyncio.gather(*(claim(store, f"w{n}") for n in range(20)))

    [lease] = [lease for lease in leases if lease is not None]
    assert lease == Lease(run_id="r", owner=lease.owner, fence=1)
    assert await claim(store, lease.owner) is None
    assert await store.unowned_runs() == []


async def test_a_run_is_free_again_when_its_worker_has_not_been_heard_of(store: Store) -> None:
    await store.commit([AddRun(run()), KeepAlive("w1", 60.0)])
    first = await claim(store, "w1")

    assert await store.unowned_runs() == []
    assert await claim(store, "w2") is None
    await store.commit([KeepAlive("w1", -0.5)])
    assert await store.unowned_runs() == ["r"]
    assert await claim(store, "w2") == Lease(run_id="r", owner="w2", fence=2)
    assert first is not None
    assert not await may_write(store, first)


async def test_the_runs_of_a_worker_that_leaves_are_free_at_once(store: Store) -> None:
    await store.commit([AddRun(run()), KeepAlive("w1", 60.0), KeepAlive("w2", 60.0)])
    await claim(store, "w1")
    await store.commit([Leave("w2")])
    assert await store.unowned_runs() == []
    await store.commit([Leave("w1")])

    assert await store.unowned_runs() == ["r"]
    assert await claim(store, "w2") == Lease(run_id="r", owner="w2", fence=2)


async def test_a_run_of_an_unknown_worker_is_free(store: Store) -> None:
    await store.commit([AddRun(run(), Lease(run_id="r", owner="never-heard-of", fence=7))])

    assert await store.unowned_runs() == ["r"]
    assert await claim(store, "w") == Lease(run_id="r", owner="w", fence=8)


@pytest.mark.parametrize("status", ["waiting_tool", "waiting_reply", "completed", "failed", "canceled"])
async def test_only_a_run_with_work_to_do_is_claimed(store: Store, status: str) -> None:
    await store.commit([AddRun(msgspec.structs.replace(run(), status=status))])

    assert await claim(store, "w") is None
    assert await store.unowned_runs() == []


async def test_the_oldest_unowned_run_comes_first(store: Store) -> None:
    await store.commit([AddRun(run("a", created_at=LATER)), AddRun(run("c")), AddRun(run("b", "running"))])

    assert await store.unowned_runs() == ["b", "c", "a"]
    assert await claim(store, "w", run_id="nothing") is None


async def test_a_run_may_be_driven_by_its_maker(store: Store) -> None:
    lease = Lease(run_id="r", owner="w", fence=1)
    await store.commit([KeepAlive("w", 60.0), AddRun(run(), lease)])

    assert await may_write(store, lease)
    assert await store.unowned_runs() == []


async def test_whoever_lost_the_lease_writes_nothing(store: Store) -> None:
    await settle_in(store)
    await store.commit([AddRun(run()), KeepAlive("w1", 60.0), KeepAlive("w2", 60.0)])
    old = await claim(store, "w1")
    assert old is not None
    why = RunError(code="limit", message="too long")
    [taken] = await store.commit([TakeOver("r", "w2", why)])

    new = Lease(run_id="r", owner="w2", fence=2)
    stopping = run(status="running", is_canceling=True, error=why)
    assert taken == Claimed(new, stopping, was_queued=False)
    stale: list[Change] = [AddMessage(message("m1")), SaveRun(run(status="failed")), Guard(old)]
    with pytest.raises(LeaseLost):
        await store.commit(stale)
    assert await store.run("r") == stopping
    assert await ids(store) == []
    await store.commit([Guard(new), SaveRun(run(status="failed"))])
    assert await store.run("r") == run(status="failed")


@pytest.mark.parametrize(("owner", "fence"), [("w", 0), ("w", 2), ("v", 1), ("", 1)])
async def test_a_lease_must_agree_in_owner_and_fence(store: Store, owner: str, fence: int) -> None:
    await store.commit([AddRun(run(), Lease(run_id="r", owner="w", fence=1))])

    assert not await may_write(store, Lease(run_id="r", owner=owner, fence=fence))
    assert not await may_write(store, Lease(run_id="q", owner="w", fence=1))
    assert await may_write(store, Lease(run_id="r", owner="w", fence=1))


async def test_a_released_run_is_nobodys(store: Store) -> None:
    lease = Lease(run_id="r", owner="w", fence=1)
    await store.commit([KeepAlive("w", 60.0), AddRun(run(), lease)])
    await store.commit([Guard(lease), Release("r")])

    assert not await may_write(store, lease)
    assert await store.unowned_runs() == ["r"]
    assert await claim(store, "w") == Lease(run_id="r", owner="w", fence=2)
    for absent in (Release("q"), TakeOver("q", "w")):
        with pytest.raises(NotFound):
            await store.commit([absent])


async def test_saving_a_run_leaves_its_lease_alone(store: Store) -> None:
    lease = Lease(run_id="r", owner="w", fence=5)
    await store.commit([AddRun(run(), lease), KeepAlive("w", 60.0)])
    await store.commit([SaveRun(run(status="running", active_space_id="s"))])

    assert await store.run("r") == run(status="running", active_space_id="s")
    assert await may_write(store, lease)
    assert await claim(store, "w2") is None


async def test_the_last_worker_frees_the_runs_of_all_others(store: Store) -> None:
    leases = [Lease(run_id=f"r{n}", owner=f"w{n}", fence=1) for n in (1, 2, 3)]
    await store.commit(
        [
            *(KeepAlive(lease.owner, 60.0) for lease in leases),
            *(AddRun(run(lease.run_id), lease) for lease in leases),
        ]
    )
    await store.commit([EndLeases(but="w2")])

    assert await store.unowned_runs() == ["r1", "r3"]


async def test_a_change_may_expect_a_status(store: Store) -> None:
    await store.commit([AddRun(run(status="running"))])
    await store.commit([ExpectStatus("r", ("queued", "running")), SaveRun(run(status="completed"))])

    with pytest.raises(Conflict) as caught:
        await store.commit([ExpectStatus("r", ("queued", "running")), SaveRun(run(status="failed"))])
    assert caught.value.outcome == run(status="completed")
    assert await store.run("r") == run(status="completed")
    with pytest.raises(NotFound):
        await store.commit([ExpectStatus("q", ("queued",))])


async def test_a_call_is_answered_once(store: Store) -> None:
    await store.commit([AddRun(run()), SaveCalls((call("c"),))])

    def answer(who: str) -> list[Change]:
        return [ExpectCall("c"), SaveCalls((call("c", status="complete", answered_by=who),))]

    outcomes = await asyncio.gather(
        *(store.commit(answer(f"e{n}")) for n in range(30)), return_exceptions=True
    )

    winner = await store.call("c")
    assert winner == call("c", status="complete", answered_by="e0")
    assert outcomes[0] == [None, None]
    assert [outcome.outcome for outcome in outcomes if isinstance(outcome, Conflict)] == [winner] * 29
    with pytest.raises(NotFound):
        await store.commit([ExpectCall("d")])


async def test_a_vote_counts_only_beside_those_it_was_added_to(store: Store) -> None:
    mine, yours = (MemberAnswer(entity_id=who, result=1, at=LATER) for who in ("me", "you"))
    await store.commit([AddRun(run()), SaveCalls((call("c"),))])
    await store.commit([ExpectCall("c", votes=()), SaveCalls((call("c", answers=[mine]),))])

    with pytest.raises(Conflict) as caught:
        await store.commit([ExpectCall("c", votes=()), SaveCalls((call("c", answers=[yours]),))])
    assert caught.value.outcome == call("c", answers=[mine])
    await store.commit([ExpectCall("c", votes=(mine,)), SaveCalls((call("c", answers=[mine, yours]),))])
    assert await store.call("c") == call("c", answers=[mine, yours])


async def test_calls_and_steps_come_in_the_order_they_were_made(store: Store) -> None:
    await store.commit([AddRun(run()), AddRun(run("q"))])
    await store.commit([SaveCalls((call("z", 1, 1), call("a", 2, 0), call("y", 1, 0)))])
    await store.commit([SaveCalls((call("other", run_id="q"),))])
    await store.commit([SaveStep(Step("r", 2, "b")), SaveStep(Step("r", 1, "a")), SaveStep(Step("q", 1))])
    await store.commit([SaveStep(Step("r", 1, "A", Usage(1, 2))), SaveCalls((call("z", 1, 1, "error"),))])

    assert await store.calls("r") == [call("y", 1, 0), call("z", 1, 1, "error"), call("a", 2, 0)]
    assert await store.steps("r") == [Step("r", 1, "A", Usage(1, 2)), Step("r", 2, "b")]
    assert await store.call("nothing") is None
    for orphan in (SaveCalls((call("c", run_id="none"),)), SaveStep(Step("none", 1))):
        with pytest.raises(NotFound):
            await store.commit([orphan])


async def test_a_run_waits_while_any_of_its_calls_does(store: Store) -> None:
    lease = Lease(run_id="r", owner="w", fence=1)
    waiting = run(status="waiting_tool", pending_tool_calls=[pending("a"), pending("b"), pending("gone")])
    await store.commit([KeepAlive("w", 60.0), AddRun(waiting, lease)])
    await store.commit([SaveCalls((call("a", told="go on"), call("b"), call("other")))])

    still = run(status="waiting_tool", pending_tool_calls=[pending("b")])
    assert await store.commit([Unblock("r")]) == [still]
    assert await store.run("r") == still
    assert await may_write(store, lease)
    assert await store.unowned_runs() == []

    settled = SaveCalls((call("b", status="complete", result=1),))
    assert await store.commit([settled, Unblock("r")]) == [None, run(status="queued")]
    assert await store.run("r") == run(status="queued")
    assert await store.unowned_runs() == ["r"]
    assert not await may_write(store, lease)

    assert await store.commit([Unblock("r")]) == [None]
    with pytest.raises(NotFound):
        await store.commit([Unblock("q")])


async def test_runs_are_listed_newest_first_and_by_what_they_are(store: Store) -> None:
    await settle_in(store, "s", "t")
    await store.commit(
        [
            AddRun(run("a", created_at="2026-01-01T00:00:00.001Z", shown_in=["s"])),
            AddRun(run("b", "running", created_at="2026-01-01T00:00:00.002Z", agent_id="other")),
            AddRun(run("c", "completed", created_at="2026-01-01T00:00:00.003Z", shown_in=["s", "t"])),
            AddRun(run("d", "waiting_reply", created_at="2026-01-01T00:00:00.004Z", shown_in=["t"])),
        ]
    )
    shown = run("a", created_at="2026-01-01T00:00:00.001Z", shown_in=["s", "t"])
    await store.commit([SaveRun(shown)])

    async def listed(**how: object) -> str:
        return "".join([one.id for one in await store.runs(**how)])  # pyright: ignore[reportArgumentType]

    assert await listed() == "dcba"
    assert await listed(limit=2) == "dc"
    assert await listed(agent_id="bot") == "dca"
    assert await listed(space_id="s") == "ca"
    assert await listed(space_id="t") == "dca"
    assert await listed(space_id="t", statuses=ACTIVE) == "da"
    assert await listed(statuses=ACTIVE) == "dba"
    assert await listed(statuses=("completed",)) == "c"
    assert await listed(agent_id="bot", statuses=("queued", "completed"), limit=1) == "c"
    assert await listed(agent_id="other", space_id="s") == ""
    assert (await store.runs(agent_id="bot", statuses=("queued",))) == [shown]

    ended = msgspec.structs.replace(shown, status="failed")
    await store.commit([SaveRun(ended)])
    assert await listed(space_id="t", statuses=ACTIVE) == "d"
    assert await listed(space_id="t", statuses=("failed",)) == "a"
    assert await listed(agent_id="bot", statuses=ACTIVE) == "d"


async def test_a_run_comes_not_back_into_a_space_that_was_removed(store: Store) -> None:
    await settle_in(store, "s", "t")
    await store.commit([AddRun(run("r", "running", shown_in=["s", "t"])), RemoveSpace("s")])
    await store.commit([SaveRun(run("r", "completed", shown_in=["s", "t"]))])

    assert await store.runs(space_id="s") == []
    assert [one.id for one in await store.runs(space_id="t")] == ["r"]


async def test_turns_go_on_after_a_worker_died_with_two_of_them(store: Store) -> None:
    """One was at work, and another was taken over to be canceled before its turn had come."""
    await store.commit([KeepAlive("one", 30), *(AddRun(run(id, in_turn=True)) for id in ("a", "b", "c"))])
    assert await claim(store, "one", "a")
    assert await claim(store, "one", "b") is None
    await store.commit([TakeOver("b", "one")])

    await store.commit([KeepAlive("two", 30), EndLeases(but="two")])
    assert await claim(store, "two", "b") is None
    first = await claim(store, "two", "a")
    assert first is not None
    assert await claim(store, "two", "b") is None
    await store.commit([Guard(first), SaveRun(run("a", "completed", in_turn=True))])
    assert await claim(store, "two", "c") is None
    assert await claim(store, "two", "b")
