"""The record against a plain model of it, on both engines: whatever is written in whatever order, it holds
what the model holds."""

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from roomful.domain.blobs import Blob
from roomful.domain.changes import (
    AddBlob,
    AddEntity,
    AddGrant,
    AddMessage,
    AddSpace,
    Change,
    PutAgent,
    PutMember,
    PutMemories,
    Recall,
    RemoveGrant,
    RemoveMember,
    RemoveMemories,
    SaveMessage,
    ShowBlob,
)
from roomful.domain.errors import Conflict, LeaseLost, NotFound, OverBound, RoomfulError
from roomful.domain.grants import Grant
from roomful.domain.memories import Memory
from roomful.domain.ports import KnownAnswer, Store
from roomful.domain.run_changes import (
    AddRun,
    ClaimRun,
    ExpectCall,
    Guard,
    KeepAlive,
    Leave,
    Release,
    SaveCalls,
    TakeOver,
)
from roomful.domain.runs import Lease
from roomful.store import open_store
from tests.servers.postgres import PostgresServer
from tests.store.things import NOON, HandClock, agent, call, entity, ids, message, run, seqs, space

SPACES = ("s", "t")
PEOPLE = ("ann", "bo")
WORKERS = ("one", "two")
MOST_MEMORIES = 3

spaces, people, workers = map(st.sampled_from, (SPACES, PEOPLE, WORKERS))
few = st.integers(0, 3)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
"""As they come to a store: `clean_text` has taken out what it cannot hold."""


class StoreMachine(RuleBasedStateMachine):
    url: str

    @initialize()
    def open(self) -> None:
        self.runner = asyncio.Runner()
        self.store: Store = self.runner.run(open_store(self.url, HandClock()))
        self.numbers = itertools.count()
        self.said: dict[str, list[tuple[str, str]]] = {id: [] for id in SPACES}
        self.members: dict[tuple[str, str], str] = {}
        self.known: dict[str, bytes] = {}
        self.alive: set[str] = set()
        self.owners: dict[str, tuple[str | None, int]] = {}
        self.calls: dict[str, str] = {}
        self.grants: dict[str, str] = {}
        self.memories: dict[tuple[str, str], Any] = {}
        self.blobs: dict[str, tuple[bytes, set[str]]] = {}
        changes: list[Change] = [AddEntity(entity(id, id)) for id in PEOPLE]
        changes += [AddSpace(space(id)) for id in SPACES]
        self._commit([*changes, PutAgent(agent("bot"))])

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.runner.run(self.store.close())
            self.runner.close()

    def _commit(self, changes: Sequence[Change]) -> list[Any]:
        async def commit() -> list[Any]:
            return await self.store.commit(changes)

        return self.runner.run(commit())

    def _refused(self, changes: Sequence[Change], error: type[RoomfulError]) -> None:
        with pytest.raises(error):
            self._commit(changes)

    @rule(places=st.lists(spaces, min_size=1, max_size=4), text=texts, fails=st.booleans())
    def say(self, places: list[str], text: str, fails: bool) -> None:
        new = [(place, f"m{next(self.numbers)}") for place in places]
        changes: list[Change] = [AddMessage(message(id, text, place)) for place, id in new]
        if fails:
            self._refused([*changes, AddMessage(message("nowhere", space_id="nowhere"))], NotFound)
            return
        answers = self._commit(changes)
        for (place, id), seq in zip(new, answers, strict=True):
            self.said[place].append((id, text))
            assert seq == len(self.said[place])

    @rule(place=spaces, at=few, text=texts)
    def edit(self, place: str, at: int, text: str) -> None:
        if at >= len(self.said[place]):
            self._refused([SaveMessage(message("unheard-of", text, place))], NotFound)
            return
        id, _ = self.said[place][at]
        self._commit([SaveMessage(message(id, text, place))])
        self.said[place][at] = (id, text)

    @rule(place=spaces, who=people, role=st.sampled_from(("owner", "member", "reader")))
    def join(self, place: str, who: str, role: Any) -> None:
        self._commit([PutMember(place, who, role)])
        self.members[place, who] = role

    @rule(place=spaces, who=people)
    def leave(self, place: str, who: str) -> None:
        if (place, who) not in self.members:
            self._refused([RemoveMember(place, who)], NotFound)
            return
        self._commit([RemoveMember(place, who)])
        del self.members[place, who]

    @rule(key=few.map(str), answer=st.binary(max_size=4), place=spaces)
    def ask_with_a_key(self, key: str, answer: bytes, place: str) -> None:
        """The message and the answer are stored together, or neither is."""
        id = f"m{next(self.numbers)}"
        changes = [AddMessage(message(id, key, place)), Recall("ann", key, b"digest", 201, answer)]
        if key in self.known:
            self._refused(changes, Conflict)
            return
        self._commit(changes)
        self.known[key] = answer
        self.said[place].append((id, key))

    @rule(worker=workers, lives=st.booleans())
    def live_or_leave(self, worker: str, lives: bool) -> None:
        self._commit([KeepAlive(worker, 60) if lives else Leave(worker)])
        (self.alive.add if lives else self.alive.discard)(worker)

    @rule(at=few)
    def start(self, at: int) -> None:
        id = f"r{at}"
        if id in self.owners:
            self._refused([AddRun(run(id))], Conflict)
            return
        self._commit([AddRun(run(id)), SaveCalls((call(f"c-{id}", run_id=id),))])
        self.owners[id] = (None, 0)
        self.calls[f"c-{id}"] = "waiting"

    @rule(at=few, worker=workers)
    def claim(self, at: int, worker: str) -> None:
        owner, fence = self.owners.get(f"r{at}", (None, -1))
        [claimed] = self._commit([ClaimRun(f"r{at}", worker)])
        lease = claimed and claimed.lease
        if fence < 0 or owner in self.alive:
            assert lease is None
        else:
            assert lease == Lease(run_id=f"r{at}", owner=worker, fence=fence + 1)
            self.owners[f"r{at}"] = (worker, fence + 1)

    @rule(at=few, worker=workers)
    def take_over(self, at: int, worker: str) -> None:
        if (known := self.owners.get(f"r{at}")) is None:
            self._refused([TakeOver(f"r{at}", worker)], NotFound)
            return
        self._commit([TakeOver(f"r{at}", worker)])
        self.owners[f"r{at}"] = (worker, known[1] + 1)

    @rule(at=few, worker=workers, fence=few, place=spaces, releases=st.booleans())
    def write_under_a_lease(self, at: int, worker: str, fence: int, place: str, releases: bool) -> None:
        id = f"m{next(self.numbers)}"
        changes: list[Change] = [Guard(Lease(f"r{at}", worker, fence)), AddMessage(message(id, "x", place))]
        if self.owners.get(f"r{at}") != (worker, fence):
            self._refused(changes, LeaseLost)
            return
        self._commit([*changes, Release(f"r{at}")] if releases else changes)
        self.said[place].append((id, "x"))
        if releases:
            self.owners[f"r{at}"] = (None, fence)

    @rule(at=few, status=st.sampled_from(("complete", "error", "canceled")))
    def settle(self, at: int, status: Any) -> None:
        """The first one wins, and the others are told who did."""
        id = f"c-r{at}"
        changes = [ExpectCall(id), SaveCalls((call(id, run_id=f"r{at}", status=status),))]
        if id not in self.calls:
            self._refused(changes, NotFound)
        elif self.calls[id] != "waiting":
            self._refused(changes, Conflict)
        else:
            self._commit(changes)
            self.calls[id] = status

    @rule(at=few, place=spaces)
    def grant_or_take_back(self, at: int, place: str) -> None:
        id = f"g{at}"
        if id not in self.grants:
            self._commit([AddGrant(Grant(id, place, "bot", "pay", "ann", NOON))])
            self.grants[id] = place
        elif self.grants[id] != place:
            self._refused([RemoveGrant(place, id)], NotFound)
        else:
            self._commit([RemoveGrant(place, id)])
            del self.grants[id]

    @rule(place=spaces, key=texts.filter(lambda key: "\0" not in key), value=texts)
    def remember(self, place: str, key: str, value: str) -> None:
        memory = Memory("bot", key, value, NOON, NOON, space_id=place)
        change = PutMemories("bot", (memory,), MOST_MEMORIES)
        if (place, key) not in self.memories and len(self.memories) >= MOST_MEMORIES:
            self._refused([change], OverBound)
            return
        self._commit([change])
        self.memories[place, key] = value

    @rule(at=few)
    def forget(self, at: int) -> None:
        if at < len(self.memories):
            place = list(self.memories)[at]
            assert self._commit([RemoveMemories("bot", (place,))]) == [1]
            del self.memories[place]

    @rule(at=few, data=st.binary(max_size=9), place=spaces)
    def keep_a_file(self, at: int, data: bytes, place: str) -> None:
        id = f"b{at}"
        if id in self.blobs:
            self._refused([AddBlob(Blob(id, "ann", "text/plain", 1, NOON), data)], Conflict)
            self._commit([ShowBlob(id, place)])
        else:
            self._commit([AddBlob(Blob(id, "ann", "text/plain", len(data), NOON), data), ShowBlob(id, place)])
            self.blobs[id] = (data, set())
        self.blobs[id][1].add(place)

    @invariant()
    def it_holds_what_was_written(self) -> None:
        if hasattr(self, "store"):
            self.runner.run(self._compare())

    async def _compare(self) -> None:
        store = self.store
        for place, said in self.said.items():
            assert await ids(store, place) == [id for id, _ in said]
            assert await seqs(store, place) == list(range(1, len(said) + 1))
            members = {one.entity_id: one.role for one in await store.members(place)}
            assert members == {who: role for (at, who), role in self.members.items() if at == place}
            granted = {one.id for one in await store.grants_in(place)}
            assert granted == {id for id, at in self.grants.items() if at == place}
            for id, text in said[-2:]:
                stored = await store.message(place, id)
                assert stored is not None
                assert [part.text for part in stored.parts] == [_clean(text)]  # type: ignore[union-attr]
        for key, answer in self.known.items():
            assert await store.known_answer("ann", key) == KnownAnswer(b"digest", 201, answer)
        found = {(one.space_id, one.key): one.value for one in await store.memories_of("bot")}
        assert found == self.memories
        for id, status in self.calls.items():
            stored_call = await store.call(id)
            assert stored_call is not None
            assert stored_call.status == status
        free = {id for id, (owner, _) in self.owners.items() if owner not in self.alive}
        assert set(await store.unowned_runs()) == free
        for id, (data, shown) in self.blobs.items():
            assert await store.blob_data(id) == data
            assert await store.blob_spaces(id) == sorted(shown)


def _clean(text: str) -> str:
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _run(url_of: Any, examples: int, steps: int) -> None:
    numbers = itertools.count()

    class Machine(StoreMachine):
        @property
        def url(self) -> str:  # type: ignore[override]
            return url_of(next(numbers))

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )


def test_sqlite_holds_what_the_model_holds(tmp_path: Path) -> None:
    _run(lambda number: f"sqlite:///{tmp_path / f'{number}.db'}", examples=15, steps=40)


def test_postgres_holds_what_the_model_holds(postgres: PostgresServer) -> None:
    _run(lambda number: f"{postgres.url}&schema=stateful_{number}", examples=6, steps=40)


@pytest.mark.long
def test_sqlite_holds_what_the_model_holds_for_long(tmp_path: Path) -> None:
    _run(lambda number: f"sqlite:///{tmp_path / f'{number}.db'}", examples=400, steps=80)


@pytest.mark.long
def test_postgres_holds_what_the_model_holds_for_long(postgres: PostgresServer) -> None:
    _run(lambda number: f"{postgres.url}&schema=stateful_{number}", examples=150, steps=80)
