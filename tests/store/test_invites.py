"""Invitations: one of them lets one in, once, in time, and while its maker owns the space."""

import asyncio
from typing import Any

import pytest

from roomful.domain.changes import AddEntity, AddInvite, PutMember, RemoveMember, RemoveSpace, UseInvite
from roomful.domain.errors import Conflict, NotFound
from roomful.domain.invites import Invite, Joined
from roomful.domain.ports import Store
from tests.store.things import HandClock, entity, say, settle_in


def invite(clock: HandClock, digest: bytes = b"d", space_id: str = "s", **more: Any) -> AddInvite:
    role, seconds = more.pop("role", "member"), more.pop("seconds", 60)
    return AddInvite(
        Invite(digest=digest, space_id=space_id, role=role, expires_at=clock.now() + seconds, **more)
    )


@pytest.mark.parametrize("role", ["member", "reader"])
async def test_whoever_redeems_it_is_a_member(store: Store, clock: HandClock, role: str) -> None:
    await settle_in(store)
    await store.commit([invite(clock, role=role, maker_id="ann")])

    assert await store.commit([UseInvite(b"d", "bo")]) == [Joined(space_id="s", role=role)]  # pyright: ignore[reportArgumentType]
    assert await store.role("s", "bo") == role


async def test_it_has_one_winner(store: Store, clock: HandClock) -> None:
    await settle_in(store)
    people = [f"p{number}" for number in range(20)]
    await store.commit([AddEntity(entity(person)) for person in people])
    await store.commit([invite(clock)])
    answers = await asyncio.gather(
        *(store.commit([UseInvite(b"d", person)]) for person in people), return_exceptions=True
    )

    assert [answer for answer in answers if isinstance(answer, list)] == [[Joined("s", "member")]]
    assert sum(isinstance(answer, NotFound) for answer in answers) == 19
    assert len(await store.members("s")) == 2


async def test_unknown_used_and_expired_are_one_answer(store: Store, clock: HandClock) -> None:
    await settle_in(store)
    await store.commit([AddEntity(entity("cy")), invite(clock, b"used"), invite(clock, b"late")])
    await store.commit([UseInvite(b"used", "bo")])
    clock.seconds += 60
    said: set[str] = set()
    for digest in (b"unknown", b"used", b"late"):
        with pytest.raises(NotFound) as refused:
            await store.commit([UseInvite(digest, "cy")])
        said.add(refused.value.detail)

    assert len(said) == 1
    assert await store.role("s", "cy") is None


async def test_a_member_keeps_the_role_and_the_invitation_stays_good(store: Store, clock: HandClock) -> None:
    await settle_in(store)
    await store.commit([invite(clock, role="reader", maker_id="ann")])
    with pytest.raises(Conflict):
        await store.commit([UseInvite(b"d", "ann")])

    assert await store.role("s", "ann") == "owner"
    assert await store.commit([UseInvite(b"d", "bo")]) == [Joined("s", "reader")]


async def test_it_ends_with_its_makers_ownership(store: Store, clock: HandClock) -> None:
    await settle_in(store)
    await store.commit([PutMember("s", "bo", "owner"), invite(clock, maker_id="bo")])
    await store.commit([RemoveMember("s", "bo")])
    with pytest.raises(NotFound):
        await store.commit([UseInvite(b"d", "bo")])

    assert await store.role("s", "bo") is None


async def test_it_ends_with_its_space(store: Store, clock: HandClock) -> None:
    await settle_in(store)
    await store.commit([invite(clock)])
    await store.commit([RemoveSpace("s")])
    with pytest.raises(NotFound):
        await store.commit([UseInvite(b"d", "bo")])
    with pytest.raises(NotFound):
        await store.commit([invite(clock)])


async def test_nobody_is_let_in_who_is_not_there(store: Store, clock: HandClock) -> None:
    await settle_in(store)
    await store.commit([invite(clock)])
    with pytest.raises(NotFound):
        await store.commit([UseInvite(b"d", "nobody")])

    assert await store.commit([UseInvite(b"d", "bo")]) == [Joined("s", "member")]


async def test_a_store_counts_what_it_stores(store: Store, clock: HandClock) -> None:
    await settle_in(store)
    before = store.figures().messages_stored
    await say(store, "one", "two")

    assert store.figures().messages_stored - before == 2
    assert store.figures().commits_waiting == 0
