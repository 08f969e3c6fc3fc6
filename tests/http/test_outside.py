"""Agents outside: what they publish becomes messages, and what happens in their spaces is published."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roomful.agents_sdk import send_message, set_bus_for_testing
from roomful.bus import RedisBus
from tests.http.casting import say
from tests.http.outside import Outside, furnish, texts, wait, wait_for_texts
from tests.http.test_delegation import SEARCH, both
from tests.requirements import requirement
from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.redis import RedisServer, redis_server
from tests.servers.roomful import Roomful, openai

pytestmark = requirement("B-10")


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture
def bus(redis: RedisServer) -> Iterator[RedisBus]:
    from redis import Redis

    with Redis.from_url(redis.url) as client:
        client.flushall()
    bus = RedisBus(redis.url)
    yield bus
    bus.close()


@pytest.fixture
def house(tmp_path: Path, redis: RedisServer, bus: RedisBus) -> Iterator[Roomful]:
    with Roomful(tmp_path, "--bus", redis.url) as house:
        yield house


@pytest.fixture
def scout(bus: RedisBus) -> Outside:
    return Outside(bus)


def test_what_an_agent_says_with_chat_send_is_a_message_and_wakes_whom_it_mentions(
    house: Roomful, bus: RedisBus, model: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_NAME", "scout")
    set_bus_for_testing(bus)
    house.agent("ann", openai(model.base_url), instructions="You are ann.")
    ada = furnish(house, "ann")
    model.answer(Answer(say(words="Thank you.")), Answer(text("Done.")))
    with ada.listen("room") as listener:
        sent = send_message("agent:ann", "The pass is open.", conversation_id="room")
        listener.wait_for("run.completed")
    set_bus_for_testing(None)
    [first, second] = ada.messages("room")

    assert (first["entityId"], first["mentions"], first["clientMessageId"]) == (
        "scout",
        ["ann"],
        sent["envelope_id"],
    )
    assert texts(ada) == ["The pass is open.", "Thank you."]
    assert second["entityId"] == "ann"


def test_a_message_to_the_conversation_is_for_everybody(house: Roomful, scout: Outside) -> None:
    ada = furnish(house)
    with ada.listen("room") as listener:
        scout.say("Hello, all.")
        heard = listener.wait_for("smartSpace.message").data["message"]

    assert (heard["entityId"], heard["mentions"], heard["seq"]) == ("scout", [], 1)


def test_the_same_envelope_is_one_message_however_often_it_comes(house: Roomful, scout: Outside) -> None:
    ada = furnish(house)
    envelope = scout.say("once").model_dump(mode="json")
    for _ in range(3):
        scout.publish(envelope)
    scout.say("last")
    wait_for_texts(ada, "last")
    sent = ada.house.admin.post("/send", envelope, headers={"x-roomful-as": "scout"})

    assert texts(ada) == ["once", "last"]
    assert sent["message_id"] == ada.messages("room")[0]["id"]


def test_what_is_not_accepted_lies_among_the_dead_letters_and_stops_nothing(
    house: Roomful, scout: Outside, model: FakeOpenAI
) -> None:
    house.agent("ann", openai(model.base_url))
    house.person("spy", kind="agent")
    house.person("mute", kind="agent")
    ada = furnish(house, "ann", "mute:reader")
    good = scout.say("first").model_dump(mode="json")
    bad: list[tuple[dict[str, Any], str]] = [
        ({"text": "hello"}, "An envelope has no field text."),
        ({**good, "created_at": "yesterday"}, "The envelope is wrong"),
        ({**good, "conversation_id": "hall"}, "it is for the conversation 'hall'"),
        ({**good, "sender": "agent:nobody"}, "the sender 'agent:nobody' is not an agent outside"),
        ({**good, "sender": "agent:ann"}, "the sender 'agent:ann' is not an agent outside"),
        ({**good, "sender": "user:ada"}, "the sender 'user:ada' is not an agent outside"),
        ({**good, "sender": "agent:spy"}, "there is no space 'room' that you are in"),
        ({**good, "sender": "agent:mute"}, "you may read this space but not write in it"),
        ({**good, "type": "control", "id": "x"}, "type: 'control' means nothing"),
        ({**good, "content": None, "id": "x"}, "content must be non-empty"),
        ({**good, "content": "other"}, "this idempotency key was used for a different request"),
        ({**good, "recipient": "team:a", "id": "x"}, "recipient must be"),
        ({**good, "id": "x" * 200}, "id: use 1 to 128"),
        ({**good, "content": "x" * 200_000, "id": "x"}, "text: 200000 characters are too many"),
    ]
    for payload, _ in bad:
        scout.publish(payload)
    scout.say("last")
    wait_for_texts(ada, "last")
    dead = scout.read("dlq:room", len(bad))

    assert texts(ada) == ["first", "last"]
    assert [letter["payload"] for letter in dead] == [payload for payload, _ in bad]
    for letter, (_, why) in zip(dead, bad, strict=True):
        assert why in letter["reason"]
        assert letter["topic"] == "chat:room"


def test_who_is_put_out_is_heard_no_more_and_who_comes_is_heard(house: Roomful, scout: Outside) -> None:
    ada = furnish(house)
    house.person("ranger", kind="agent")
    scout.say("in")
    wait_for_texts(ada, "in")
    house.admin.post("/api/spaces/room/members", {"entityId": "ranger"}, expect=201)
    house.admin.call("DELETE", "/api/spaces/room/members/scout", expect=204)
    scout.say("out")
    Outside(scout.bus, "ranger").say("here")
    wait_for_texts(ada, "here")

    assert texts(ada) == ["in", "here"]
    assert scout.read("dlq:room")[0]["payload"]["content"] == "out"


def test_a_mention_is_a_letter_to_the_agent_and_comes_once(
    house: Roomful, scout: Outside, model: FakeOpenAI
) -> None:
    house.agent("ann", openai(model.base_url), instructions="You are ann.")
    house.person("ranger", kind="agent")
    ada = furnish(house, "ann", "ranger")
    posted = ada.say("room", "@scout is the pass open?")["message"]
    scout.told()
    house.kill()
    house.start()
    ada.call("PATCH", f"/api/spaces/room/messages/{posted['id']}", {"text": "@scout is it?"})
    ada.say("room", "nobody is meant")
    ada.post("/send", _envelope("user:ada", "agent:scout", "by envelope"))
    model.answer(Answer(say("scout", words="And the road?")), Answer(text("Done.")))
    with ada.listen("room") as listener:
        ada.say("room", "Ask, please.", mentions=["ann"])
        listener.wait_for("run.completed")
    Outside(scout.bus, "ranger").say("@scout hello")
    letters = scout.told(4)

    assert letters[0].pop("created_at").startswith(posted["createdAt"][:-1])
    assert letters[0] == {
        "id": f"{posted['id']}.scout",
        "conversation_id": "room",
        "sender": "user:ada",
        "recipient": "agent:scout",
        "type": "message",
        "content": "@scout is the pass open?",
        "metadata": {"messageId": posted["id"]},
    }
    assert [(letter["sender"], letter["content"]) for letter in letters[1:]] == [
        ("user:ada", "by envelope"),
        ("agent:ann", "And the road?"),
        ("agent:ranger", "@scout hello"),
    ]


def test_the_only_agent_of_a_space_need_not_be_mentioned(house: Roomful, scout: Outside) -> None:
    ada = furnish(house)
    ada.say("room", "Is anybody here?")

    assert scout.told()[0]["content"] == "Is anybody here?"


def test_who_is_addressed_on_the_bus_is_not_written_to_twice(house: Roomful, scout: Outside) -> None:
    house.person("ranger", kind="agent")
    ada = furnish(house, "ranger")
    ranger = Outside(scout.bus, "ranger")
    envelope = scout.say("for you", to="agent:ranger").model_dump(mode="json")
    scout.publish(envelope, "chat:ranger")
    scout.say("@ranger and this")
    wait_for_texts(ada, "@ranger and this")

    assert [letter["content"] for letter in ranger.told(2)] == ["for you", "@ranger and this"]
    assert ada.messages("room")[0]["mentions"] == ["ranger"]


def test_what_happens_in_the_space_is_on_its_stream(
    house: Roomful, scout: Outside, model: FakeOpenAI
) -> None:
    house.agent("ann", openai(model.base_url), speaks="text")
    ada = furnish(house, "ann")
    model.answer(Answer(text("Good morning")))
    with ada.listen("room") as listener:
        ada.say("room", "@ann hello")
        listener.wait_for("run.completed")
    events = wait(lambda: _until_output(scout))
    said, *tokens, output = events
    messages = ada.messages("room")

    assert (said["event"], said["sender"], said["text"]) == ("user_message", "user:ada", "@ann hello")
    assert {(token["event"], token["sender"]) for token in tokens} == {("token", "agent:ann")}
    assert "".join(token["text"] for token in tokens) == "Good morning"
    assert (output["event"], output["text"], output["message_id"]) == (
        "output",
        "Good morning",
        messages[1]["id"],
    )


def test_what_a_member_may_not_see_is_not_on_the_stream(
    house: Roomful, scout: Outside, model: FakeOpenAI
) -> None:
    looks = [{**SEARCH, "name": name, "visibility": name} for name in ("full", "minimal", "hidden")]
    house.agent("ann", openai(model.base_url), *looks)
    ada = furnish(house, "ann")
    query = {"query": "the pass"}
    model.answer(
        both(
            call("full", query, size=40, index=0, id="call_0"),
            call("minimal", query, size=40, index=1, id="call_1"),
            call("hidden", query, size=40, index=2, id="call_2"),
            call("full", {"targetEntityId": "ada", "query": "a secret"}, size=40, index=3, id="call_3"),
        ),
        Answer(text("Done.")),
    )
    with ada.listen("room") as listener:
        ada.say("room", "@ann look")
        listener.wait_for("run.completed")
    events = wait(lambda: _until_output(scout))
    steps = [event for event in events if event["event"] == "tool_step"]
    summary = '{"found":["the pass"]}'

    assert [(step["name"], step["args"], step.get("result_summary")) for step in steps] == [
        ("full", query, None),
        ("minimal", {}, None),
        ("full", query, summary),
        ("minimal", {}, None),
    ]
    assert "secret" not in str(events)


def test_a_space_without_an_agent_outside_is_not_told_of(house: Roomful, scout: Outside) -> None:
    ada = furnish(house)
    house.space("hall", "ada")
    ada.say("hall", "quiet")
    ada.say("room", "@scout loud")
    scout.read("stream:room")

    assert scout.bus.read("stream:hall") == []


@pytest.mark.parametrize("url", ["kafka://me:secret@host", "redis:", "http://me:secret@host", "redis://h:x/"])
def test_an_address_that_no_bus_has_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(AssertionError, match="--bus") as caught:
        Roomful(tmp_path, "--bus", url).start()
    assert "secret" not in str(caught.value)


def _until_output(scout: Outside) -> list[dict[str, Any]] | None:
    events = [message.payload for message in scout.bus.read("stream:room")]
    return events if events and events[-1]["event"] == "output" else None


def _envelope(sender: str, recipient: str, content: str) -> dict[str, Any]:
    return {"conversation_id": "room", "sender": sender, "recipient": recipient, "content": content}
