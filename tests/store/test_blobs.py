"""Blobs: bytes that never change, whose they are, and the spaces they were shown in."""

import asyncio
import os
from typing import Any

import pytest

from roomful.domain.blobs import BLOB_LIMIT, Blob
from roomful.domain.changes import AddBlob, AddMessage, AddSpace, EraseEntity, RemoveSpace, ShowBlob
from roomful.domain.errors import Conflict, NotFound
from roomful.domain.ports import Store
from roomful.store import open_store
from tests.store.things import LATER, NOON, HandClock, ids, message, settle_in, space


def blob(id: str = "b", data: bytes = b"bytes", owner_id: str = "ann", **more: Any) -> AddBlob:
    media_type = more.pop("media_type", "text/plain")
    made = Blob(id=id, owner_id=owner_id, media_type=media_type, size=len(data), created_at=NOON, **more)
    return AddBlob(made, data)


@pytest.mark.parametrize("data", [b"", b"\0\xff'\"%s?\\", bytes(range(256)) * 5000])
async def test_a_blob_is_kept_as_it_is(store: Store, data: bytes) -> None:
    await settle_in(store)
    named = blob("b", data, name="Bericht 1.pdf", media_type="application/pdf")
    await store.commit([named, blob("c", data)])

    assert await store.blob("b") == named.blob
    assert await store.blob_data("b") == data
    assert await store.blob("c") == blob("c", data).blob
    assert await store.blob_spaces("b") == []


async def test_the_largest_blob_outlives_a_restart(url: str, clock: HandClock) -> None:
    data = os.urandom(1024) * (BLOB_LIMIT // 1024)
    store = await open_store(url, clock)
    await settle_in(store)
    await store.commit([blob("b", data)])
    await store.close()
    store = await open_store(url, clock)

    assert await store.blob_data("b") == data
    await store.close()


async def test_of_what_is_not_there_nothing_is_known(store: Store) -> None:
    assert await store.blob("b") is None
    assert await store.blob_data("b") is None
    assert await store.blob_spaces("b") == []


async def test_a_blob_is_added_once_and_has_an_owner(store: Store) -> None:
    await settle_in(store)
    await store.commit([blob("b", b"first")])
    with pytest.raises(Conflict):
        await store.commit([blob("b", b"second")])
    with pytest.raises(NotFound):
        await store.commit([blob("c", owner_id="nobody")])

    assert await store.blob_data("b") == b"first"
    assert await store.blob("c") is None


async def test_showing_twice_is_showing_once(store: Store) -> None:
    await settle_in(store, "s", "t")
    await store.commit([blob("b"), ShowBlob("b", "t"), ShowBlob("b", "t")])
    await asyncio.gather(*(store.commit([ShowBlob("b", "s")]) for _ in range(5)))

    assert await store.blob_spaces("b") == ["s", "t"]


@pytest.mark.parametrize(("blob_id", "space_id"), [("b", "nowhere"), ("nothing", "s")])
async def test_what_is_not_there_cannot_be_shown(store: Store, blob_id: str, space_id: str) -> None:
    await settle_in(store)
    await store.commit([blob("b")])
    with pytest.raises(NotFound):
        await store.commit([AddMessage(message("m1")), ShowBlob(blob_id, space_id)])

    assert await ids(store) == []
    assert await store.blob_spaces("b") == []


async def test_a_space_that_is_gone_shows_nothing(store: Store) -> None:
    await settle_in(store, "s", "t")
    await store.commit([blob("b"), ShowBlob("b", "s"), ShowBlob("b", "t")])
    await store.commit([RemoveSpace("s")])
    await store.commit([AddSpace(space("s"))])

    assert await store.blob_spaces("b") == ["t"]
    assert await store.blob_data("b") == b"bytes"


async def test_with_an_erased_entity_its_blobs_go(store: Store) -> None:
    await settle_in(store)
    await store.commit([blob("b"), blob("c", owner_id="bo"), ShowBlob("b", "s"), ShowBlob("c", "s")])
    await store.commit([EraseEntity("ann", LATER)])

    assert await store.blob("b") is None
    assert await store.blob_data("b") is None
    assert await store.blob_spaces("b") == []
    assert await store.blob_data("c") == b"bytes"
