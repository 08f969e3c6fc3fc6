"""What a commit promises: order, all or nothing, and that nobody's mistake is anybody else's."""

import asyncio
import logging
import threading
from typing import Any

import pytest

from roomful.domain.changes import AddMessage, AddSpace, MarkRead, PutMember, RemoveMember, SaveSpace
from roomful.domain.errors import Conflict, Invalid, NotFound, RoomfulError, Unavailable
from roomful.domain.messages import TextPart
from roomful.domain.ports import Store
from roomful.domain.run_changes import KeepAlive, SaveStep
from roomful.domain.runs import Step
from roomful.store import open_store
from tests.store.things import HandClock, ids, message, seqs, settle_in, space


async def test_what_follows_runs_in_the_order_of_handing_in_and_before_the_answers(store: Store) -> None:
    await settle_in(store)
    heard: list[Any] = []

    def hand_in(number: int) -> asyncio.Future[None]:
        async def wait() -> None:
            answered.append(await commit)

        commit = store.commit([AddMessage(message(f"m{number}"))], heard.append)
        return asyncio.ensure_future(wait())

    answered: list[Any] = []
    await asyncio.gather(*(hand_in(number) for number in range(1, 101)))

    assert heard == [[number] for number in range(1, 101)]
    assert answered == heard
    assert await ids(store) == [f"m{number}" for number in range(1, 101)]


async def test_what_is_handed_in_together_is_stored_together(store: Store) -> None:
    """However soon the one that writes could have begun with the first."""
    await settle_in(store)
    before = sum(store.figures().batch_sizes.counts)
    commits: list[asyncio.Future[Any]] = []
    idle = threading.Event()
    for number in range(1, 41):
        commits.append(asyncio.ensure_future(store.commit([AddMessage(message(f"m{number}"))])))
        idle.wait(0.0005)  # The writing thread has the time to begin, if it is let.

    await asyncio.gather(*commits)

    assert sum(store.figures().batch_sizes.counts) - before == 1


async def test_the_answer_comes_after_what_follows(store: Store) -> None:
    heard: list[str] = []
    commit = asyncio.ensure_future(store.commit([AddSpace(space())], lambda _: heard.append("then")))
    commit.add_done_callback(lambda _: heard.append("answer"))
    await commit
    await asyncio.sleep(0)

    assert heard == ["then", "answer"]


async def test_one_result_per_change(store: Store) -> None:
    await settle_in(store)

    results = await store.commit(
        [AddMessage(message("m1")), MarkRead("s", "ann", 1), AddMessage(message("m2"))]
    )

    assert results == [1, None, 2]


async def test_a_commit_that_fails_changes_nothing_and_is_not_announced(store: Store) -> None:
    await settle_in(store)
    heard: list[Any] = []

    with pytest.raises(NotFound):
        await store.commit(
            [AddMessage(message("m1")), AddSpace(space("t")), RemoveMember("s", "bo")], heard.append
        )

    assert heard == []
    assert await store.space("t") is None
    assert await ids(store) == []
    assert await store.commit([AddMessage(message("m1"))]) == [1]


async def test_commits_that_are_stored_together_fail_apart(store: Store) -> None:
    await settle_in(store)
    heard: list[int] = []
    commits = [
        store.commit(
            [AddMessage(message(f"m{number}")), SaveSpace(space("s" if number % 3 else "nowhere"))],
            lambda results: heard.append(results[0]),
        )
        for number in range(1, 31)
    ]
    outcomes = await asyncio.gather(*commits, return_exceptions=True)

    good = [number for number in range(1, 31) if number % 3]
    assert [type(outcome) for outcome in outcomes[2::3]] == [NotFound] * 10
    assert await ids(store) == [f"m{number}" for number in good]
    assert await seqs(store) == heard == list(range(1, 21))


async def test_many_producers_leave_no_gap_in_any_space(store: Store) -> None:
    await settle_in(store, "s", "t", "u")
    taken: dict[str, list[int]] = {"s": [], "t": [], "u": []}

    async def produce(producer: int) -> None:
        for number in range(12):
            space_id = "stu"[(producer + number) % 3]
            new = message(f"m-{producer}-{number}", space_id=space_id)
            [seq] = await store.commit([AddMessage(new)], lambda r, id=space_id: taken[id].append(r[0]))
            if number % 4 == 0:
                with pytest.raises(Conflict):
                    await store.commit([AddMessage(new)])
            assert seq > 0

    await asyncio.gather(*(produce(producer) for producer in range(50)))

    for space_id, heard in taken.items():
        assert heard == list(range(1, 201))
        assert await seqs(store, space_id) == heard


@pytest.mark.parametrize("failure", [ZeroDivisionError, asyncio.CancelledError])
async def test_a_callback_that_fails_stops_nobody(
    store: Store, caplog: pytest.LogCaptureFixture, failure: type[BaseException]
) -> None:
    heard: list[str] = []

    def fail(_: list[Any]) -> None:
        raise failure("what a pity")

    first = store.commit([AddSpace(space("a"))], fail)
    second = store.commit([AddSpace(space("b"))], lambda _: heard.append("b"))
    with caplog.at_level(logging.ERROR, "roomful.store"):
        await asyncio.gather(first, second)

    assert heard == ["b"]
    assert "what a pity" in caplog.text
    assert await store.space("a") == space("a")


async def test_what_changes_after_it_was_handed_in_is_stored_as_it_was(store: Store) -> None:
    await settle_in(store)
    growing = message("m1", "as it was")
    commit = store.commit([AddMessage(growing)])
    growing.parts.append(TextPart(id="p2", text="too late"))
    await commit

    assert await store.message("s", "m1") == message("m1", "as it was", seq=1)


async def test_a_caller_that_gives_up_takes_nothing_back(store: Store) -> None:
    heard: list[str] = []
    commit = asyncio.ensure_future(store.commit([AddSpace(space())], lambda _: heard.append("stored")))
    commit.cancel()
    await store.commit([KeepAlive("w", 1.0)])

    assert heard == ["stored"]
    assert await store.space("s") == space()


async def test_a_commit_of_nothing_still_takes_its_turn(store: Store) -> None:
    heard: list[str] = []
    commits = [
        store.commit([AddSpace(space("a"))], lambda _: heard.append("a")),
        store.commit([], lambda _: heard.append("nothing")),
        store.commit([AddSpace(space("b"))], lambda _: heard.append("b")),
    ]

    assert await asyncio.gather(*commits) == [[None], [], [None]]
    assert heard == ["a", "nothing", "b"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(AddMessage(message("m", "\ud800")), id="a lone surrogate in a text"),
        pytest.param(PutMember("s", "\ud800", "member"), id="a lone surrogate in an id"),
        pytest.param(SaveStep(Step(run_id="r", number=2**80)), id="a number beyond 64 bits"),
        pytest.param(AddMessage(message("m", mentions=[object()])), id="no JSON"),
    ],
)
async def test_odd_values_are_refused_to_their_caller_alone(store: Store, change: Any) -> None:
    await settle_in(store)
    odd = store.commit([change])
    sound = store.commit([AddMessage(message("m1"))])

    with pytest.raises(Invalid):
        await odd
    assert await sound == [1]


async def test_a_nul_in_a_text_is_kept(store: Store) -> None:
    await settle_in(store)
    await store.commit([AddMessage(message("m1", "nul\0nul"))])

    assert await store.message("s", "m1") == message("m1", "nul\0nul", seq=1)


async def test_no_more_than_a_bound_may_wait(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roomful.store.writer.MOST_WAITING", 10)
    commits = [store.commit([KeepAlive(f"w{number}", 1.0)]) for number in range(12)]
    outcomes = await asyncio.gather(*commits, return_exceptions=True)

    assert [isinstance(outcome, Unavailable) for outcome in outcomes] == [False] * 10 + [True] * 2
    assert await store.commit([KeepAlive("w", 1.0)]) == [None]


async def test_closing_stores_what_was_handed_in_and_refuses_the_rest(url: str, clock: HandClock) -> None:
    store = await open_store(url, clock)
    heard: list[int] = []
    commits = [store.commit([AddSpace(space(f"s{n}"))], lambda _, n=n: heard.append(n)) for n in range(300)]
    await store.close()

    assert await asyncio.gather(*commits) == [[None]] * 300
    assert heard == list(range(300))
    with pytest.raises(Unavailable):
        await store.commit([AddSpace(space("late"))])
    for read in (store.all_spaces(), store.history("s1", at=lambda: None), store.get_meta("x")):
        with pytest.raises(RoomfulError):
            await read
    again = await open_store(url, clock)
    assert len(await again.all_spaces()) == 300
    await again.close()


async def test_a_commit_that_builds_on_one_that_failed_fails_too(store: Store) -> None:
    await settle_in(store)
    lost = asyncio.ensure_future(store.commit([AddMessage(message("m1")), AddMessage(message("m1"))]))
    sequel = asyncio.ensure_future(store.commit([AddMessage(message("m2"))], after=lost))
    third = asyncio.ensure_future(store.commit([AddMessage(message("m3"))], after=sequel))
    own = asyncio.ensure_future(store.commit([AddMessage(message("m4"))]))

    results = await asyncio.gather(lost, sequel, third, own, return_exceptions=True)
    assert [type(one) for one in results] == [Conflict, Conflict, Conflict, list]
    with pytest.raises(Conflict):
        await store.commit([AddMessage(message("m5"))], after=lost)
    assert await store.commit([AddMessage(message("m6"))], after=own) == [2]
    assert await ids(store) == ["m4", "m6"]
