"""One run, one message per space, streamed as it is written and equal after reload."""

import random
from typing import Any

from tests.http.shopping import AS_SEEN, ASK, LAPTOPS, seen, shop, story
from tests.requirements import requirement
from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.roomful import Event, Roomful, fold, openai


def _story_events(events: list[Event]) -> list[Event]:
    return [event for event in events if event.name != "snapshot"]


@requirement("C-01", "C-02", "C-04", "X-07")
def test_shopping_story_is_one_bubble_that_streams_and_survives_reload(
    house: Roomful, model: FakeOpenAI
) -> None:
    ada = shop(house, model, "elsewhere")
    model.answer(*story(random.Random(7)))
    with ada.listen("shop-space") as first, ada.listen("shop-space", args="ops") as second:
        posted = ada.say("shop-space", "Show me laptops")
        assert [run["agentId"] for run in posted["runs"]] == ["shop"]
        for listener in (first, second):
            listener.wait_for("run.completed")
        stored = ada.messages("shop-space")
        assert len(stored) == 2
        bubble = stored[1]
        assert seen(bubble) == AS_SEEN
        assert bubble["runId"] == posted["runs"][0]["runId"]
        assert bubble["entityId"] == "shop"
        assert bubble["seq"] == 2
        assert bubble["status"] == "final"
        assert {part["type"] for part in bubble["parts"]} == {"text", "tool_call"}
        assert fold(first.events) == fold(second.events) == stored
        assert "searchInventory" not in str(stored)


@requirement("C-04")
def test_text_reaches_a_second_subscriber_character_by_character(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model)
    characters = [call("sendSpaceMessage", {"spaceId": "shop-space", "text": LAPTOPS}, size=1, id="c0")]
    model.answer(Answer(characters[0], held=True), Answer(text("ok")))
    with ada.listen("shop-space") as listener:
        ada.say("shop-space", "Show me laptops")
        opening = len('{"spaceId": "shop-space", "text": "')
        model.release(times=1 + opening)
        for count in range(1, len(LAPTOPS) + 1):
            model.release()
            listener.wait(lambda events, count=count: _said(events) == LAPTOPS[:count])
        model.release(times=20)
        listener.wait_for("run.completed")
        deltas = [event.data["delta"] for event in listener.events if event.name == "text-delta"]
        assert deltas == list(LAPTOPS)
        assert "tool-call.start" not in listener.names()


def _said(events: list[Event]) -> str:
    return "".join(event.data["delta"] for event in events if event.name == "text-delta")


@requirement("C-03", "C-13")
def test_calls_to_two_spaces_make_one_message_in_each(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model, "other-space", "third-space")
    pieces: list[Any] = []
    for index, (space_id, words) in enumerate(
        [("shop-space", "one"), ("other-space", "two"), ("shop-space", "three")]
    ):
        args = {"spaceId": space_id, "text": words}
        pieces += call("sendSpaceMessage", args, index=index, id=f"c{index}", size=3)
    args = {"targetSpaceId": "other-space", "name": "Mouse", "price": 9}
    pieces += call("showProductCard", args, index=3, id="c3", size=3)
    model.answer(Answer(pieces), Answer(text("ok")))
    with (
        ada.listen("shop-space") as shop_space,
        ada.listen("other-space") as other_space,
        ada.listen("third-space") as third_space,
    ):
        ada.say("shop-space", "go")
        shop_space.wait_for("run.completed")
        other_space.wait_for("run.completed")
        [_, here] = ada.messages("shop-space")
        [there] = ada.messages("other-space")
        assert seen(here) == ["one", "three"]
        assert seen(there) == ["two", ("showProductCard", {"name": "Mouse", "price": 9}, None)]
        assert here["id"] != there["id"]
        assert here["runId"] == there["runId"]
        assert third_space.names() == ["snapshot"]
        assert ada.messages("third-space") == []
        text_events = [
            event.name
            for event in other_space.events
            if event.name.startswith(("text", "tool", "run", "smart")) and event.name != "tool-input-delta"
        ]
        assert [name for i, name in enumerate(text_events) if name != "text-delta" or i == 2] == [
            "run.started",
            "text-start",
            "text-delta",
            "text-end",
            "tool-call.start",
            "tool-call",
            "smartSpace.message",
            "smartSpace.message",
            "run.completed",
        ]


@requirement("X-05")
def test_every_cut_of_the_story_resumes_to_the_same_state(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model)
    model.answer(*story(random.Random(3)))
    with ada.listen("shop-space", args="ops") as listener:
        ada.say("shop-space", "Show me laptops")
        listener.wait_for("run.completed")
        events = list(listener.events)
    stored = ada.messages("shop-space")
    assert fold(events) == stored
    for cut in range(len(events)):
        with ada.listen("shop-space", events[cut].id, args="ops") as resumed:
            rest = len(events) - cut - 1
            resumed.wait(lambda got, rest=rest: len(got) >= rest)
            assert "snapshot" not in resumed.names()
            assert fold([*events[: cut + 1], *resumed.events]) == stored, f"cut behind event {cut}"
            assert [event.id for event in resumed.events] == [event.id for event in events[cut + 1 :]]


@requirement("X-05")
def test_a_joiner_in_mid_stream_gets_a_snapshot_and_the_rest(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model)
    model.answer(*story(held=True))
    with ada.listen("shop-space") as first:
        ada.say("shop-space", "Show me laptops")
        model.release(times=45)
        first.wait_for("text-delta")
        for joined in range(6):
            model.release(times=25)
            with ada.listen("shop-space", args="ops") as late:
                late.wait_for("snapshot")
                page = ada.get("/api/spaces/shop-space/messages")
                until = [e for e in late.events if _offset(e.id) <= _offset(page["position"])]
                if _offset(page["position"]) >= _offset(late.events[0].id) and _whole(until, page):
                    assert fold(until) == page["messages"], f"join {joined}"
        model.release(times=500)
        first.wait_for("run.completed")
        assert fold(first.events) == ada.messages("shop-space")
        with ada.listen("shop-space", "nonsense.7") as unknown:
            assert unknown.wait_for("snapshot").data["messages"] == ada.messages("shop-space")
        with ada.listen("shop-space", "not a position") as malformed:
            malformed.wait_for("snapshot")


def _offset(position: str | None) -> int:
    assert position is not None
    return int(position.rpartition(".")[2])


def _whole(events: list[Event], page: dict[str, Any]) -> bool:
    """Whether the listener already has everything up to the page's position."""
    return bool(events) and events[-1].id == page["position"]


@requirement("X-05")
def test_the_run_stream_has_every_event_and_the_person_stream_every_space(
    house: Roomful, model: FakeOpenAI
) -> None:
    ada = shop(house, model, "other-space")
    first, second = story()
    first.held = True
    model.answer(first, second)
    from tests.servers.roomful import Listener

    with Listener(ada, "/api/stream") as mine:
        posted = ada.say("shop-space", "Show me laptops")
        run_id = posted["runs"][0]["runId"]
        with Listener(house.admin, f"/api/runs/{run_id}/stream") as whole:
            whole.wait_for("snapshot")
            model.release(times=1000)
            whole.wait_for("run.completed")
            whole.wait_end()
            hidden = [e for e in whole.events if e.data.get("toolName") == "searchInventory"]
            assert {e.name for e in hidden} >= {"tool-call.start", "tool-call", "tool-call.complete"}
        mine.wait_for("run.completed")
        deltas = [e for e in mine.events if e.name == "text-delta"]
        assert deltas
        assert all(e.data["spaceId"] == "shop-space" for e in deltas)
        assert "searchInventory" not in str([e.data for e in mine.events])
    outsider = house.person("eve")
    assert outsider.request("GET", f"/api/runs/{run_id}/stream").status_code == 404


@requirement("X-05")
def test_posting_with_accept_sse_streams_that_message_and_its_runs(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model)
    model.answer(*story(random.Random(1)))
    from tests.servers.roomful import read_events

    answer = ada.request(
        "POST",
        "/api/spaces/shop-space/messages",
        {"text": "Show me laptops", "clientMessageId": "one"},
        headers={"accept": "text/event-stream"},
    )
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = list(read_events(iter(answer.text.split("\n"))))
    assert events[0].name == "smartSpace.message"
    assert events[-1].name == "run.completed"
    assert ASK in str([event.data for event in events])
    assert fold(events) == ada.messages("shop-space")
    again = ada.request(
        "POST",
        "/api/spaces/shop-space/messages",
        {"text": "Show me laptops", "clientMessageId": "one"},
        headers={"accept": "text/event-stream"},
    )
    replayed = list(read_events(iter(again.text.split("\n"))))
    assert fold(replayed) == ada.messages("shop-space")
    assert len(model.requests) == 2


@requirement("X-07")
def test_the_scripted_model_runs_without_a_key(tmp_path: Any) -> None:
    (tmp_path / "agents" / "scripts").mkdir(parents=True)
    (tmp_path / "agents" / "echo.yaml").write_text(
        "id: echo\nname: Echo\nmodel: scripted:echo\nspeaks: text\ntools: []\n"
    )
    (tmp_path / "agents" / "scripts" / "echo.yaml").write_text("turns:\n  - text: 'You said: {{message}}'\n")
    with Roomful(tmp_path, "--agents", str(tmp_path / "agents")) as house:
        ada = house.person("ada")
        house.space("room", "ada", "echo")
        with ada.listen("room") as listener:
            ada.say("room", "hello")
            listener.wait_for("run.completed")
            assert [part["text"] for part in ada.messages("room")[1]["parts"]] == ["You said: hello"]


@requirement("X-07")
def test_the_model_is_asked_with_tools_history_and_results(house: Roomful, model: FakeOpenAI) -> None:
    ada = house.person("ada")
    tool = {
        "name": "lookUp",
        "description": "Look up.",
        "executionType": "basic",
        "visibility": "full",
        "execution": {"mode": "static", "output": {"answer": 42}},
        "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
    }
    house.agent("helper", openai(model.base_url), tool, instructions="Be kind.")
    house.space("room", "ada", "helper")
    model.answer(Answer(call("lookUp", {"q": "life"})), Answer(text("thinking")))
    with ada.listen("room") as listener:
        ada.say("room", "what is the answer?")
        listener.wait_for("run.completed")
    first, second = model.requests
    assert first.headers["authorization"] == "Bearer key-of-the-fake"
    assert first.messages[0]["role"] == "system"
    assert "Be kind." in first.messages[0]["content"]
    assert first.messages[-1] == {"role": "user", "content": "what is the answer?"}
    offered = {tool["function"]["name"]: tool["function"] for tool in first.body["tools"]}
    assert list(offered["lookUp"]["parameters"]["properties"])[:2] == ["targetSpaceId", "targetSpaceIds"]
    assert "sendSpaceMessage" in offered
    [asked] = second.messages[-2]["tool_calls"]
    assert asked["function"] == {"name": "lookUp", "arguments": '{"q": "life"}'}
    assert second.messages[-1] == {"role": "tool", "tool_call_id": asked["id"], "content": '{"answer":42}'}
    [_, bubble] = ada.messages("room")
    [part] = bubble["parts"]
    assert (part["args"], part["result"], part["status"]) == ({"q": "life"}, {"answer": 42}, "complete")
