"""Entities, tokens, agents, and how somebody is erased."""

import pytest

from roomful.domain.changes import (
    AddEntity,
    AddMessage,
    AddToken,
    EraseEntity,
    PutAgent,
    Recall,
    RemoveAgent,
    RevokeTokens,
)
from roomful.domain.entities import Principal, Token
from roomful.domain.errors import Conflict, NotFound
from roomful.domain.messages import ReasoningPart, TextPart
from roomful.domain.ports import Store
from tests.store.things import LATER, NOON, agent, card, entity, message, say, seqs, settle_in


def token(id: str, entity_id: str = "ann", created_at: str = NOON) -> Token:
    return Token(id=id, entity_id=entity_id, created_at=created_at)


async def test_entities_are_listed_by_age(store: Store) -> None:
    young, old = entity("a", created_at=LATER), entity("b", "Bot", "agent")
    await store.commit([AddEntity(young), AddEntity(old)])

    assert await store.entities() == [old, young]
    assert await store.entity("b") == old
    assert await store.entity("c") is None


async def test_an_id_is_given_once(store: Store) -> None:
    await store.commit([AddEntity(entity("ann"))])

    with pytest.raises(Conflict):
        await store.commit([AddEntity(entity("ann", "Another"))])
    assert await store.entities() == [entity("ann")]


async def test_a_token_says_who_it_speaks_for(store: Store) -> None:
    await store.commit(
        [AddEntity(entity("hook", kind="service")), AddToken(token("t1", "hook"), b"\0digest\xff")]
    )

    assert await store.principal(b"\0digest\xff") == Principal(
        entity_id="hook", kind="service", token_id="t1"
    )
    assert await store.principal(b"\0digest") is None
    assert await store.principal(b"") is None


async def test_a_token_needs_an_entity_and_a_digest_of_its_own(store: Store) -> None:
    await settle_in(store)
    await store.commit([AddToken(token("t1"), b"one")])

    with pytest.raises(NotFound):
        await store.commit([AddToken(token("t2", "nobody"), b"two")])
    for taken in (AddToken(token("t1"), b"two"), AddToken(token("t2", "bo"), b"one")):
        with pytest.raises(Conflict):
            await store.commit([taken])


async def test_tokens_are_revoked_one_by_one_or_all(store: Store) -> None:
    await settle_in(store)
    await store.commit([AddToken(token(f"t{n}"), bytes([n])) for n in (1, 2, 3)])
    await store.commit([AddToken(token("t4", "bo"), b"bo")])

    await store.commit([RevokeTokens("ann", "t2")])
    assert await store.tokens("ann") == [token("t1"), token("t3")]
    assert await store.principal(bytes([2])) is None

    with pytest.raises(NotFound):
        await store.commit([RevokeTokens("ann", "t4")])

    await store.commit([RevokeTokens("ann")])
    assert (await store.tokens("ann"), len(await store.tokens("bo"))) == ([], 1)
    await store.commit([RevokeTokens("ann")])


async def test_an_agent_is_put_replaced_and_removed(store: Store) -> None:
    await store.commit([PutAgent(agent("b")), PutAgent(agent("a"), only_new=True)])
    with pytest.raises(Conflict):
        await store.commit([PutAgent(agent("a", "New"), only_new=True)])
    await store.commit([PutAgent(agent("b", "Newer"))])

    assert await store.agents() == [agent("a"), agent("b", "Newer")]
    assert await store.agent("b") == agent("b", "Newer")

    await store.commit([RemoveAgent("b")])
    assert await store.agent("b") is None
    with pytest.raises(NotFound):
        await store.commit([RemoveAgent("b")])


async def test_erasing_takes_the_name_the_tokens_and_every_text(store: Store) -> None:
    await settle_in(store, "s", "t")
    approval = card("c", args={"sum": 12})
    mixed = [TextPart(id="a", text="secret"), ReasoningPart(id="b", text="secret"), approval]
    await store.commit(
        [
            AddMessage(message("m1", parts=mixed)),
            AddMessage(message("m2", "a secret of Bo", entity_id="bo")),
            AddMessage(message("m3", "secret", space_id="t")),
            AddToken(token("t1"), b"one"),
            Recall(owner="ann", key="k", digest=b"d", status=201, answer=b'{"text":"secret"}'),
        ]
    )
    await store.commit([EraseEntity("ann", LATER)])

    erased = [TextPart(id="a", text=""), ReasoningPart(id="b", text=""), approval]
    expected = message("m1", parts=erased, seq=1)
    expected.updated_at = LATER
    assert await store.message("s", "m1") == expected
    assert await store.message("s", "m2") == message("m2", "a secret of Bo", entity_id="bo", seq=2)
    found, *_ = await store.history("s", query="secret", at=lambda: None)
    assert [row.id for row in found] == ["m2"]
    other = await store.message("t", "m3")
    assert other is not None
    assert other.text == ""
    assert await store.entity("ann") == entity("ann", "(erased)")
    assert await store.principal(b"one") is None
    assert await store.known_answer("ann", "k") is None
    assert (await seqs(store), await seqs(store, "t")) == ([1, 2], [1])


async def test_erasing_reaches_every_one_of_many(store: Store) -> None:
    await settle_in(store, "s", "t")
    await store.commit([AddMessage(message(f"m{n}", "secret", space_id="st"[n % 2])) for n in range(501)])
    await store.commit([EraseEntity("ann", LATER)])

    for space_id in ("s", "t"):
        rows, *_ = await store.history(space_id, limit=1000, at=lambda: None)
        assert not any("secret" in row.body for row in rows)


async def test_only_a_known_entity_can_be_erased(store: Store) -> None:
    await settle_in(store)
    await say(store, "hello", entity_id="nobody")

    with pytest.raises(NotFound):
        await store.commit([EraseEntity("nobody", LATER)])
    assert await store.message("s", "m1") == message("m1", "hello", entity_id="nobody", seq=1)
