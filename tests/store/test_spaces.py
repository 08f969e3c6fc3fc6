"""Spaces, who is in them, and what they have not read."""

import asyncio

import pytest
from msgspec.structs import replace

from roomful.domain.changes import (
    AddEntity,
    AddGrant,
    AddMessage,
    AddSpace,
    EraseEntity,
    ExpectOtherOwner,
    MarkRead,
    PutAgent,
    PutMember,
    RemoveAgent,
    RemoveMember,
    RemoveSpace,
    SaveSpace,
)
from roomful.domain.errors import Conflict, NotFound
from roomful.domain.grants import Grant
from roomful.domain.ports import Store
from roomful.domain.run_changes import AddRun
from roomful.domain.spaces import Company, Member, MySpace, Role
from roomful.store import open_store
from tests.requirements import requirement
from tests.store.things import (
    LATER,
    NOON,
    HandClock,
    agent,
    entity,
    message,
    run,
    say,
    seqs,
    settle_in,
    space,
)


async def test_a_space_is_added_saved_and_listed_by_age(store: Store) -> None:
    await store.commit([AddSpace(space("b", LATER)), AddSpace(space("c")), AddSpace(space("a", LATER))])
    with pytest.raises(Conflict):
        await store.commit([AddSpace(space("a"))])
    renamed = replace(space("c"), name="Renamed", flow="guarded")
    await store.commit([SaveSpace(renamed)])

    assert await store.all_spaces() == [renamed, space("a", LATER), space("b", LATER)]
    assert await store.space("c") == renamed
    assert await store.space("nowhere") is None
    with pytest.raises(NotFound):
        await store.commit([SaveSpace(space("nowhere"))])


async def test_a_space_that_was_changed_meanwhile_is_not_saved(store: Store) -> None:
    known = space("s")
    await store.commit([AddSpace(known)])
    guarded, renamed = replace(known, flow="guarded"), replace(known, name="Renamed")
    await store.commit([SaveSpace(guarded, was=known)])
    with pytest.raises(Conflict):
        await store.commit([SaveSpace(renamed, was=known)])
    assert await store.space("s") == guarded
    await store.commit([SaveSpace(renamed, was=guarded)])
    assert await store.space("s") == renamed
    with pytest.raises(NotFound):
        await store.commit([SaveSpace(space("nowhere"), was=space("nowhere"))])


async def test_of_two_processes_that_save_a_space_at_once_one_is_refused(
    postgres_url: str, clock: HandClock
) -> None:
    stores = [await open_store(postgres_url, clock) for _ in range(2)]
    known = space("s")
    await stores[0].commit([AddSpace(known)])
    for number in range(20):
        wanted = [replace(known, name=f"{name} {number}") for name in ("One", "Two")]
        saving = [one.commit([SaveSpace(new, was=known)]) for one, new in zip(stores, wanted, strict=True)]
        done = await asyncio.gather(*saving, return_exceptions=True)
        [won] = [new for new, result in zip(wanted, done, strict=True) if result == [None]]
        assert [type(result) for result in done if result != [None]] == [Conflict]
        assert await stores[0].space("s") == won
        known = won
    for store in stores:
        await store.close()


async def test_it_is_known_since_when_each_is_a_member(store: Store) -> None:
    await store.commit([AddEntity(entity("ann")), AddEntity(entity("bob")), AddSpace(space("s"))])
    await store.commit([PutMember("s", "ann", "member")])
    first = await store.joined("s")
    await store.commit([PutMember("s", "bob", "member"), PutMember("s", "ann", "owner")])
    both = await store.joined("s")
    assert both["ann"] == first["ann"] <= both["bob"]
    assert await store.joined("nowhere") == {}


async def test_agents_without_configuration_are_found_with_their_spaces(store: Store) -> None:
    people = [entity("ann"), entity("own", kind="agent"), entity("out", kind="agent")]
    await store.commit([*map(AddEntity, people), PutAgent(agent("own"))])
    for id in ("s", "t"):
        await store.commit([AddSpace(space(id)), *(PutMember(id, who.id, "member") for who in people)])
    assert await store.outside_agents() == [("s", "out"), ("t", "out")]
    await store.commit([RemoveMember("s", "out"), PutMember("t", "out", "reader")])
    assert await store.outside_agents() == [("t", "out")]


@requirement("B-09")
async def test_a_space_and_an_agent_never_have_the_same_id(store: Store) -> None:
    await store.commit(
        [AddEntity(entity("bot", kind="agent")), AddEntity(entity("ann")), AddSpace(space("s"))]
    )
    with pytest.raises(Conflict, match="There is an agent bot already, and a space may not have its id"):
        await store.commit([AddSpace(space("bot"))])
    with pytest.raises(Conflict, match="There is a space s already, and an agent may not have its id"):
        await store.commit([AddEntity(entity("s", kind="agent"))])
    await store.commit([AddSpace(space("ann")), AddEntity(entity("hook", kind="service"))])
    await store.commit([RemoveSpace("s"), AddEntity(entity("s", kind="agent"))])

    assert [each.id for each in await store.all_spaces()] == ["ann"]


async def test_members_are_listed_in_the_order_they_joined(store: Store, clock: HandClock) -> None:
    await settle_in(store)
    await store.commit([AddEntity(entity("zed", "Zed", "agent")), AddEntity(entity("cy", "Cy"))])
    for newcomer in ("zed", "bo"):
        clock.seconds += 1
        await store.commit([PutMember("s", newcomer, "member")])
    await store.commit([PutMember("s", "cy", "reader")])
    clock.seconds += 1
    await store.commit([PutMember("s", "zed", "reader")])

    assert await store.members("s") == [
        Member("ann", "Ann", "human", "owner"),
        Member("zed", "Zed", "agent", "reader"),
        Member("bo", "Bo", "human", "member"),
        Member("cy", "Cy", "human", "reader"),
    ]
    assert await store.role("s", "zed") == "reader"
    assert await store.role("s", "nobody") is None
    assert await store.role("nowhere", "ann") is None
    assert await store.space_and_role("s", "zed") == (space("s"), "reader")
    assert await store.space_and_role("s", "nobody") == (space("s"), None)
    assert await store.space_and_role("nowhere", "ann") == (None, None)


async def test_the_members_of_all_spaces_of_somebody_are_those_of_each(
    store: Store, clock: HandClock
) -> None:
    await settle_in(store)
    await store.commit([AddSpace(space("t")), AddSpace(space("u")), AddSpace(space("v"))])
    for newcomer, space_id in (("bo", "t"), ("ann", "t"), ("ann", "u"), ("bo", "v"), ("bo", "s")):
        clock.seconds += 1
        await store.commit([PutMember(space_id, newcomer, "reader")])

    roles: dict[str, Role] = {"s": "owner", "t": "reader", "u": "reader"}
    own = [Company(space(id), role, await store.members(id)) for id, role in roles.items()]
    assert await store.company("ann") == own
    assert await store.company("ann", "t") == own[1:2]
    assert await store.company("ann", "v") == []
    assert await store.company("ann", "nowhere") == []
    assert await store.company("nobody") == []


async def test_a_member_is_called_by_its_name_of_today(store: Store) -> None:
    await settle_in(store)
    await store.commit([EraseEntity("ann", LATER)])

    assert await store.members("s") == [Member("ann", "(erased)", "human", "owner")]


@pytest.mark.parametrize(("space_id", "entity_id"), [("s", "nobody"), ("nowhere", "bo")])
async def test_membership_joins_two_that_are_there(store: Store, space_id: str, entity_id: str) -> None:
    await settle_in(store)

    with pytest.raises(NotFound):
        await store.commit([PutMember(space_id, entity_id, "member")])


async def test_a_member_leaves_once(store: Store) -> None:
    await settle_in(store)
    await store.commit([PutMember("s", "bo", "member")])
    await store.commit([RemoveMember("s", "ann")])

    assert [member.entity_id for member in await store.members("s")] == ["bo"]
    with pytest.raises(NotFound):
        await store.commit([RemoveMember("s", "ann")])


async def test_the_only_owner_is_told_from_one_of_several(store: Store) -> None:
    await settle_in(store)
    await store.commit([PutMember("s", "bo", "member"), ExpectOtherOwner("s", "bo")])
    with pytest.raises(Conflict, match="ann is the only owner"):
        await store.commit([ExpectOtherOwner("s", "ann"), RemoveMember("s", "ann")])
    await store.commit([PutMember("s", "bo", "owner")])
    await store.commit([ExpectOtherOwner("s", "ann"), RemoveMember("s", "ann")])

    assert [member.entity_id for member in await store.members("s")] == ["bo"]


async def test_what_others_wrote_is_unread_until_it_is_marked(store: Store) -> None:
    await settle_in(store, "s", "t", "u")
    await store.commit([PutMember("s", "bo", "reader"), PutMember("t", "bo", "member")])
    await say(store, "one", "two", "three")
    await store.commit([AddMessage(message("own", entity_id="bo")), AddMessage(message("last"))])

    async def of_bo() -> list[MySpace]:
        return await store.my_spaces("bo")

    unread = MySpace(space=space("s"), role="reader", unread=4, last_seq=5)
    empty = MySpace(space=space("t"), role="member", unread=0, last_seq=0)
    assert await of_bo() == [unread, empty]

    await store.commit([MarkRead("s", "bo", 2)])
    assert [one.unread for one in await of_bo()] == [2, 0]
    await store.commit([MarkRead("s", "bo", 1)])
    assert [one.unread for one in await of_bo()] == [2, 0]
    await store.commit([MarkRead("s", "bo", 2**80)])
    assert [one.unread for one in await of_bo()] == [0, 0]
    await store.commit([AddMessage(message("newest"))])
    assert [one.unread for one in await of_bo()] == [1, 0]
    await store.commit([MarkRead("s", "stranger", 3)])
    assert await store.my_spaces("stranger") == []


async def test_nobody_is_told_of_more_than_a_thousand_unread(store: Store) -> None:
    await settle_in(store)
    await store.commit([PutMember("s", "bo", "member")])
    await store.commit([AddMessage(message(f"m{number}")) for number in range(1001)])

    assert [(one.unread, one.last_seq) for one in await store.my_spaces("bo")] == [(1000, 1001)]


async def test_a_space_made_anew_knows_nothing_of_the_one_before(store: Store) -> None:
    await settle_in(store)
    await say(store, "hello")
    await store.commit([AddRun(run(shown_in=["s"]))])
    await store.commit([RemoveSpace("s")])
    with pytest.raises(NotFound):
        await store.commit([RemoveSpace("s")])
    await store.commit([AddSpace(space("s"))])

    assert await store.members("s") == []
    assert await store.my_spaces("ann") == []
    assert await store.runs(space_id="s") == []
    assert await store.commit([AddMessage(message("new"))]) == [1]
    assert await seqs(store) == [1]


def grant(id: str, space_id: str) -> Grant:
    return Grant(id=id, space_id=space_id, agent_id="bot", tool_name="pay", granted_by="ann", created_at=NOON)


async def test_what_was_granted_goes_with_its_space_and_with_its_agent(store: Store) -> None:
    await settle_in(store, "s", "t")
    await store.commit([PutAgent(agent("bot")), AddGrant(grant("g", "s")), AddGrant(grant("h", "t"))])
    await store.commit([RemoveSpace("s"), AddSpace(space("s"))])
    assert [one.id for one in await store.grants_of("bot")] == ["h"]

    await store.commit([RemoveAgent("bot"), PutAgent(agent("bot"))])
    assert await store.grants_of("bot") == []
