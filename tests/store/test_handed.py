"""Messages that a run is given while it works: each is had by one step of one run, and none is lost."""

import asyncio

import msgspec
import pytest

from roomful.domain.errors import Conflict, NotFound
from roomful.domain.ports import Store
from roomful.domain.run_changes import AddRun, ExpectNoneHanded, Hand, SaveRun, TakeHanded
from roomful.domain.runs import Handed, RunStatus
from tests.store.things import LATER, NOON, run


def handed(message_id: str = "m", run_id: str = "r", at: str = NOON) -> Handed:
    return Handed(run_id=run_id, message_id=message_id, space_id="s", entity_id="ann", at=at)


def taken(one: Handed, step: int = 3) -> Handed:
    return msgspec.structs.replace(one, step=step)


async def took(store: Store, *these: Handed) -> bool:
    try:
        await store.commit([TakeHanded(these)])
    except Conflict:
        return False
    return True


@pytest.mark.parametrize("status", ["waiting_tool", "waiting_reply", "completed", "failed", "canceled"])
async def test_only_a_run_at_work_is_given_a_message(store: Store, status: RunStatus) -> None:
    await store.commit([AddRun(run("q")), AddRun(run("w", "running")), AddRun(run("r", status))])
    await store.commit([Hand(handed(run_id="q")), Hand(handed(run_id="w"))])

    with pytest.raises(Conflict) as conflict:
        await store.commit([Hand(handed())])
    assert conflict.value.outcome == handed()
    with pytest.raises(NotFound):
        await store.commit([Hand(handed(run_id="nobody"))])
    assert await store.handed("r") == []


async def test_messages_are_read_in_the_order_of_their_coming(store: Store) -> None:
    await store.commit([AddRun(run())])
    later = handed("a", at=LATER)
    await store.commit([Hand(later), Hand(handed("b"))])
    assert await store.handed("r") == [handed("b"), later]


async def test_a_message_is_taken_once(store: Store) -> None:
    await store.commit([AddRun(run()), Hand(handed())])

    results = await asyncio.gather(*(took(store, taken(handed(), step)) for step in range(10)))

    assert results.count(True) == 1
    assert await store.handed("r") == [taken(handed(), results.index(True))]


async def test_all_are_taken_or_none(store: Store) -> None:
    await store.commit([AddRun(run()), Hand(handed("a")), Hand(handed("b"))])
    assert await took(store, taken(handed("b"), 1))

    assert not await took(store, taken(handed("a"), 2), taken(handed("b"), 2))

    assert await store.handed("r") == [handed("a"), taken(handed("b"), 1)]


async def test_a_run_does_not_end_before_it_has_what_it_was_given(store: Store) -> None:
    await store.commit([AddRun(run()), ExpectNoneHanded("r"), Hand(handed())])
    with pytest.raises(Conflict):
        await store.commit([ExpectNoneHanded("r")])
    assert await took(store, taken(handed()))
    await store.commit([ExpectNoneHanded("r")])


@pytest.mark.parametrize("status", ["waiting_tool", "waiting_reply", "completed", "failed", "canceled"])
async def test_what_a_run_left_is_found(store: Store, status: RunStatus) -> None:
    await store.commit([AddRun(run()), Hand(handed("a")), Hand(handed("b"))])
    assert await took(store, taken(handed("a")))
    assert await store.handed_to_idle() == []

    await store.commit([SaveRun(run(status=status))])

    assert await store.handed_to_idle() == [handed("b")]
