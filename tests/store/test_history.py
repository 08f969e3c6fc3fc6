"""Pages: by place, by word, and exactly as far as what has been announced."""

import asyncio
from typing import Any

import msgspec
import pytest

from roomful.domain.changes import AddMessage, SaveMessage
from roomful.domain.errors import Invalid
from roomful.domain.messages import Message, ReasoningPart, TextPart
from roomful.domain.ports import PRIVATE, Store, StoredMessage
from tests.store.things import card, message, say, settle_in


async def page(store: Store, space_id: str = "s", **how: Any) -> tuple[list[int], bool]:
    rows, _, has_more, _ = await store.history(space_id, at=lambda: None, **how)
    return [row.seq for row in rows], has_more


async def found(store: Store, query: str, **how: Any) -> list[str]:
    rows, *_ = await store.history("s", query=query, at=lambda: None, **how)
    return [row.id for row in rows]


async def test_pages_go_both_ways(store: Store) -> None:
    await settle_in(store, "s", "t")
    await say(store, *"abcdefg")
    await store.commit([AddMessage(message("other", space_id="t"))])

    assert await page(store, limit=3) == ([5, 6, 7], True)
    assert await page(store, limit=7) == ([1, 2, 3, 4, 5, 6, 7], False)
    assert await page(store, before=5, limit=3) == ([2, 3, 4], True)
    assert await page(store, before=4, limit=3) == ([1, 2, 3], False)
    assert await page(store, before=1) == ([], False)
    assert await page(store, after=0, limit=3) == ([1, 2, 3], True)
    assert await page(store, after=4, limit=3) == ([5, 6, 7], False)
    assert await page(store, after=7) == ([], False)
    assert await page(store, after=2, before=5) == ([3, 4], False)
    assert await page(store, "t") == ([1], False)
    assert await page(store, "nowhere") == ([], False)


async def test_a_row_is_the_message_as_it_is_sent(store: Store) -> None:
    await settle_in(store)
    words = message("m1", "für 'alle' \"\\ \0 \U0001f600", run_id="r", status="open")
    cards = message("m2", parts=[card("c", target_entity_id="ann", args={"seq": 9, "text": '"seq":7,'})])
    await store.commit([AddMessage(words), AddMessage(cards)])

    rows, *_ = await store.history("s", at=lambda: None)

    words.seq, cards.seq = 1, 2
    assert rows == [
        StoredMessage(
            "m1",
            1,
            0,
            msgspec.json.encode(words).decode(),
        ),
        StoredMessage(
            "m2",
            2,
            PRIVATE,
            msgspec.json.encode(cards).decode(),
        ),
    ]


async def test_every_word_must_occur_in_the_texts_whatever_its_case(store: Store) -> None:
    await settle_in(store)
    await say(
        store, "The red Fox", "a RED herring", "STRASSE und Äpfel", "100% sure", "100 of us", "a_b", "a\\b"
    )
    hidden = [TextPart(id="a", text="see"), card("b", args={"text": "fox"}, target_entity_id="bo")]
    await store.commit([AddMessage(message("m8", parts=[*hidden, ReasoningPart(id="c", text="fox")]))])

    assert await found(store, "red") == ["m1", "m2"]
    assert await found(store, "fox RED") == ["m1"]
    assert await found(store, "straße äPFEL") == ["m3"]
    assert await found(store, "100%") == ["m4"]
    assert await found(store, "a_b") == ["m6"]
    assert await found(store, "a\\b") == ["m7"]
    assert await found(store, "fox herring") == []
    assert await found(store, "red\0") == []
    assert await found(store, " ") == [f"m{number}" for number in range(1, 9)]


async def test_what_was_found_has_pages_too(store: Store) -> None:
    await settle_in(store)
    await say(store, "yes", "no", "yes", "yes", "no", "yes")

    assert await page(store, query="yes", limit=2) == ([4, 6], True)
    assert await page(store, query="yes", limit=2, before=4) == ([1, 3], False)
    assert await page(store, query="yes", limit=2, after=1) == ([3, 4], True)


@pytest.mark.parametrize("query", ["a " * 17, "a" * 1001])
async def test_a_search_has_bounds(store: Store, query: str) -> None:
    with pytest.raises(Invalid, match="at most 16 words and 1000 characters"):
        await found(store, query)


async def test_a_changed_message_is_found_by_its_new_words(store: Store) -> None:
    await settle_in(store)
    await say(store, "before")
    await store.commit([SaveMessage(message("m1", "afterwards"))])

    assert (await found(store, "before"), await found(store, "afterwards")) == ([], ["m1"])


@pytest.mark.parametrize("query", [None, "word"])
async def test_a_page_holds_exactly_what_has_been_announced(store: Store, query: str | None) -> None:
    await settle_in(store)
    announced: list[str] = []
    producing = True

    async def produce(producer: int) -> None:
        for number in range(30):
            id = f"m-{producer}-{number}"
            await store.commit([AddMessage(message(id, "a word"))], lambda _, id=id: announced.append(id))

    async def read() -> int:
        pages = 0
        while producing:
            rows, _, _, heard = await store.history("s", limit=1000, query=query, at=announced.copy)
            assert [row.id for row in rows] == heard
            pages += 1
            await asyncio.sleep(0)
        return pages

    readers = [asyncio.ensure_future(read()) for _ in range(6)]
    await asyncio.gather(*(produce(producer) for producer in range(8)))
    producing = False

    assert min(await asyncio.gather(*readers)) > 3
    assert len(announced) == 240


async def test_a_page_shows_each_message_as_it_was_announced_last(store: Store) -> None:
    await settle_in(store)
    await store.commit([AddMessage(message("m1", "0"))])
    announced = 0
    producing = True

    def announce(version: int) -> None:
        nonlocal announced
        announced = version

    async def produce() -> None:
        for version in range(1, 200):
            await store.commit([SaveMessage(message("m1", str(version)))], lambda _, v=version: announce(v))

    async def read() -> None:
        while producing:
            [row], _, _, heard = await store.history("s", at=lambda: announced)
            assert msgspec.json.decode(row.body, type=Message).text == str(heard)
            await asyncio.sleep(0)

    readers = [asyncio.ensure_future(read()) for _ in range(4)]
    await produce()
    producing = False
    await asyncio.gather(*readers)


async def test_the_moment_is_looked_at_once_while_nothing_happens(store: Store) -> None:
    await settle_in(store)
    looks: list[str] = []
    await store.history("s", at=lambda: looks.append("look"))

    assert looks == ["look"]


async def test_a_look_that_fails_is_its_readers_alone(store: Store) -> None:
    await settle_in(store)
    commits = [store.commit([AddMessage(message(f"m{number}"))]) for number in range(100)]

    def fail() -> None:
        raise ZeroDivisionError

    pages = [store.history("s", at=fail, query="hello") for _ in range(4)]
    outcomes = await asyncio.gather(*pages, return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [ZeroDivisionError] * 4
    assert sorted(seq for [seq] in await asyncio.gather(*commits)) == list(range(1, 101))
