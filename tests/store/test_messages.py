"""Single messages: their place, their changes, their answers."""

import msgspec
import pytest

from roomful.domain.changes import AddMessage, RemoveSpace, SaveMessage, SaveParts
from roomful.domain.errors import Conflict, NotFound
from roomful.domain.messages import TextPart
from roomful.domain.ports import Store
from tests.store.things import LATER, card, ids, message, seqs, settle_in, space


async def test_a_message_is_read_as_it_was_written(store: Store) -> None:
    await settle_in(store)
    whole = message(
        "m1", "hi", run_id="r", mentions=["bo"], reply_to="m0", attachments=["f"], client_message_id="c"
    )

    assert await store.commit([AddMessage(whole)]) == [1]
    whole.seq = 1
    assert await store.message("s", "m1") == whole
    assert await store.message("t", "m1") is None
    assert await store.message("s", "m2") is None


async def test_a_message_needs_a_space_and_an_id_of_its_own(store: Store) -> None:
    await settle_in(store, "s", "t")
    await store.commit([AddMessage(message("m1"))])

    with pytest.raises(NotFound):
        await store.commit([AddMessage(message("m2", space_id="nowhere"))])
    with pytest.raises(Conflict):
        await store.commit([AddMessage(message("m1", space_id="t"))])
    assert await store.commit([AddMessage(message("m2")), AddMessage(message("m3", space_id="t"))]) == [2, 1]


async def test_a_message_may_be_saved_before_its_place_is_known(store: Store) -> None:
    await settle_in(store)
    first = store.commit([AddMessage(message("m0")), AddMessage(message("m1", "a", status="open"))])
    await store.commit([SaveMessage(message("m1", "a, then b", seq=0))])
    await first

    assert await store.message("s", "m1") == message("m1", "a, then b", seq=2)
    assert await seqs(store) == [1, 2]


async def test_only_a_stored_message_can_be_saved(store: Store) -> None:
    await settle_in(store, "s", "t")
    await store.commit([AddMessage(message("m1"))])

    for stranger in (message("m2"), message("m1", space_id="t")):
        with pytest.raises(NotFound):
            await store.commit([SaveMessage(stranger)])


@pytest.mark.parametrize("id", ['"seq":1,', '\\"seq\\":1,', "seq", '","seq":1,"x":"', "naïve"])
async def test_ids_that_look_like_json_do_no_harm(store: Store, id: str) -> None:
    await settle_in(store)
    await store.commit([AddMessage(message("m0")), AddMessage(message(id, id, entity_id=id))])
    await store.commit([SaveMessage(message(id, id + id, entity_id=id))])

    assert await store.message("s", id) == message(id, id + id, entity_id=id, seq=2)


async def test_a_message_is_saved_if_it_is_still_as_it_was_read(store: Store) -> None:
    await settle_in(store)
    await store.commit([AddMessage(message("m1", "a"))])
    was = message("m1", "a", seq=1)

    await store.commit([SaveMessage(message("m1", "b"), was)])
    with pytest.raises(Conflict):
        await store.commit([AddMessage(message("m2")), SaveMessage(message("m1", "c"), was)])
    assert await store.message("s", "m1") == message("m1", "b", seq=1)
    assert await ids(store) == ["m1"]
    with pytest.raises(NotFound):
        await store.commit([SaveMessage(message("m3"), message("m3", seq=3))])


async def test_an_answer_outlives_a_writer_that_has_not_heard_of_it(store: Store) -> None:
    await settle_in(store)
    waiting, other = card("c"), card("d")
    answered = card("c", status="complete", result={"ok": True}, answered_by="ann", answered_at=NOW)
    text = TextPart(id="t", text="Please decide")
    await store.commit([AddMessage(message("m1", parts=[text, waiting, other], status="open"))])
    await store.commit([SaveMessage(message("m1", parts=[text, answered, other], status="open"))])

    more = TextPart(id="u", text="Thank you")
    ignorant = message("m1", parts=[text, card("c", status="canceled"), card("d", status="canceled"), more])
    await store.commit([SaveMessage(ignorant)])

    expected = message("m1", parts=[text, answered, card("d", status="canceled"), more], seq=1)
    assert await store.message("s", "m1") == expected

    corrected = card("c", status="complete", result={"ok": False}, answered_by="bo", answered_at=LATER)
    await store.commit([SaveMessage(message("m1", parts=[text, corrected]))])
    assert await store.message("s", "m1") == message("m1", parts=[text, corrected], seq=1)


async def test_a_card_that_was_agreed_to_does_not_run_on_in_a_final_message(store: Store) -> None:
    await settle_in(store)
    agreed = card("c", status="running", answered_by="ann", answered_at=NOW)
    await store.commit([AddMessage(message("m1", parts=[card("c")], status="open"))])
    await store.commit([SaveParts("s", "m1", (agreed,))])

    await store.commit([SaveMessage(message("m1", parts=[card("c", status="canceled")]))])

    stopped = card("c", status="canceled", answered_by="ann", answered_at=NOW)
    assert await store.message("s", "m1") == message("m1", parts=[stopped], seq=1)


async def test_a_part_is_saved_in_the_message_as_it_is_by_then(store: Store) -> None:
    await settle_in(store)
    answered = card("c", status="complete", result=1, answered_by="ann", answered_at=NOW)
    await store.commit([AddMessage(message("m1", parts=[card("c"), card("d")], status="open"))])
    await store.commit([SaveMessage(message("m1", parts=[card("c"), card("d")], mentions=["bo"]))])

    saved = await store.commit([SaveParts("s", "m1", (answered,)), SaveParts("s", "gone", (answered,))])

    expected = message("m1", parts=[answered, card("d")], mentions=["bo"], seq=1)
    assert saved == [expected, None]
    assert await store.message("s", "m1") == expected


async def test_the_open_messages_of_a_run(store: Store) -> None:
    await settle_in(store, "s", "t")
    await store.commit(
        [
            AddMessage(message("m1", run_id="r", status="open")),
            AddMessage(message("m2", run_id="r", status="final")),
            AddMessage(message("m3", run_id="q", status="open")),
            AddMessage(message("m4", run_id="r", status="open", space_id="t")),
            AddMessage(message("m5", status="open")),
        ]
    )
    opened = await store.open_messages("r")
    assert [one.id for one in opened] == ["m1", "m4"]

    await store.commit([SaveMessage(msgspec.structs.replace(opened[0], status="final"))])
    assert [one.id for one in await store.open_messages("r")] == ["m4"]


async def test_a_removed_space_takes_its_messages_along(store: Store) -> None:
    await settle_in(store, "s", "t")
    await store.commit([AddMessage(message("m1")), AddMessage(message("m2", space_id="t"))])
    await store.commit([RemoveSpace("s")])

    assert await store.message("s", "m1") is None
    assert (await ids(store), await ids(store, "t")) == ([], ["m2"])
    assert [one.id for one in await store.all_spaces()] == [space("t").id]
    with pytest.raises(NotFound):
        await store.commit([AddMessage(message("m3"))])


NOW = "2026-01-02T12:30:00.000Z"
