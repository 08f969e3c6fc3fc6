"""Answers to requests with a key, and the house's own notes."""

import asyncio

import pytest

from roomful.domain.changes import AddMessage, Recall
from roomful.domain.errors import Conflict
from roomful.domain.ports import KnownAnswer, Store
from roomful.store import open_store
from tests.store.things import HandClock, ids, message, settle_in


def answer(text: bytes, owner: str = "ann", key: str = "k") -> Recall:
    return Recall(owner=owner, key=key, digest=b"\0\xff", status=201, answer=text)


async def test_of_many_with_one_key_one_is_stored(store: Store) -> None:
    await settle_in(store)
    outcomes = await asyncio.gather(
        *(store.commit([AddMessage(message(f"m{n}")), answer(b"%d" % n)]) for n in range(20)),
        return_exceptions=True,
    )

    assert outcomes[0] == [1, None]
    assert [type(outcome) for outcome in outcomes[1:]] == [Conflict] * 19
    assert await ids(store) == ["m0"]
    assert await store.known_answer("ann", "k") == KnownAnswer(digest=b"\0\xff", status=201, answer=b"0")


async def test_a_key_belongs_to_its_owner_and_outlives_a_restart(url: str, clock: HandClock) -> None:
    store = await open_store(url, clock)
    await store.commit([answer(b"of ann"), answer(b"of bo", owner="bo"), answer(b"", key="other")])
    await store.close()
    store = await open_store(url, clock)

    assert await store.known_answer("ann", "k") == KnownAnswer(b"\0\xff", 201, b"of ann")
    assert await store.known_answer("bo", "k") == KnownAnswer(b"\0\xff", 201, b"of bo")
    assert await store.known_answer("ann", "other") == KnownAnswer(b"\0\xff", 201, b"")
    assert await store.known_answer("cy", "k") is None
    with pytest.raises(Conflict):
        await store.commit([answer(b"again")])
    await store.close()


async def test_a_note_is_written_once(store: Store) -> None:
    assert await store.get_meta("epoch") is None
    await asyncio.gather(*(store.set_meta("epoch", f"e{number}") for number in range(10)))

    assert await store.get_meta("epoch") == "e0"
